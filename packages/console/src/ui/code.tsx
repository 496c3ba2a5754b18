import { useState } from 'react';

/** JSON with line breaks; null if the text is not JSON. */
function pretty(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

const BYTES_A_LINE = 16;
/** More lines than this are not drawn. */
const MOST_LINES = 2_000;

/** Bytes as a hex dump: offset, hex, and the printable characters. */
function dump(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const lines: string[] = [];
  for (let from = 0; from < bytes.length && lines.length < MOST_LINES; from += BYTES_A_LINE) {
    const part = [...bytes.slice(from, from + BYTES_A_LINE)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const shown = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${from.toString(16).padStart(6, '0')}  ${hex.padEnd(BYTES_A_LINE * 3 - 1)}  ${shown}`);
  }
  return lines.join('\n');
}

const VIEWS = ['formatted', 'raw', 'bytes'] as const;

/** A body as it can be read, as it was sent, and byte by byte. */
export function CodeView({ text, label }: { readonly text: string; readonly label: string }) {
  const formatted = pretty(text);
  const [view, setView] = useState<(typeof VIEWS)[number]>(formatted === null ? 'raw' : 'formatted');
  const [mark = '', more = '0'] = /… \((\d+) more bytes\)$/.exec(text) ?? [];
  const bytes = new TextEncoder().encode(text.slice(0, text.length - mark.length)).length;
  const whole = (bytes + Number(more)).toLocaleString('en');
  const shown = view === 'bytes' ? dump(text) : view === 'formatted' ? (formatted ?? text) : text;
  return (
    <figure className="code" aria-label={label}>
      <figcaption>
        <span className="soft">
          {label} · {bytes.toLocaleString('en')} bytes
          {mark === '' ? '' : ` of ${whole}; the rest was not kept`}
        </span>
        <span className="tabs">
          {VIEWS.filter((each) => each !== 'formatted' || formatted !== null).map((each) => (
            <button key={each} type="button" aria-pressed={view === each} onClick={() => setView(each)}>
              {each}
            </button>
          ))}
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
      <pre tabIndex={0} data-view={view}>
        {shown}
      </pre>
    </figure>
  );
}
