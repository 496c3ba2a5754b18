import { z } from 'zod';
import { transform } from 'zod/mini';
import { TIMESTAMP_MAX_MS } from './fields.ts';
import { DIRECTIONS, type Direction, MESSAGE_STATUSES, type MessageStatus } from './statuses.ts';

/*
 * The readers of every field that comes from the service: events, answers and tokens. A value that is written
 * differently is read where its meaning is obvious. A field that is absent, null, empty, too long or of another
 * type is null and never affects the other fields. Only an id can be required.
 */

/** To be increased when more can be read: what was kept or left out as unreadable is then read again. */
export const READER_VERSION = 2;

/** Not `z.transform`, which makes a function for each value that it reads. */
const reader = <T>(read: (value: unknown) => T) => transform(read);

/** A number where an id, a number of digits or a cursor is expected. Above 2^53, digits are lost when it is parsed. */
const decimal = (value: unknown): unknown =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? String(value) : value;

const readText = (value: unknown, longest: number): string | null =>
  typeof value === 'string' && value !== '' && value.length <= longest ? value : null;

/** Printable ASCII: an id is used as a key, and a store must neither change nor reject it. */
const ID = /^[\x21-\x7e]{1,255}$/;

function readId(value: unknown): string | null {
  const text = decimal(value);
  return typeof text === 'string' && ID.test(text) ? text : null;
}

/** The only kind of field that makes its record unreadable. */
export const requiredId = transform((value: unknown, context) => {
  const read = readId(value);
  if (read !== null) return read;
  context.issues.push({ code: 'custom', message: 'is not an id', input: value });
  return z.NEVER;
});
export const optionalId = reader(readId);
export const cursor = reader((value) => readText(decimal(value), Number.POSITIVE_INFINITY));
/** A phone number, or another address of the network: a linked id or the id of a group. */
export const address = reader((value) => readText(decimal(value), 64));
export const word = reader((value) => readText(value, 255));
export const line = reader((value) => readText(value, 4096));
export const link = reader((value) => readText(value, 8192));
export const token = reader((value) => readText(value, 65_536));
export const text = reader((value) => readText(value, 1_048_576));

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  ['true', true],
  ['false', false],
]);
export const flag = reader((value) => FLAGS.get(lowerCase(value)) ?? null);

export const count = reader((value) => {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < 2 ** 31
    ? number
    : null;
});

const lowerCase = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim().toLowerCase() : value;

const oneOf = <Word extends string>(words: readonly Word[], others: Readonly<Record<string, Word>> = {}) => {
  const known: ReadonlyMap<unknown, Word> = new Map([
    ...words.map((word) => [word, word] as const),
    ...Object.entries(others),
  ]);
  return reader((value) => known.get(value) ?? known.get(lowerCase(value)) ?? null);
};
export const readableDirection = oneOf<Direction>(DIRECTIONS, {
  inbound: 'incoming',
  outbound: 'outgoing',
  in: 'incoming',
  out: 'outgoing',
});
export const readableStatus = oneOf<MessageStatus>(MESSAGE_STATUSES);

/** Extended or basic format; seconds, fraction and zone may be absent. */
const ISO =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:(?:t|\s+)(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?\s*(?:z|([+\-\u2212])(\d\d):?(\d\d)?)?)?$/i;
/** Epoch milliseconds as digits, from 1973 on. Eight digits are a date. */
const EPOCH_DIGITS = /^\d{12,15}$/;

/** What most services write: it is read in a third of the time. */
const USUAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;

/** False if the time could not be read, or its month does not have the day: it is then one of the next month. */
const hasDay = (time: number, day: string | undefined): boolean =>
  new Date(time).getUTCDate() === Number(day);

/** Epoch milliseconds of a time that is written as epoch milliseconds or in ISO 8601; without a zone it is UTC. */
function readInstant(value: unknown): number | null {
  if (typeof value === 'number') return value >= 0 && value <= TIMESTAMP_MAX_MS ? Math.trunc(value) : null;
  if (typeof value !== 'string' || value.length > 64) return null;
  if (USUAL.test(value)) {
    const time = Date.parse(value);
    if (hasDay(time, value.slice(8, 10))) return time;
  }
  const written = value.trim();
  if (EPOCH_DIGITS.test(written)) return readInstant(Number(written));
  const [whole, year = '', month, day, hour = '00', minute = '00', second = '00', fraction = '', ...zone] =
    ISO.exec(written) ?? [];
  if (whole === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  if (!hasDay(midnight, day)) return null;
  const [sign, hours = '0', minutes = '0'] = zone;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '+' ? 1 : -1);
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return (
    midnight + ((Number(hour) * 60 + Number(minute) - offset) * 60 + Number(second)) * 1_000 + milliseconds
  );
}
export const instant = reader(readInstant);

/** An object; null if the value is none. */
export const record = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).nullable().catch(null);

/** The paths of fields that hold a value that was read as null. An absent, null or empty field holds none. */
export function listUnread(value: unknown, read: object): string[] {
  const unread: string[] = [];
  collectUnread(value, read, '', unread);
  return unread;
}

function collectUnread(value: unknown, read: object, path: string, unread: string[]): void {
  for (const key in read) {
    const result: unknown = Reflect.get(read, key);
    if (result !== null && typeof result !== 'object') continue;
    const held: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
    if (result !== null) collectUnread(held, result, `${path}${key}.`, unread);
    else if (held !== undefined && held !== null && held !== '') unread.push(path + key);
  }
}
