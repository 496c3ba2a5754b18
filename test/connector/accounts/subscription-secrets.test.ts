import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FIRST_SUBSCRIPTION_ID, secretContext } from '../../../src/connector/accounts/account-store.ts';
import { ensureFirstAccount } from '../../../src/connector/accounts/first-account.ts';
import { createSubscriptionSecrets } from '../../../src/connector/accounts/subscription-secrets.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { openConnectorDatabase } from '../support/event-fixtures.ts';

const keyRing = createKeyRing([generateSealingKey()]);
let opened: Awaited<ReturnType<typeof openConnectorDatabase>>;
let database: Database;
let clock: WatchedClock;
let reads: number;
let broken: boolean;
let counted: Database;

beforeAll(async () => {
  opened = await openConnectorDatabase();
  database = opened.database;
});
afterAll(() => opened.close());
beforeEach(async () => {
  await database.query('truncate connector.accounts, connector.subscriptions');
  clock = new WatchedClock();
  await ensureFirstAccount({ database, keyRing, clock, webhookSecret: 's1' });
  reads = 0;
  broken = false;
  counted = Object.create(database, {
    query: {
      value: (text: string, params?: unknown[]) => {
        reads += 1;
        return broken ? Promise.reject(new Error('lost')) : database.query(text, params);
      },
    },
  });
});

const create = (onAbandonedRotation?: (id: string) => void) =>
  createSubscriptionSecrets({
    database: counted,
    keyRing,
    clock,
    ...(onAbandonedRotation === undefined ? {} : { onAbandonedRotation }),
  });

async function storeSecret(secret: string, previousUntil: number | null = null): Promise<void> {
  await database.query(
    `update connector.subscriptions
     set sealed_previous_secret = case when $2::bigint is null then null else sealed_secret end,
         previous_max_timestamp = $2, previous_accept_until = $2, sealed_secret = $1,
         secret_version = secret_version + 1, rotation_pending_owner = null, rotation_pending_at = null`,
    [await keyRing.seal(secret, secretContext(FIRST_SUBSCRIPTION_ID)), previousUntil],
  );
}

async function markPending(at = clock.now()): Promise<void> {
  await database.query(
    `update connector.subscriptions set rotation_pending_owner = 'p', rotation_pending_at = $1`,
    [at],
  );
}

const values = (subscription: { secrets: readonly { secret: string | Uint8Array }[] } | null) =>
  subscription?.secrets.map((each) => each.secret);

describe('finding secrets', () => {
  it('answers from memory without waiting, by path and for the first subscription', async () => {
    const secrets = create();
    await secrets.load();
    reads = 0;
    expect(secrets.find()).not.toBeInstanceOf(Promise);
    expect(values(await secrets.find())).toEqual(['s1']);
    expect(await secrets.find(FIRST_SUBSCRIPTION_ID)).toMatchObject({
      subscriptionId: 'default',
      accountId: 'default',
    });
    expect(reads).toBe(0);
  });

  it('finds a subscription that another process made', async () => {
    const secrets = create();
    await secrets.load();
    await database.query(
      `insert into connector.subscriptions (id, account_id, sealed_secret) values ('other', 'a2', $1)`,
      [await keyRing.seal('s9', secretContext('other'))],
    );
    await clock.advance(1_000);
    expect(values(await secrets.find('other'))).toEqual(['s9']);
  });

  it('reads once in a while for ids that nobody knows, however many ask', async () => {
    const secrets = create();
    await secrets.load();
    reads = 0;
    for (let index = 0; index < 500; index += 1) expect(await secrets.find(`unknown-${index}`)).toBeNull();
    expect(reads).toBe(0);
    await clock.advance(1_000);
    const asked = Array.from({ length: 500 }, (_, index) => secrets.find(`unknown-${index}`));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([null]));
    expect(reads).toBe(1);
  });

  it('notices a withdrawn secret by itself, at the latest when it is old', async () => {
    const secrets = create();
    await secrets.load();
    await storeSecret('s2');
    await clock.advance(15_001);
    expect(values(await secrets.find())).toEqual(['s2']);
  });

  it('goes on with what it has while the database is away', async () => {
    const secrets = create();
    await secrets.load();
    broken = true;
    await clock.advance(60_000);
    expect(values(await secrets.find())).toEqual(['s1']);
  });

  it('gives the previous secret with its limits', async () => {
    const secrets = create();
    await storeSecret('s2', 1_800_000_000_000);
    expect((await secrets.find())?.secrets).toEqual([
      { secret: 's2' },
      { secret: 's1', maxTimestamp: 1_800_000_000_000, acceptUntil: 1_800_000_000_000 },
    ]);
  });
});

