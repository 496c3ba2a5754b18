import { beforeEach, describe, expect, it } from 'vitest';
import { ensureFirstAccount } from '../../../src/connector/accounts/first-account.ts';
import {
  createSubscriptionSecrets,
  FIRST_SUBSCRIPTION_ID,
  type Newer,
} from '../../../src/connector/accounts/subscription-secrets.ts';
import { secretContext } from '../../../src/connector/db/sealed-columns.ts';
import { Deadline } from '../../../src/runtime/clock/deadline.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

const keyRing = createKeyRing([generateSealingKey()]);
const database = databaseOfFile();
let clock: WatchedClock;
let reads: number;
let broken: boolean;
let silent: boolean;
let counted: Database;

beforeEach(async () => {
  await database.query('truncate connector.accounts, connector.subscriptions');
  clock = new WatchedClock();
  await ensureFirstAccount({ database, keyRing, clock, webhookSecret: 's1' });
  reads = 0;
  broken = false;
  silent = false;
  counted = aroundQueries(database, (_text, run) => {
    reads += 1;
    if (silent) return new Promise(() => undefined);
    return broken ? Promise.reject(new Error('lost')) : run();
  });
});

const create = () => createSubscriptionSecrets({ database: counted, keyRing, clock });
async function loaded(): Promise<ReturnType<typeof create>> {
  const secrets = create();
  await secrets.load();
  return secrets;
}

async function storeSecret(secret: string, previousUntil: number | null = null): Promise<void> {
  await database.query(
    `update connector.subscriptions
     set sealed_previous_secret = case when $2::bigint is null then null else sealed_secret end,
         previous_max_timestamp = $2, previous_accept_until = $2, sealed_secret = $1,
         secret_version = secret_version + 1, rotation_pending_owner = null, rotation_pending_at = null,
         rotation_call_at = null
     where id = 'default'`,
    [await keyRing.seal(secret, secretContext(FIRST_SUBSCRIPTION_ID)), previousUntil],
  );
}

async function markPending(at = clock.now(), callAt = at): Promise<void> {
  await database.query(
    `update connector.subscriptions
     set rotation_pending_owner = 'p', rotation_pending_at = $1, rotation_call_at = $2
     where id = 'default'`,
    [at, callAt],
  );
}

const ANSWER_MS = 4_500;
const deadline = () => new Deadline(clock, ANSWER_MS);
type Secrets = ReturnType<typeof create>;
const find = (secrets: Secrets, id?: string) => secrets.find(id, deadline());

/** A subscription as a request found it, and how that request waits for the secret s2. */
async function open() {
  const secrets = await loaded();
  const known = (await find(secrets)) ?? expect.fail('no subscription');
  const wait = (): Promise<Newer> =>
    secrets.awaitNewer(known, deadline(), (newer) => values(newer)?.[0] === 's2');
  return { secrets, known, wait };
}

const values = (subscription: { secrets: readonly { secret: string | Uint8Array }[] } | null) =>
  subscription?.secrets.map((each) => each.secret);

describe('look-ups of secrets', () => {
  it('are answered from memory without waiting, by path and for the first subscription', async () => {
    const secrets = await loaded();
    reads = 0;
    expect(find(secrets)).not.toBeInstanceOf(Promise);
    expect(values(await find(secrets))).toEqual(['s1']);
    expect(await find(secrets, FIRST_SUBSCRIPTION_ID)).toMatchObject({
      subscriptionId: 'default',
      accountId: 'default',
    });
    expect(reads).toBe(0);
  });

  it('find a subscription that another process created', async () => {
    const secrets = await loaded();
    await database.query(
      `insert into connector.subscriptions (id, account_id, sealed_secret) values ('other', 'a2', $1)`,
      [await keyRing.seal('s9', secretContext('other'))],
    );
    await clock.advance(1_000);
    expect(values(await find(secrets, 'other'))).toEqual(['s9']);
  });

  it('read the database only now and then for unknown ids, however many requests name them', async () => {
    const secrets = await loaded();
    reads = 0;
    for (let index = 0; index < 500; index += 1) expect(await find(secrets, `unknown-${index}`)).toBeNull();
    expect(reads).toBe(0);
    await clock.advance(1_000);
    const asked = Array.from({ length: 500 }, (_, index) => find(secrets, `unknown-${index}`));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([null]));
    expect(reads).toBe(1);
  });

  it('use nothing older than two seconds', async () => {
    const secrets = await loaded();
    await storeSecret('s2');
    await clock.advance(2_001);
    expect(values(await find(secrets))).toEqual(['s2']);
  });

  it('continue with the known secrets while the database is unavailable', async () => {
    const secrets = await loaded();
    broken = true;
    await clock.advance(60_000);
    expect(values(await find(secrets))).toEqual(['s1']);
  });

  it('continue with the known secrets if the database does not respond for two seconds', async () => {
    const secrets = await loaded();
    silent = true;
    await clock.advance(60_000);
    const begun = clock.elapsed();
    const found = Promise.resolve(find(secrets)).then((subscription) => ({
      secret: values(subscription),
      after: clock.elapsed() - begun,
    }));
    await clock.advance(2_000);
    expect(await found).toEqual({ secret: ['s1'], after: 2_000 });
  });

  it('find nothing only if the database has said so', async () => {
    const secrets = await loaded();
    silent = true;
    await clock.advance(60_000);
    const found = Promise.resolve(find(secrets, 'perhaps')).catch((error: Error) => error.name);
    const known = Promise.resolve(secrets.isKnown('perhaps', deadline())).catch((error: Error) => error.name);
    await clock.advance(2_000);
    expect(await found).toBe('DeadlinePassed');
    expect(await known).toBe('DeadlinePassed');
    expect(secrets.isKnown(FIRST_SUBSCRIPTION_ID, deadline())).toBe(true);
  });

  it('find the previous secret with its limits', async () => {
    const secrets = create();
    await storeSecret('s2', 1_800_000_000_000);
    expect((await find(secrets))?.secrets).toEqual([
      { secret: 's2', version: 2 },
      { secret: 's1', version: 1, maxTimestamp: 1_800_000_000_000, acceptUntil: 1_800_000_000_000 },
    ]);
  });
});

