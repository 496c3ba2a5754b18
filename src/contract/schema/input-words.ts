import type { z } from 'zod';

const KINDS: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['number', 'a number'],
  ['int', 'an integer'],
  ['boolean', 'true or false'],
  ['object', 'an object'],
  ['record', 'an object'],
  ['array', 'an array'],
  ['null', 'null'],
]);

const FORMATS: ReadonlyMap<string, string> = new Map([
  ['url', 'a URL'],
  ['datetime', 'an ISO 8601 date-time with an offset, for example 2026-01-31T12:00:00Z'],
  ['base64', 'base64 with padding'],
  ['uuid', 'a UUID'],
]);

const UNITS: ReadonlyMap<string, readonly [one: string, many: string]> = new Map([
  ['string', ['character', 'characters']],
  ['array', ['entry', 'entries']],
]);

function amount(origin: string, count: number | bigint): string {
  const unit = UNITS.get(origin);
  if (unit === undefined) return `be ${count}`;
  return `have ${count} ${Number(count) === 1 ? unit[0] : unit[1]}`;
}

/** `must be at least 1`, `must have at most 255 characters`. */
function bound(origin: string, side: 'at least' | 'at most', limit: number | bigint): string {
  return `must ${amount(origin, limit).replace(' ', ` ${side} `)}`;
}

function listed(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === 'string' ? `\`${value}\`` : String(value)));
  return words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(', ')}`;
}

function missing(input: unknown, key: string | undefined): boolean {
  if (key === undefined || typeof input !== 'object' || input === null) return input === undefined;
  return Reflect.get(input, key) === undefined;
}

/**
 * Describes what is wrong with an input, in words that follow the name of the field: `is missing`, `is
 * empty`, `must be a string`. All APIs use it, so the same mistake is always described in the same words; a
 * message set in a schema takes precedence. Never repeats the input.
 */
export const inputWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing';
      return `must be ${KINDS.get(issue.expected) ?? `of type ${issue.expected}`}`;
    case 'too_small':
      if (issue.origin === 'string' && Number(issue.minimum) === 1) return 'is empty';
      return bound(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, 'at most', issue.maximum);
    case 'invalid_value':
      return missing(issue.input, undefined) ? 'is missing' : listed(issue.values);
    case 'invalid_union':
      if (missing(issue.input, issue.discriminator)) return 'is missing';
      return Array.isArray(issue.options) ? listed(issue.options) : 'matches none of the accepted shapes';
    case 'invalid_format': {
      if (issue.format === 'starts_with') return `must start with \`${issue['prefix']}\``;
      const kind = FORMATS.get(issue.format);
      return kind === undefined ? 'is malformed' : `must be ${kind}`;
    }
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'has an unknown field';
    case 'invalid_key':
    case 'invalid_element':
      return 'has an invalid entry';
    default:
      return undefined;
  }
};
