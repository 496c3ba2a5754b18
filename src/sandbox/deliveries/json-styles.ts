/** How a library writes JSON. */
interface JsonStyle {
  /** Between two entries, and behind the colon. */
  readonly gaps: readonly [comma: string, colon: string];
  /** Escapes more in a string than JSON requires; `json` is the string with its quotes. */
  readonly escaped: (json: string) => string;
  readonly sorted?: boolean;
}

function escapeChars(chars: RegExp, upperCase = false): (json: string) => string {
  const escapeChar = (char: string): string => {
    const hex = char.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${upperCase ? hex.toUpperCase() : hex}`;
  };
  return (json) => json.replace(chars, escapeChar);
}

const asIs = (json: string): string => json;
const slashes = (json: string): string => json.replaceAll('/', '\\/');
const pythonAscii = escapeChars(/[\x7f-\uffff]/g);
const nonAscii = escapeChars(/[\x80-\uffff]/g);
const html = escapeChars(/[<>&\u2028\u2029]/g);
const dotNetChars = escapeChars(/[<>&'+`\x7f-\uffff]/g, true);
/** Quotes are escaped by their number as well. */
const dotNet = (json: string): string =>
  `"${dotNetChars(json.slice(1, -1)).replace(/\\(.)/gs, (pair, char) => (char === '"' ? '\\u0022' : pair))}"`;

const TIGHT = [',', ':'] as const;
const SPACED = [', ', ': '] as const;

/** Of libraries that many receivers are written with, by the call that writes this way. */
const STYLES: Readonly<Record<string, JsonStyle>> = {
  'JSON.stringify': { gaps: TIGHT, escaped: asIs },
  'json.dumps of Python': { gaps: SPACED, escaped: pythonAscii },
  'json.dumps of Python with ensure_ascii=False': { gaps: SPACED, escaped: asIs },
  "json.dumps of Python with separators=(',', ':')": { gaps: TIGHT, escaped: pythonAscii },
  'json_encode of PHP': { gaps: TIGHT, escaped: (json) => slashes(nonAscii(json)) },
  'json_encode of PHP with JSON_UNESCAPED_UNICODE': { gaps: TIGHT, escaped: slashes },
  'json_encode of PHP with JSON_UNESCAPED_SLASHES': { gaps: TIGHT, escaped: nonAscii },
  'json.Marshal of Go, from a struct': { gaps: TIGHT, escaped: html },
  'json.Marshal of Go, from a map': { gaps: TIGHT, escaped: html, sorted: true },
  'System.Text.Json of .NET': { gaps: TIGHT, escaped: dotNet },
  'JSON.stringify with sorted keys': { gaps: TIGHT, escaped: asIs, sorted: true },
  'json.dumps of Python with sort_keys=True': { gaps: SPACED, escaped: pythonAscii, sorted: true },
  "json.dumps of Python with sort_keys=True and separators=(',', ':')": {
    gaps: TIGHT,
    escaped: pythonAscii,
    sorted: true,
  },
};

function write(value: unknown, style: JsonStyle): string {
  const { gaps, escaped, sorted = false } = style;
  const [comma, colon] = gaps;
  if (typeof value === 'string') return escaped(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, style)).join(comma)}]`;
  const entries = Object.entries(value);
  const ordered = sorted ? entries.toSorted(([a], [b]) => (a < b ? -1 : 1)) : entries;
  const written = ordered.map(([key, item]) => escaped(JSON.stringify(key)) + colon + write(item, style));
  return `{${written.join(comma)}}`;
}

/** A text as libraries write it after parsing it, with the call that does; none if it is not JSON. */
export function serializedAgain(text: string): { readonly by: string; readonly text: string }[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return [
    ...Object.entries(STYLES).map(([by, style]) => ({ by, text: write(value, style) })),
    ...[2, 4].map((indent) => ({
      by: `a serializer that indents by ${indent}`,
      text: JSON.stringify(value, null, indent),
    })),
    { by: 'JSON.stringify of the text, which was JSON already', text: JSON.stringify(text) },
  ];
}
