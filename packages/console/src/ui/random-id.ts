/** 128 random bits in hex. `crypto.randomUUID` is missing where a page came over plain HTTP from another machine. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
