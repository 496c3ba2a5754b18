import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FIRST_ACCOUNT_ID, readAccount } from '../../../src/connector/accounts/account-store.ts';
import { createAccounts } from '../../../src/connector/accounts/accounts.ts';
import { ensureFirstAccount, firstAccountCandidate } from '../../../src/connector/accounts/first-account.ts';
import {
  createRegistrations,
  LeaseLost,
  rotateSecret,
} from '../../../src/connector/accounts/registrations.ts';
import { FIRST_SUBSCRIPTION_ID } from '../../../src/connector/accounts/subscription-secrets.ts';
import { listDue, makeDue, REGISTRATION } from '../../../src/connector/accounts/subscription-store.ts';
import { secretContext } from '../../../src/connector/db/sealed-columns.ts';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';
import { register as registerOnce } from '../support/register.ts';
import { ScriptedService } from '../support/scripted-service.ts';

const URL_A = 'https://crm.example/webhooks/messaging';
const keyRing = createKeyRing([generateSealingKey()]);
const database = databaseOfFile();
let clock: WatchedClock;
let service: ScriptedService;

/** Processes by name. Nobody dies unless a test says so. */
const lives = new Map<string, Presence>();

beforeAll(async () => {
  for (const name of ['p1', 'p2', 'p3', 'p4']) {
    const presence = createPresence({
      database,
      clock: new ManualClock(),
      logger: silentLogger,
      works: true,
    });
    await presence.start();
    lives.set(name, presence);
  }
});
afterAll(async () => {
  await Promise.all([...lives.values()].map((presence) => presence.stop()));
});
beforeEach(async () => {
  await database.query(
    'truncate connector.accounts, connector.subscriptions, connector.leases, connector.poll_states',
  );
  clock = new WatchedClock();
  service = await ScriptedService.start();
  const named = { baseUrl: service.baseUrl, apiKey: 'key-1' };
  const first = { database, keyRing, clock, service: named };
  await ensureFirstAccount(first);
  await database.transaction(firstAccountCandidate(first, named).store);
});
afterEach(() => service.close());

function lifeOf(process: string): Presence {
  return lives.get(process) ?? expect.fail(`there is no process ${process}`);
}

function options(process = 'p1', url: string | null = URL_A) {
  return {
    ...{ database, clock, presence: lifeOf(process) },
    keyRing,
    client: createServiceClient({ baseUrl: service.baseUrl, token: () => 'key-1', clock }),
    subscriptionId: FIRST_SUBSCRIPTION_ID,
    url,
    noticeMs: 0,
  };
}
const register = (process?: string, url?: string | null) => registerOnce(options(process, url));
const rotate = (compromised = false) => rotateSecret(options(), compromised);
const rotations = (): number => service.countRequests('/webhook/rotate');

interface Stored {
  readonly sealed: string | null;
  readonly previous: string | null;
  readonly maxTimestamp: number | null;
  readonly acceptUntil: number | null;
  readonly pending: string | null;
  readonly url: string | null;
  readonly callAt: number | null;
  readonly compromised: boolean;
}

const UNMARKED = { pending: null, callAt: null, compromised: false };
/** A dead process has announced a replacement. */
const mark = (at = 1, compromised = false) =>
  database.query(
    `update connector.subscriptions set rotation_pending_owner = 'dead', rotation_pending_at = $1,
       rotation_call_at = $1, rotation_compromised = $2`,
    [at, compromised],
  );

async function stored() {
  const [row] = await database.query<Stored>(
    `select sealed_secret as sealed, sealed_previous_secret as previous, previous_max_timestamp as "maxTimestamp",
            previous_accept_until as "acceptUntil", rotation_pending_owner as pending, registered_url as url,
            rotation_call_at as "callAt", rotation_compromised as compromised
     from connector.subscriptions`,
  );
  if (row === undefined) return expect.fail('no subscription');
  const open = async (sealed: string | null) =>
    sealed === null ? null : await keyRing.open(sealed, secretContext(FIRST_SUBSCRIPTION_ID));
  return { ...row, sealed: await open(row.sealed), previous: await open(row.previous) };
}