describe('after a failed verification', () => {
  it('a newer secret is read and the caller told to check again', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(20_000);
    await storeSecret('s2');
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(true);
    expect(values(await secrets.find())).toEqual(['s2']);
  });

  it('a request that had read the old secret just before is told, too', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(20_000);
    await storeSecret('s2');
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(true);
    await clock.advance(10_000);
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(true);
  });

  it('nothing new means no', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(false);
    await clock.advance(250);
    expect(await secrets.refresh('unknown')).toBe(false);
  });

  it('many forgeries at once cost one read', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    reads = 0;
    await Promise.all(Array.from({ length: 150 }, () => secrets.refresh(FIRST_SUBSCRIPTION_ID)));
    expect(reads).toBe(1);
  });

  it('forgeries in a row cost four reads a second', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    await secrets.refresh(FIRST_SUBSCRIPTION_ID);
    reads = 0;
    const second = secrets.refresh(FIRST_SUBSCRIPTION_ID);
    await clock.timerSet(250);
    expect(reads).toBe(0);
    await clock.advance(250);
    expect(await second).toBe(false);
    expect(reads).toBe(1);
  });

  it('a request waits while the secret is being replaced, and gets the new one', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    await markPending();
    const waiting = secrets.refresh(FIRST_SUBSCRIPTION_ID);
    await clock.timerSet(250);
    await storeSecret('s2');
    await clock.advance(250);
    expect(await waiting).toBe(true);
    expect(values(await secrets.find())).toEqual(['s2']);
  });

  it('it waits no longer than seven seconds', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    await markPending();
    const begun = clock.elapsed();
    const waiting = secrets
      .refresh(FIRST_SUBSCRIPTION_ID)
      .then((answer) => ({ answer, after: clock.elapsed() - begun }));
    for (let tries = 0; tries < 28; tries += 1) {
      await clock.timerSet(250);
      await clock.advance(250);
    }
    expect(await waiting).toEqual({ answer: false, after: 7_000 });
  });

  it('no more than two hundred wait', async () => {
    const secrets = create();
    await secrets.load();
    await clock.advance(60_000);
    await markPending();
    const waiting = Array.from({ length: 200 }, () => secrets.refresh(FIRST_SUBSCRIPTION_ID));
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(false);
    await clock.timerSet(250);
    await storeSecret('s2');
    await clock.advance(250);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });

  it('a replacement whose owner is gone is reported and not waited for', async () => {
    const abandoned = vi.fn();
    const secrets = create(abandoned);
    await secrets.load();
    await clock.advance(60_000);
    await markPending(clock.now() - 30_001);
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(false);
    expect(abandoned).toHaveBeenCalledWith(FIRST_SUBSCRIPTION_ID);
  });

  it('a database that is away means no', async () => {
    const secrets = create();
    await secrets.load();
    broken = true;
    await clock.advance(250);
    expect(await secrets.refresh(FIRST_SUBSCRIPTION_ID)).toBe(false);
    reads = 0;
    const second = secrets.refresh(FIRST_SUBSCRIPTION_ID);
    await clock.timerSet(250);
    expect(reads).toBe(0);
    await clock.advance(250);
    expect(await second).toBe(false);
  });
});
