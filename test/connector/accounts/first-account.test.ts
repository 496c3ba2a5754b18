import { beforeEach, describe, expect, it } from 'vitest';
import {
  FIRST_ACCOUNT_ID,
  openCredential,
  readAccount,
  readAccounts,
} from '../../../src/connector/accounts/account-store.ts';
import { firstAccountCandidate } from '../../../src/connector/accounts/first-account.ts';
import { readPollState } from '../../../src/connector/accounts/poll-state.ts';
import { createSubscriptionSecrets } from '../../../src/connector/accounts/subscription-secrets.ts';
import { resealSecrets } from '../../../src/connector/db/sealed-columns.ts';
import { Deadline } from '../../../src/runtime/clock/deadline.ts';
import {
  createKeyRing,
  generateSealingKey,
  type KeyRing,
  SealingError,
} from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { configureAccount } from '../support/configure-account.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

const service = { baseUrl: 'https://service.example/api/v1', apiKey: 'canary-key-1' };
const oldKey = generateSealingKey();
const newKey = generateSealingKey();
const clock = new ManualClock();
const database = databaseOfFile();
let keyRing: KeyRing;

beforeEach(async () => {
  await database.query('truncate connector.accounts, connector.subscriptions, connector.poll_states');
  keyRing = createKeyRing([oldKey]);
});

const ensure = (options: { service?: typeof service; webhookSecret?: string }, ring = keyRing) =>
  configureAccount({ database, keyRing: ring, clock, ...options });

async function secretsInUse(ring = keyRing): Promise<unknown[]> {
  const secrets = createSubscriptionSecrets({ database, keyRing: ring, clock });
  const first = await secrets.find(undefined, new Deadline(clock, 4_500));
  return first?.secrets.map((each) => each.secret) ?? [];
}

async function everythingStored(): Promise<string> {
  const rows = [
    ...(await database.query('select * from connector.accounts')),
    ...(await database.query('select * from connector.subscriptions')),
  ];
  return JSON.stringify(rows);
}

describe('the configured account', () => {
  it('is created once, however many processes start at the same time', async () => {
    await Promise.all(Array.from({ length: 4 }, () => ensure({ service })));
    expect(await readAccounts(database)).toMatchObject([{ id: FIRST_ACCOUNT_ID, baseUrl: service.baseUrl }]);
    expect(await openCredential(database, keyRing, FIRST_ACCOUNT_ID)).toBe(service.apiKey);
  });

  it('is stored without a credential or secret in plain text', async () => {
    await ensure({ service, webhookSecret: 'canary-secret' });
    const stored = await everythingStored();
    expect(stored).not.toContain('canary');
    expect(stored).toContain(FIRST_ACCOUNT_ID);
  });

  it('keeps its version if the credential is unchanged, and increases it otherwise', async () => {
    await ensure({ service });
    const before = await readAccount(database, FIRST_ACCOUNT_ID);
    await ensure({ service });
    expect(await readAccount(database, FIRST_ACCOUNT_ID)).toEqual(before);
    await ensure({ service: { ...service, apiKey: 'other' } });
    const after = await readAccount(database, FIRST_ACCOUNT_ID);
    expect(after?.credentialVersion).toBe((before?.credentialVersion ?? 0) + 1);
    expect(await openCredential(database, keyRing, FIRST_ACCOUNT_ID)).toBe('other');
  });

  it('is polled at once with a new credential, whatever the refused one waited for', async () => {
    await ensure({ service });
    const now = clock.now();
    await database.query(
      `insert into connector.poll_states (account_id, due_at, last_started_at, failures, not_before)
       values ($1, $2, $3, 1, $2)`,
      [FIRST_ACCOUNT_ID, now + 40_000, now],
    );
    const planned = async () => {
      const { dueAt, notBefore } = await readPollState(database, FIRST_ACCOUNT_ID);
      return { dueAt, notBefore };
    };
    await ensure({ service });
    expect(await planned()).toEqual({ dueAt: now + 40_000, notBefore: now + 40_000 });
    await ensure({ service: { ...service, apiKey: 'other' } });
    expect(await planned()).toEqual({ dueAt: now, notBefore: null });
  });

  it('is polled at once with the same credential only if the service had refused it', async () => {
    await ensure({ service });
    const state =
      'insert into connector.poll_states (account_id, due_at, refused_credential_version) values ($1, $2, $3)';
    await database.query(state, [FIRST_ACCOUNT_ID, clock.now() + 40_000, null]);
    const before = await readAccount(database, FIRST_ACCOUNT_ID);
    const { store } = firstAccountCandidate({ database, keyRing, clock }, service);
    // As another process does that has tried it at the same time.
    expect(await database.transaction(store)).toEqual([]);
    expect(await readAccount(database, FIRST_ACCOUNT_ID)).toEqual(before);
    expect((await readPollState(database, FIRST_ACCOUNT_ID)).dueAt).toBe(clock.now() + 40_000);
    await database.query('update connector.poll_states set refused_credential_version = $1', [
      before?.credentialVersion,
    ]);
    expect(await database.transaction(store)).toEqual([]);
    expect((await readPollState(database, FIRST_ACCOUNT_ID)).dueAt).toBe(clock.now());
  });

  it('keeps its credential if a process starts without one in its settings', async () => {
    await ensure({ service });
    await ensure({});
    expect(await openCredential(database, keyRing, FIRST_ACCOUNT_ID)).toBe(service.apiKey);
  });

  it('has no service if only a webhook secret is configured', async () => {
    await ensure({ webhookSecret: 'by hand' });
    expect(await readAccount(database, FIRST_ACCOUNT_ID)).toMatchObject({
      baseUrl: null,
      hasCredential: false,
    });
    expect(await secretsInUse()).toEqual(['by hand']);
  });

  it('is not created if nothing is configured', async () => {
    await ensure({});
    expect(await readAccounts(database)).toEqual([]);
    expect(
      await createSubscriptionSecrets({ database, keyRing, clock }).find(
        undefined,
        new Deadline(clock, 4_500),
      ),
    ).toBeNull();
  });
});

