import { createHash } from 'node:crypto';

/** Deeper than any body that means something, and far from where recursion ends. */
const DEEPEST = 64;

/** True when a parsed JSON value nests no deeper than can be written again. */
export function isShallow(value: unknown, left: number = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => isShallow(inner, left - 1));
}

function writeCanonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${writeCanonical(inner)}`);
  return `{${members.join(',')}}`;
}

/**
 * A hash that is the same for two JSON values that differ in the order of keys alone. The value must be
 * shallow. Implements `Rules per endpoint`, 2, idempotency 6.
 */
export function hashCanonical(value: unknown): Buffer {
  return createHash('sha256').update(writeCanonical(value)).digest();
}