function puts(): number {
  return service.requests.filter(({ method }) => method === 'PUT').length;
}

describe('a registration', () => {
  it('sets the address once and stores the secret', async () => {
    expect(await register()).toBe('registered');
    expect(await stored()).toMatchObject({ sealed: service.webhook?.secret, pending: null, url: URL_A });
  });

  it('is not repeated after a restart', async () => {
    await register();
    expect(await register('p2')).toBe('unchanged');
    expect(puts()).toBe(1);
    expect((await stored()).sealed).toBe(service.webhook?.secret);
  });

  it('is made by one of four processes that start at the same time', async () => {
    const outcomes = await Promise.all(['p1', 'p2', 'p3', 'p4'].map((owner) => register(owner)));
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(1);
    for (const owner of ['p1', 'p2', 'p3', 'p4']) expect(await register(owner)).toBe('unchanged');
    expect(puts()).toBe(1);
    expect((await stored()).sealed).toBe(service.webhook?.secret);
  });

  it('is repeated for another address, and the old secret stays valid for a grace period', async () => {
    await register();
    const first = service.webhook?.secret;
    service.date = clock.now() + 90_123;
    expect(await register('p1', 'https://new.example/hook')).toBe('registered');
    const second = Math.floor(service.date / 1_000) * 1_000;
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: first,
      maxTimestamp: second + 999,
      acceptUntil: clock.now() + 35_000,
      url: 'https://new.example/hook',
    });
  });

  it('is repeated if the stored secret was lost', async () => {
    await register();
    await database.query('update connector.subscriptions set sealed_secret = null');
    expect(await register()).toBe('registered');
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: null,
      maxTimestamp: null,
    });
  });

  it('is repeated if the address was changed at the service', async () => {
    await register();
    service.webhook = { url: 'https://elsewhere.example', secret: 'foreign' };
    expect(await register()).toBe('registered');
    expect(service.webhook.url).toBe(URL_A);
  });

  it('accepts a secret that was registered by hand as its own', async () => {
    service.webhook = { url: URL_A, secret: 'by hand' };
    await ensureFirstAccount({ database, keyRing, clock, webhookSecret: 'by hand' });
    expect(await register()).toBe('unchanged');
    expect(await stored()).toMatchObject({ sealed: 'by hand', url: URL_A });
  });
});

describe('a registration that fails', () => {
  it('changes nothing if the service refuses the address', async () => {
    await register();
    const before = await stored();
    service.fault = ({ method }) =>
      method === 'PUT' ? { status: 400, body: { error: 'invalid_webhook' } } : undefined;
    await expect(register('p1', 'http://localhost/')).rejects.toMatchObject({ code: 'invalid_webhook' });
    expect(await stored()).toEqual(before);
  });

  it.each([
    ['the connection is lost', 'reset' as const],
    ['the service fails', { status: 500, body: { error: 'internal_error' } }],
  ])('is repeated if it is unknown whether it took effect: %s', async (_what, fault) => {
    await register();
    service.fault = ({ method }) => (method === 'PUT' ? fault : undefined);
    await expect(register('p1', 'https://new.example/hook')).rejects.toThrow();
    expect((await stored()).pending).not.toBeNull();
    service.fault = () => undefined;
    // The old address again: had the lost call gone through, the secret at hand would be void.
    expect(await register('p2')).toBe('registered');
    expect(await stored()).toMatchObject({ sealed: service.webhook?.secret, pending: null });
  });

  it('is repeated if the process died between the answer and the commit', async () => {
    await register();
    await database.query(
      `update connector.subscriptions set rotation_pending_owner = 'dead', rotation_pending_at = 1`,
    );
    service.webhook = { url: URL_A, secret: 'issued to the dead' };
    expect(await register('p2')).toBe('registered');
    expect((await stored()).sealed).toBe(service.webhook.secret);
  });

  it('announces the replacement before the call', async () => {
    let pendingThen: string | null = null;
    service.onRequest = async ({ method }) => {
      if (method === 'PUT') pendingThen = (await stored()).pending;
    };
    await register();
    expect(pendingThen).toEqual(expect.any(String));
  });

  it('stores no secret once another process has taken over, and marks it as unknown', async () => {
    service.onRequest = async ({ method }) => {
      if (method === 'PUT')
        await database.query('update connector.leases set owner = $1, fence = default', [lifeOf('p2').id]);
    };
    await expect(register('p1')).rejects.toBeInstanceOf(LeaseLost);
    service.onRequest = () => undefined;
    expect(await stored()).toMatchObject({ sealed: null, pending: 'abandoned' });
    await database.query('delete from connector.leases');
    expect(await register('p3')).toBe('registered');
    expect((await stored()).sealed).toBe(service.webhook?.secret);
  });

  it('waits while another process is registering', async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    service.onRequest = async ({ method }) => {
      if (method !== 'PUT') return;
      reached.resolve();
      await gate.promise;
    };
    const first = register('p1');
    await reached.promise;
    expect(await register('p2')).toBe('busy');
    gate.resolve();
    expect(await first).toBe('registered');
  });
});