describe('a configured webhook secret', () => {
  it('does not restore an old secret after a registration has issued another', async () => {
    await ensure({ webhookSecret: 'by hand' });
    await database.query('update connector.subscriptions set sealed_secret = $1', [
      await keyRing.seal('issued', 'subscription:default:secret'),
    ]);
    await ensure({ webhookSecret: 'by hand' });
    expect(await secretsInUse()).toEqual(['issued']);
  });

  it('replaces the stored one if it has changed', async () => {
    await ensure({ webhookSecret: 'by hand' });
    await ensure({ webhookSecret: 'by hand again' });
    expect(await secretsInUse()).toEqual(['by hand again']);
  });
});

describe('a change of the key ring', () => {
  it('encrypts everything with the new key, so that the old key can be removed', async () => {
    await ensure({ service, webhookSecret: 'by hand' });
    const both = createKeyRing([newKey, oldKey]);
    expect(await resealSecrets(database, both)).toBe(3);
    expect(await resealSecrets(database, both)).toBe(0);
    const ring = createKeyRing([newKey]);
    expect(await openCredential(database, ring, FIRST_ACCOUNT_ID)).toBe(service.apiKey);
    expect(await secretsInUse(ring)).toEqual(['by hand']);
  });

  it('is not mistaken for a new credential', async () => {
    await ensure({ service });
    const before = await readAccount(database, FIRST_ACCOUNT_ID);
    const both = createKeyRing([newKey, oldKey]);
    await resealSecrets(database, both);
    await ensure({ service }, both);
    expect(await readAccount(database, FIRST_ACCOUNT_ID)).toEqual(before);
  });

  it('that removes the old key too early is refused, and what is stored stays', async () => {
    await ensure({ service, webhookSecret: 'by hand' });
    const stored = await everythingStored();
    const wrong = createKeyRing([newKey]);
    await expect(ensure({ service, webhookSecret: 'by hand' }, wrong)).rejects.toBeInstanceOf(SealingError);
    await expect(resealSecrets(database, wrong)).rejects.toBeInstanceOf(SealingError);
    expect(await everythingStored()).toBe(stored);
  });
});
