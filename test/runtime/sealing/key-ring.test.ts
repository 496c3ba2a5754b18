import { describe, expect, it } from 'vitest';
import { createKeyRing, generateSealingKey, SealingError } from '../../../src/runtime/sealing/key-ring.ts';

const oldKey = generateSealingKey();
const newKey = generateSealingKey();
const SECRET = 'whsec_Schlüssel-🔑';

/** The code of the failure; checks that the message contains no secret. */
async function failureOf(opening: Promise<string>): Promise<string> {
  const error: unknown = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SealingError);
  if (!(error instanceof SealingError)) return 'none';
  expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toMatch(/whsec|Schl/);
  expect(error.message).not.toContain(oldKey);
  expect(error.message).not.toContain(newKey);
  expect(error.cause).toBeUndefined();
  return error.code;
}

describe('the key ring', () => {
  it('opens what it sealed in the same context', async () => {
    const ring = createKeyRing([newKey]);
    const sealed = await ring.seal(SECRET, 'subscription:1:secret');

    expect(sealed).not.toContain('whsec');
    expect(sealed).not.toContain('subscription');
    expect(await ring.open(sealed, 'subscription:1:secret')).toBe(SECRET);
  });

  it('opens an empty secret', async () => {
    const ring = createKeyRing([newKey]);
    expect(await ring.open(await ring.seal('', 'a'), 'a')).toBe('');
  });

  it('seals the same secret differently every time', async () => {
    const ring = createKeyRing([newKey]);
    expect(await ring.seal(SECRET, 'a')).not.toBe(await ring.seal(SECRET, 'a'));
  });

  it('opens what an older key sealed, and reports that it should be sealed again', async () => {
    const sealed = await createKeyRing([oldKey]).seal(SECRET, 'a');
    const rotated = createKeyRing([newKey, oldKey]);

    expect(await rotated.open(sealed, 'a')).toBe(SECRET);
    expect(rotated.isCurrent(sealed)).toBe(false);
    expect(rotated.isCurrent(await rotated.seal(SECRET, 'a'))).toBe(true);
    expect(rotated.isCurrent('nonsense')).toBe(false);
  });

  it('refuses a value sealed with a key that is not in the ring', async () => {
    const sealed = await createKeyRing([oldKey]).seal(SECRET, 'a');
    expect(await failureOf(createKeyRing([newKey]).open(sealed, 'a'))).toBe('unknown_key');
  });

  it('refuses a value moved to another place', async () => {
    const ring = createKeyRing([newKey]);
    const sealed = await ring.seal(SECRET, 'subscription:1:secret');
    expect(await failureOf(ring.open(sealed, 'subscription:2:secret'))).toBe('wrong_context');
  });

  it('refuses a value whose claimed context was rewritten', async () => {
    const ring = createKeyRing([newKey]);
    const [, ...rest] = (await ring.seal(SECRET, 'a')).split('.');
    const [header] = (await ring.seal('other', 'b')).split('.');
    expect(await failureOf(ring.open([header, ...rest].join('.'), 'b'))).toBe('tampered');
  });

  it('refuses an altered value', async () => {
    const ring = createKeyRing([newKey]);
    const parts = (await ring.seal(SECRET, 'a')).split('.');
    const cipher = parts[3] ?? '';
    parts[3] = (cipher.startsWith('A') ? 'B' : 'A') + cipher.slice(1);
    expect(await failureOf(ring.open(parts.join('.'), 'a'))).toBe('tampered');
  });

  it('refuses a value truncated at any position', async () => {
    const ring = createKeyRing([newKey]);
    const sealed = await ring.seal(SECRET, 'a');
    for (let length = 0; length < sealed.length; length += 7) {
      expect(await failureOf(ring.open(sealed.slice(0, length), 'a'))).toMatch(/malformed|tampered/);
    }
  });

  it('refuses a different encryption with the same key', async () => {
    const ring = createKeyRing([newKey]);
    const parts = (await ring.seal(SECRET, 'a')).split('.');
    const header = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString()) as object;
    parts[0] = Buffer.from(JSON.stringify({ ...header, enc: 'A128GCM' })).toString('base64url');
    expect(await failureOf(ring.open(parts.join('.'), 'a'))).toBe('malformed');
  });

  it.each([
    ['an empty key', ''],
    ['a short key', 'c2hvcnQ'],
    ['a key in hex', 'ab'.repeat(32)],
    ['a key with padding', `${generateSealingKey()}=`],
    ['a key in plain base64', `${'/'.repeat(42)}8`],
    ['a key with stray bits at its end', `${'A'.repeat(42)}B`],
  ])('refuses %s, and reports only its position', (_what, key) => {
    const making = (): unknown => createKeyRing([newKey, key]);
    expect(making).toThrow(/Sealing key 2 is not 32 bytes as base64url/);
    if (key !== '') expect(making).not.toThrow(key);
  });

  it.each([
    ['zeros', Buffer.alloc(32)],
    ['one byte over and over', Buffer.alloc(32, 0x5a)],
    ['seven bytes over and over', Buffer.alloc(32, 'sevenby')],
  ])('refuses a key of %s, and says how to generate one', (_what, bytes) => {
    const key = bytes.toString('base64url');
    const making = (): unknown => createKeyRing([newKey, key]);
    expect(making).toThrow(/Sealing key 2 is not random, .* Generate one with: node -p/);
    expect(making).not.toThrow(key);
  });

  it('refuses an empty ring and a duplicate key', () => {
    expect(() => createKeyRing([])).toThrow('at least one sealing key');
    expect(() => createKeyRing([newKey, newKey])).toThrow('twice');
  });
});