describe('the registrations of a process', () => {
  let notifier: ManualNotifier;
  let issued: string[];

  const create = (process = 'p1') => {
    notifier = new ManualNotifier();
    issued = [];
    const { client: _client, url: _url, ...own } = options(process);
    return createRegistrations({
      ...own,
      logger: silentLogger,
      notifier,
      publicUrl: URL_A,
      mayUse: () => true,
      onIssued: async (accountId, how) => {
        issued.push(`${accountId} ${how}`);
      },
      random: () => 0,
    });
  };
  const account = async () => (await readAccount(database, FIRST_ACCOUNT_ID)) ?? expect.fail('no account');
  const waits = () => notifier.notified.map(({ delayMs }) => delayMs);

  it('report once that a secret was issued', async () => {
    const registrations = create();
    await registrations.add(await account());
    await registrations.add(await account());
    expect(issued).toEqual(['default registered']);
    expect(puts()).toBe(1);
    await registrations.close();
  });

  it('are checked again if they become due during the call', async () => {
    const registrations = create();
    await registrations.start();
    service.onRequest = async ({ method }) => {
      if (method === 'PUT') await makeDue(database, FIRST_SUBSCRIPTION_ID, clock.now() - 1);
    };
    await registrations.add(await account());
    await registrations.settle();
    expect(service.requests.map(({ method }) => method)).toEqual(['PUT', 'GET']);
    await registrations.close();
  });

  it('are retried with increasing waits until one succeeds', async () => {
    service.fault = () => ({ status: 403, body: { error: 'insufficient_scope' } });
    const registrations = create();
    await registrations.start();
    await registrations.add(await account());
    await registrations.settle();
    expect(service.requests).toHaveLength(1);
    for (const wait of [5_000, 10_000]) {
      expect(waits().at(-1)).toBe(wait);
      await clock.advance(wait);
      await registrations.settle();
    }
    expect(waits().at(-1)).toBe(20_000);
    // A new credential begins anew.
    await registrations.add(await account());
    await registrations.settle();
    expect(waits().at(-1)).toBe(5_000);
    service.fault = () => undefined;
    await clock.advance(5_000);
    await registrations.settle();
    expect(issued).toEqual(['default registered']);
    expect(service.requests.filter(({ method }) => method === 'PUT')).toHaveLength(5);
    await registrations.close();
    expect(clock.pending).toBe(0);
  });

  it('leave a failed one to a process whose clock is an hour ahead as long as that plans', async () => {
    const registrations = create();
    await registrations.start();
    for (let minutes = 0; minutes < 10; minutes += 1) {
      await database.query('update connector.subscriptions set register_due_at = $1', [
        clock.now() + 3_660_000 + minutes,
      ]);
      await registrations.settle();
      await clock.advance(60_000);
    }
    expect(service.requests).toEqual([]);
    await clock.advance(6 * 60_000);
    await registrations.settle();
    expect(issued).toEqual(['default registered']);
    await registrations.close();
  });

  it('make no further call with a refused key', async () => {
    service.apiKeys.clear();
    const registrations = create();
    await registrations.start();
    await registrations.add(await account());
    expect((await account()).isRefused).toBe(true);
    await clock.advance(10 * 60_000);
    await notifier.deliver(REGISTRATION, FIRST_SUBSCRIPTION_ID);
    await registrations.settle();
    expect(service.requests).toHaveLength(1);
    expect(await listDue(database, clock.now(), 10)).toEqual([]);
    await registrations.close();
  });

  it('replace a secret that a dead process left in doubt, without being notified', async () => {
    await register();
    const registrations = create('p2');
    await registrations.start();
    await mark();
    await clock.advance(5_000);
    await registrations.settle();
    expect(issued).toEqual(['default registered']);
    expect(await stored()).toMatchObject({ sealed: service.webhook?.secret, pending: null });
    await registrations.close();
  });

  it('wait at most ten seconds while a secret is in doubt', async () => {
    await register();
    service.fault = () => ({ status: 503, body: { error: 'internal_error' } });
    const registrations = create();
    await registrations.start();
    await mark();
    for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      await registrations.settle();
      expect(waits().at(-1)).toBe(wait);
      await clock.advance(wait);
    }
    await registrations.close();
  });

  it('end immediately if they are closed during a call', async () => {
    const reached = Promise.withResolvers<void>();
    service.fault = () => {
      reached.resolve();
      return 'hang';
    };
    const registrations = create();
    const adding = registrations.add(await account());
    await reached.promise;
    await registrations.close();
    await adding;
    expect(clock.pending).toBe(0);
  });
});

