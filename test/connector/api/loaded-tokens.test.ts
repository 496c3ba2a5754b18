import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { noteTokens } from '../../../src/connector/api/loaded-tokens.ts';
import type { ApiToken } from '../../../src/connector/api/token-guard.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openConnectorDatabase } from '../support/event-fixtures.ts';

const READER = { name: 'reader', rights: ['read'], token: 'token-that-may-read-0123456789' } as const;
const WRITER = { name: 'crm', rights: ['read', 'write'], token: 'token-that-may-write-0123456789' } as const;
const OLD_KEY = generateSealingKey();

let opened: Awaited<ReturnType<typeof openConnectorDatabase>>;
let noted: [event: string, facts: { readonly what?: unknown }][];

beforeAll(async () => {
  opened = await openConnectorDatabase();
});
afterAll(() => opened.close());
beforeEach(async () => {
  await opened.database.query('delete from connector.loaded_tokens');
  noted = [];
});
afterEach(() => {
  for (const { token } of [READER, WRITER]) expect(JSON.stringify(noted)).not.toContain(token);
});

/** What a process notes at its start. */
const start = (tokens: readonly ApiToken[], keys = [OLD_KEY]) =>
  noteTokens(
    {
      database: opened.database,
      keyRing: createKeyRing(keys),
      audit: { note: (event, facts) => void noted.push([event, facts]), close: () => undefined },
      clock: new ManualClock(),
      role: 'all',
    },
    tokens,
  );
const changes = () => noted.flatMap(([event, { what }]) => (event === 'tokens.changed' ? [what] : []));

describe('a change of the API tokens since the last start', () => {
  it.each([
    ['an added one', [READER], [READER, WRITER], ['added crm read+write']],
    ['a removed one', [READER, WRITER], [WRITER], ['removed reader read']],
    [
      'other rights',
      [READER],
      [{ ...READER, rights: ['read', 'metrics'] }],
      ['changed reader read+metrics, was reader read'],
    ],
    ['another name', [READER], [{ ...READER, name: 'audit' }], ['changed audit read, was reader read']],
    ['another token', [READER], [{ ...READER, token: WRITER.token }], ['replaced reader read']],
    [
      'another token with other rights',
      [READER],
      [{ ...WRITER, name: 'reader' }],
      ['replaced reader read+write, was reader read'],
    ],
    [
      'a second one of the name',
      [READER],
      [READER, { ...READER, token: WRITER.token }],
      ['added reader read'],
    ],
    ['the same', [READER, WRITER], [WRITER, READER], undefined],
  ] as const)(
    '%s: each change is logged in one line, by the first process',
    async (_what, before, now, expected) => {
      await start(before);
      await start(now);
      await start(now);
      expect(changes()).toEqual(expected === undefined ? [] : [expected]);
    },
  );

  it('is detected with encrypted digests, also after the encryption key has changed', async () => {
    const fresh = generateSealingKey();
    await start([READER]);
    const stored = JSON.stringify(await opened.database.query('select * from connector.loaded_tokens'));
    expect(stored).toContain('sealed_tokens');
    expect(stored).not.toContain('reader');
    await start([READER], [fresh, OLD_KEY]);
    await start([READER, WRITER], [fresh]);
    expect(changes()).toEqual([['added crm read+write']]);
    // Whoever alters the list is seen.
    await opened.database.query("update connector.loaded_tokens set sealed_tokens = 'altered'");
    await start([WRITER], [fresh]);
    expect(changes()).toEqual([
      ['added crm read+write'],
      ['the tokens of the previous start cannot be read'],
    ]);
  });
});
