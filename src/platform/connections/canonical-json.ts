import { createHash } from 'node:crypto';

/** Without recursion: the value may nest deeper than the stack. */
function writeCanonical(value: unknown): string {
  const parts: string[] = [];
  const rest: (string | { readonly value: unknown })[] = [{ value }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') parts.push(next);
    else if (typeof next.value !== 'object' || next.value === null)
      parts.push(JSON.stringify(next.value), ',');
    else {
      parts.push(Array.isArray(next.value) ? '[' : '{');
      rest.push('}');
      const members = Object.entries(next.value).sort(([a], [b]) => (a > b ? -1 : 1));
      for (const [key, inner] of members) rest.push({ value: inner }, `${JSON.stringify(key)}:`);
    }
  }
  return parts.join('');
}

/**
 * A hash that is equal for two JSON values that differ only in the order of keys.
 * [connections.create.idempotency.canonical]
 */
export function hashCanonical(value: unknown): Buffer {
  return createHash('sha256').update(writeCanonical(value)).digest();
}
