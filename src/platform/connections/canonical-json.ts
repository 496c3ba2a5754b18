import { createHash } from 'node:crypto';

/** Without recursion: the value may nest deeper than the stack. */
function writeCanonical(value: unknown): string {
  const parts: string[] = [];
  const rest: (string | readonly [unknown])[] = [[value]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') parts.push(next);
    else if (typeof next[0] !== 'object' || next[0] === null) parts.push(JSON.stringify(next[0]), ',');
    else if (Array.isArray(next[0])) {
      parts.push('[');
      rest.push(']');
      for (const inner of next[0].toReversed()) rest.push([inner]);
    } else {
      parts.push('{');
      rest.push('}');
      const members = Object.entries(next[0]).sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [key, inner] of members.reverse()) rest.push([inner], `${JSON.stringify(key)}:`);
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