/** The accounts of a process, which polls none of them. */
function accountsWith(more: Partial<Parameters<typeof createAccounts>[0]>) {
  const { client: _client, url: _url, ...own } = options();
  return createAccounts({
    ...own,
    logger: silentLogger,
    notifier: new ManualNotifier(),
    publicUrl: URL_A,
    mayUse: () => true,
    onIssued: async () => undefined,
    random: () => 0,
    polls: true,
    polling: { begin: async () => undefined, end: () => undefined },
    ...more,
  });
}

it('an account that may be used but could not be taken up is taken up by the next check', async () => {
  const begun: string[] = [];
  let [mayUse, isAway] = [false, false];
  const accounts = accountsWith({
    mayUse: () => mayUse,
    polling: {
      async begin({ id }) {
        if (isAway) throw new Error('the database is away');
        begun.push(id);
      },
      end: () => undefined,
    },
  });
  await accounts.start();
  [mayUse, isAway] = [true, true];
  await expect(accounts.check()).rejects.toThrow('away');
  isAway = false;
  expect(begun).toEqual([]);
  await clock.pass(10_000);
  await expect.poll(() => begun).toEqual([FIRST_ACCOUNT_ID]);
  await accounts.close();
});

it('a process stops although the service does not answer its registration', async () => {
  const [called, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  service.onRequest = async () => {
    called.resolve();
    await answer.promise;
  };
  const accounts = accountsWith({});
  const started = accounts.start();
  await called.promise;
  await accounts.close();
  answer.resolve();
  await started;
});

describe('a rotation', () => {
  beforeEach(() => register());

  it('stores the new secret, and keeps the old one for deliveries signed before', async () => {
    const first = service.webhook?.secret;
    service.date = clock.now() + 400;
    expect(await rotate()).toEqual({ at: clock.now(), previousAcceptedUntil: clock.now() + 35_000 });
    expect(service.webhook?.secret).not.toBe(first);
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: first,
      maxTimestamp: clock.now(),
      acceptUntil: clock.now() + 35_000,
      ...UNMARKED,
    });
  });

  it.each([
    ['our clock is behind', 90_123, 90_000 + 999],
    ['our clock is ahead', -90_123, -91_000 + 999],
  ])('takes the expiry of the old secret from the service if %s', async (_what, ahead, expected) => {
    service.date = clock.now() + ahead;
    await rotate();
    expect((await stored()).maxTimestamp).toBe(clock.now() + expected);
  });

  it('of a compromised secret does not keep the old secret', async () => {
    await rotate();
    expect(await rotate(true)).toEqual({ at: clock.now(), previousAcceptedUntil: null });
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: null,
      maxTimestamp: null,
      acceptUntil: null,
      ...UNMARKED,
    });
  });

  it('is announced two seconds before the call, so that every process knows about it', async () => {
    const begun = clock.now();
    const rotating = rotateSecret({ ...options(), noticeMs: undefined }, false);
    await clock.timerSet(2_000);
    expect(await stored()).toMatchObject({ pending: expect.any(String), callAt: begun + 2_000 });
    expect(rotations()).toBe(0);
    await clock.advance(2_000);
    expect(await rotating).toMatchObject({ at: begun + 2_000 });
    expect(rotations()).toBe(1);
  });

  it('does not wait for a call that a clock hours ahead has announced', async () => {
    await mark(clock.now() + 3 * 3_600_000);
    expect(await rotate()).toMatchObject({ at: clock.now() });
  });

  it('does not start while another process is rotating', async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    service.onRequest = async () => {
      reached.resolve();
      await gate.promise;
    };
    const first = rotate();
    await reached.promise;
    expect(await rotate()).toBeNull();
    gate.resolve();
    expect(await first).not.toBeNull();
    expect(rotations()).toBe(1);
  });
});

