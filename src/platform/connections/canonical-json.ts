import { createHash } from 'node:crypto';

function writeCanonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${writeCanonical(inner)}`);
  return `{${members.join(',')}}`;
}

/**
 * A hash that is the same for two JSON values that differ in the order of keys alone. The value must nest no
 * deeper than the body of a request may. [connections.create.idempotency.canonical]
 */
export function hashCanonical(value: unknown): Buffer {
  return createHash('sha256').update(writeCanonical(value)).digest();
}
