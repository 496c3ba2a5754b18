import { styleText } from 'node:util';

const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red', info: 'green' } as const;

/** Fields that are not repeated on a formatted line. */
const LEFT_OUT = new Set(['level', 'time', 'name', 'msg', 'pid']);

/** `message: cause`, as far as the logged error contains them. */
function errorOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { message, code } = value as { readonly message?: string; readonly code?: string | number };
  return [message, code].filter((part) => part !== undefined && part !== '').join(', ');
}

/** Formats one JSON line of the log for a terminal: `12:03 warn  message (field value)`. Times are UTC. */
export function formatLine(line: string, stream: NodeJS.WriteStream): string {
  const fields = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const level = String(fields['level']);
  const colour = COLOURS[level as keyof typeof COLOURS] ?? 'dim';
  const more = Object.entries(fields)
    .filter(([key]) => !LEFT_OUT.has(key))
    .map(([key, value]) => (key === 'err' || key === 'error' ? errorOf(value) : `${key} ${value}`));
  const said = [String(fields['msg'] ?? ''), ...(more.length > 0 ? [`(${more.join(', ')})`] : [])].join(' ');
  const time = String(fields['time']).slice(11, 16);
  return `${time} ${styleText(colour, level.padEnd(5), { stream })} ${said}\n`;
}