describe('a secret that is being replaced', () => {
  it('is in doubt for deliveries that are signed after the call may have been made, also if it is in memory', async () => {
    const { secrets } = await open();
    await markPending(1_700, 2_500);
    await clock.advance(20_000);
    expect((await find(secrets))?.secrets).toEqual([{ secret: 's1', version: 1, doubtfulAfter: 2_500 }]);
  });
});

describe('after a failed verification', () => {
  it('a newer secret is read and tried', async () => {
    const { secrets, known } = await open();
    await clock.advance(20_000);
    await storeSecret('s2');
    const tried: unknown[] = [];
    const fits = (newer: typeof known): boolean => {
      tried.push(values(newer));
      return true;
    };
    expect(await secrets.awaitNewer(known, deadline(), fits)).toBe('fits');
    expect(tried).toEqual([['s2']]);
    expect(values(await find(secrets))).toEqual(['s2']);
  });

  it('a secret that this process has read for another request is tried as well', async () => {
    const { secrets, wait } = await open();
    await clock.advance(20_000);
    await storeSecret('s2');
    await find(secrets);
    await clock.advance(250);
    expect(await wait()).toBe('fits');
  });

  it('the signature is wrong if there is no newer secret', async () => {
    const { secrets, known, wait } = await open();
    await clock.advance(60_000);
    expect(await wait()).toBe('none');
    await clock.advance(250);
    const unknown = { ...known, subscriptionId: 'unknown' };
    expect(await secrets.awaitNewer(unknown, deadline(), () => true)).toBe('none');
  });

  it('many concurrent forgeries cost one read', async () => {
    const { wait } = await open();
    await clock.advance(60_000);
    reads = 0;
    await Promise.all(Array.from({ length: 150 }, () => wait()));
    expect(reads).toBe(1);
  });

  it('consecutive forgeries cost four reads a second', async () => {
    const { wait } = await open();
    await clock.advance(60_000);
    await wait();
    reads = 0;
    const second = wait();
    await clock.timerSet(250);
    expect(reads).toBe(0);
    await clock.advance(250);
    expect(await second).toBe('none');
    expect(reads).toBe(1);
  });

  it('256 requests of a subscription wait for its replacement, and the next one is answered immediately; other subscriptions have their own limit', async () => {
    const { secrets, known, wait } = await open();
    await clock.advance(60_000);
    await database.query(
      `insert into connector.subscriptions (id, rotation_pending_owner, rotation_pending_at, rotation_call_at)
       values ('other', 'p', $1, $1)`,
      [clock.now()],
    );
    await markPending();
    const told: Newer[] = [];
    const waiting = Array.from({ length: 257 }, () => wait().then((newer) => void told.push(newer)));
    const elsewhere: Newer[] = [];
    const other = { ...known, subscriptionId: 'other' };
    void secrets.awaitNewer(other, deadline(), () => false).then((newer) => elsewhere.push(newer));
    await clock.timerSet(250);
    expect({ told, elsewhere }).toEqual({ told: ['unknown'], elsewhere: [] });
    await storeSecret('s2');
    await clock.advance(250);
    await Promise.all(waiting);
    expect(told).toEqual(['unknown', ...Array(256).fill('fits')]);
    await markPending();
    const again = wait();
    await clock.timerSet(250);
    await storeSecret('s3');
    await clock.advance(250);
    expect(await again).toBe('none');
  });

  it('a request waits while the secret is being replaced, and is verified with the new one', async () => {
    const { secrets, wait } = await open();
    await clock.advance(60_000);
    await markPending();
    const waiting = wait();
    await clock.timerSet(250);
    await storeSecret('s2');
    await clock.advance(250);
    expect(await waiting).toBe('fits');
    expect(values(await find(secrets))).toEqual(['s2']);
  });

  it('a request waits no longer than its deadline, and the result is then unknown, whatever is stored in the meantime', async () => {
    const { secrets, known } = await open();
    await clock.advance(60_000);
    await markPending();
    const begun = clock.elapsed();
    const waiting = secrets
      .awaitNewer(known, deadline(), () => false)
      .then((answer) => ({ answer, after: clock.elapsed() - begun }));
    for (let tries = 0; tries < 18; tries += 1) {
      await clock.timerSet(250);
      if (tries === 12) {
        await storeSecret('s2');
        await markPending();
      }
      await clock.advance(250);
    }
    expect(await waiting).toEqual({ answer: 'unknown', after: 4_500 });
  });

  it('an old replacement is not waited for', async () => {
    const { wait } = await open();
    await clock.advance(60_000);
    await markPending(clock.now() - 30_001);
    expect(await wait()).toBe('none');
  });

  it('the result is unknown if the database is unavailable', async () => {
    const { wait } = await open();
    broken = true;
    await clock.advance(250);
    expect(await wait()).toBe('unknown');
    reads = 0;
    const second = wait();
    await clock.timerSet(250);
    expect(reads).toBe(0);
    await clock.advance(250);
    expect(await second).toBe('unknown');
  });
});
