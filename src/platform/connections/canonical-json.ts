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
 * A hash that is equal for two JSON values that differ only in the order of keys. The value must not nest deeper
 * than a request body may. [connections.create.idempotency.canonical]
 */
export function hashCanonical(value: unknown): Buffer {
  return createHash('sha256').update(writeCanonical(value)).digest();
}
