import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
const LENGTH = 25;
/** Bytes at or above this value would make some characters more likely than others. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length);
const IDENTIFIER = /^c[0-9a-z]{24}$/;

const pool = Buffer.alloc(4_096);
let used = pool.length;

function nextByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

/**
 * A new id: 25 characters, `c` and 24 random base-36 digits (124 bits). Ids do not reveal the time.
 * [connections.item.id] [state.delete.id-retired]
 */
export function newIdentifier(): string {
  let id = 'c';
  while (id.length < LENGTH) {
    const byte = nextByte();
    if (byte < FAIR_BYTES) id += ALPHABET.charAt(byte % ALPHABET.length);
  }
  return id;
}

/** Whether a value has the form of an id. Other values are unknown without a query. */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && IDENTIFIER.test(value);
}
