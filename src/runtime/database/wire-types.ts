import type { PostgresType } from 'postgres';

/**
 * How values cross the wire, one rule per kind. Parameters are sent as text and typed only by the SQL, so a
 * statement writes `$1::text[]` or compares with a typed column; nothing is guessed from the JavaScript
 * value.
 *
 * | Postgres                  | in a row                  | as a parameter                              |
 * |---------------------------|---------------------------|---------------------------------------------|
 * | int2, int4, oid, floats   | number                    | number                                      |
 * | int8                      | number, error past 2^53   | number or bigint                            |
 * | numeric, uuid, date, text | string                    | string                                      |
 * | bool                      | boolean                   | boolean                                     |
 * | bytea                     | Buffer                    | Uint8Array                                  |
 * | json, jsonb               | parsed                    | JSON text (`JSON.stringify`), stored once   |
 * | arrays of these, flat     | array, with nulls         | array, with nulls                           |
 */

function encodeScalar(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
      return String(value);
    case 'boolean':
      return value ? 't' : 'f';
    default:
      if (value instanceof Uint8Array) {
        return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
      }
      throw new TypeError(
        value === undefined
          ? 'a query parameter is undefined; pass null for NULL'
          : 'a query parameter is an object; pass JSON.stringify(value) and cast it with ::jsonb',
      );
  }
}

const NEEDS_ESCAPE = /[\\"]/;

/** Numbers and booleans are not quoted; everything else is, because `NULL` and `,` have a meaning. */
function encodeElement(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return NEEDS_ESCAPE.test(value) ? `"${value.replace(/[\\"]/g, '\\$&')}"` : `"${value}"`;
    case 'number':
    case 'bigint':
    case 'boolean':
      return encodeScalar(value);
    default:
      if (value === null) return 'NULL';
      if (value instanceof Uint8Array) return `"\\${encodeScalar(value)}"`;
      return `"${encodeScalar(value)}"`;
  }
}

function encodeArray(values: readonly unknown[]): string {
  let text = '';
  for (const value of values) text += text === '' ? encodeElement(value) : `,${encodeElement(value)}`;
  return `{${text}}`;
}

/** The text form of one parameter, null for NULL. Throws TypeError before anything is sent. */
export function encodeParam(value: unknown): string | null {
  if (value === null) return null;
  return Array.isArray(value) ? encodeArray(value) : encodeScalar(value);
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError('an int8 value is greater than 2^53; select it as ::text');
  return value;
}

function parseBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

type Parse = (text: string) => unknown;

/** Parses the text form of a Postgres array: `{a,"b \"c\"",NULL}`. */
function parseArray(text: string, parse: Parse): unknown[] {
  const values: unknown[] = [];
  for (let at = 1; at < text.length - 1; ) {
    if (text[at] === '"') {
      const end = findClosingQuote(text, at + 1);
      values.push(parse(text.slice(at + 1, end).replace(/\\(.)/gs, '$1')));
      at = end + 2;
    } else {
      const end = findElementEnd(text, at);
      const element = text.slice(at, end);
      values.push(element === 'NULL' ? null : parse(element));
      at = end + 1;
    }
  }
  return values;
}

function findClosingQuote(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function findElementEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ',' && text[at] !== '}') at += 1;
  return at;
}

const asText: Parse = (text) => text;

/** Element types with the OIDs of the type and of its array. The OIDs of built-in types never change. */
const TYPES: readonly { readonly oid: number; readonly arrayOid: number; readonly parse: Parse }[] = [
  { oid: 16, arrayOid: 1000, parse: (text) => text === 't' },
  { oid: 17, arrayOid: 1001, parse: parseBytes },
  { oid: 20, arrayOid: 1016, parse: parseInt8 },
  { oid: 21, arrayOid: 1005, parse: Number },
  { oid: 23, arrayOid: 1007, parse: Number },
  { oid: 26, arrayOid: 1028, parse: Number },
  { oid: 700, arrayOid: 1021, parse: Number },
  { oid: 701, arrayOid: 1022, parse: Number },
  { oid: 19, arrayOid: 1003, parse: asText },
  { oid: 25, arrayOid: 1009, parse: asText },
  { oid: 1043, arrayOid: 1015, parse: asText },
  { oid: 1082, arrayOid: 1182, parse: asText },
  { oid: 1114, arrayOid: 1115, parse: asText },
  { oid: 1700, arrayOid: 1231, parse: asText },
  { oid: 2950, arrayOid: 2951, parse: asText },
  { oid: 114, arrayOid: 199, parse: (text) => JSON.parse(text) },
  { oid: 3802, arrayOid: 3807, parse: (text) => JSON.parse(text) },
];

function makeType(oid: number, parse: Parse): PostgresType {
  return { to: oid, from: [oid], serialize: asText, parse };
}

/** The driver's `types` option: our parsers, and serializers that pass on the output of `encodeParam`. */
export function wireTypes(): Record<string, PostgresType> {
  const types: Record<string, PostgresType> = { unknown: makeType(0, asText) };
  for (const { oid, arrayOid, parse } of TYPES) {
    types[`type${oid}`] = makeType(oid, parse);
    types[`type${arrayOid}`] = makeType(arrayOid, (text) => parseArray(text, parse));
  }
  return types;
}