describe('a rotation that fails', () => {
  beforeEach(() => register());

  it.each([
    ['refused', { status: 429, body: { error: 'rate_limited' } }, 'rate_limited'],
    ['declined', { status: 400, body: { error: 'invalid_webhook' } }, 'invalid_webhook'],
  ])('changes nothing if it is %s', async (_what, fault, code) => {
    const before = await stored();
    service.fault = ({ path }) => (path === '/webhook/rotate' ? fault : undefined);
    await expect(rotate()).rejects.toMatchObject({ code });
    expect(await stored()).toEqual(before);
  });

  it('stays marked if its outcome is unknown, and the next registration ends the old secret at the time of the call', async () => {
    const first = service.webhook?.secret;
    service.fault = ({ path }) => (path === '/webhook/rotate' ? 'reset' : undefined);
    const begun = clock.now();
    await expect(rotate()).rejects.toMatchObject({ code: 'network' });
    expect((await stored()).pending).toEqual(expect.any(String));
    await clock.advance(300);
    expect(await register()).toBe('registered');
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: first,
      maxTimestamp: begun,
      ...UNMARKED,
    });
  });
});

describe('a rotation that another process left unfinished', () => {
  beforeEach(() => register());

  it('is repeated, and the old secret ends at the time of the unfinished one', async () => {
    const first = service.webhook?.secret;
    const callAt = clock.now() - 20_000;
    await mark(callAt);
    expect(await register()).toBe('registered');
    expect(await stored()).toMatchObject({ previous: first, maxTimestamp: callAt, ...UNMARKED });
  });

  it('is repeated by a rotation if the webhook was registered by hand', async () => {
    await mark(clock.now() - 20_000);
    expect(await register('p1', null)).toBe('registered');
    expect(rotations()).toBe(1);
    expect(await register('p1', null)).toBe('unchanged');
    expect(rotations()).toBe(1);
  });

  it('stays marked as compromised', async () => {
    await mark(clock.now() - 20_000, true);
    await register();
    expect(await stored()).toMatchObject({ previous: null, acceptUntil: null, ...UNMARKED });
  });

  it('stays unfinished while the service refuses it', async () => {
    await mark(clock.now() - 20_000);
    service.fault = () => ({ status: 401, body: { error: 'invalid_key' } });
    await expect(register()).rejects.toMatchObject({ code: 'invalid_key' });
    expect(await stored()).toMatchObject({ pending: expect.any(String), callAt: clock.now() - 20_000 });
  });
});
