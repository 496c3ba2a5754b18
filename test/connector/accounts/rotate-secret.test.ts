import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureFirstAccount } from '../../../src/connector/accounts/first-account.ts';
import { rotateSecret } from '../../../src/connector/accounts/registrations.ts';
import { FIRST_SUBSCRIPTION_ID } from '../../../src/connector/accounts/subscription-secrets.ts';
import { secretContext } from '../../../src/connector/db/sealed-columns.ts';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';
import { register } from '../support/register.ts';
import { ScriptedService } from '../support/scripted-service.ts';

const URL_A = 'https://crm.example/webhooks/messaging';
const keyRing = createKeyRing([generateSealingKey()]);
const database = databaseOfFile();
let clock: WatchedClock;
let service: ScriptedService;

let presence: Presence;

beforeAll(async () => {
  presence = createPresence({ database, clock: new ManualClock(), logger: silentLogger, works: true });
  await presence.start();
});
afterAll(async () => {
  await presence.stop();
});
beforeEach(async () => {
  await database.query('truncate connector.accounts, connector.subscriptions, connector.leases');
  clock = new WatchedClock();
  service = await ScriptedService.start();
  await ensureFirstAccount({
    database,
    keyRing,
    clock,
    service: { baseUrl: service.baseUrl, apiKey: 'key-1' },
  });
  await register(options());
});
afterEach(() => service.close());

const options = (noticeMs = 0, url: string | null = URL_A) => ({
  ...{ database, clock, presence },
  keyRing,
  client: createServiceClient({ baseUrl: service.baseUrl, token: () => 'key-1', clock }),
  subscriptionId: FIRST_SUBSCRIPTION_ID,
  url,
  noticeMs,
});
const rotate = (compromised = false, noticeMs = 0) => rotateSecret(options(noticeMs), compromised);
const rotations = (): number => service.countRequests('/webhook/rotate');
const inRotation = (fault: NonNullable<ReturnType<ScriptedService['fault']>>, times = 1): void => {
  let left = times;
  service.fault = ({ path }) => (path === '/webhook/rotate' && left-- > 0 ? fault : undefined);
};

interface Stored {
  readonly sealed: string | null;
  readonly previous: string | null;
  readonly maxTimestamp: number | null;
  readonly acceptUntil: number | null;
  readonly pending: string | null;
  readonly callAt: number | null;
  readonly compromised: boolean;
}

async function stored() {
  const [row] = await database.query<Stored>(
    `select sealed_secret as sealed, sealed_previous_secret as previous, previous_max_timestamp as "maxTimestamp",
            previous_accept_until as "acceptUntil", rotation_pending_owner as pending,
            rotation_call_at as "callAt", rotation_compromised as compromised
     from connector.subscriptions`,
  );
  if (row === undefined) return expect.fail('no subscription');
  const open = async (sealed: string | null) =>
    sealed === null ? null : await keyRing.open(sealed, secretContext(FIRST_SUBSCRIPTION_ID));
  return { ...row, sealed: await open(row.sealed), previous: await open(row.previous) };
}

const UNMARKED = { pending: null, callAt: null, compromised: false };
const mark = (at: number, compromised = false) =>
  database.query(
    `update connector.subscriptions set rotation_pending_owner = 'dead', rotation_pending_at = $1,
       rotation_call_at = $1, rotation_compromised = $2`,
    [at, compromised],
  );

describe('a rotation', () => {
  it('stores the new secret, and keeps the old one for deliveries signed before', async () => {
    const first = service.webhook?.secret;
    service.date = clock.now() + 400;
    expect(await rotate()).toEqual({ at: clock.now(), previousAcceptedUntil: clock.now() + 35_000 });
    expect(service.webhook?.secret).not.toBe(first);
    expect(await stored()).toEqual({
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
    expect(await stored()).toEqual({
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
  it.each([
    ['refused', { status: 429, body: { error: 'rate_limited' } }, 'rate_limited'],
    ['declined', { status: 400, body: { error: 'invalid_webhook' } }, 'invalid_webhook'],
  ])('changes nothing if it is %s', async (_what, fault, code) => {
    const before = await stored();
    inRotation(fault);
    await expect(rotate()).rejects.toMatchObject({ code });
    expect(await stored()).toEqual(before);
  });

  it('stays marked if its outcome is unknown, and the next registration ends the old secret at the time of the call', async () => {
    const first = service.webhook?.secret;
    inRotation('reset');
    const begun = clock.now();
    await expect(rotate()).rejects.toMatchObject({ code: 'network' });
    expect((await stored()).pending).toEqual(expect.any(String));
    await clock.advance(300);
    expect(await register(options())).toBe('registered');
    expect(await stored()).toMatchObject({
      sealed: service.webhook?.secret,
      previous: first,
      maxTimestamp: begun,
      ...UNMARKED,
    });
  });
});

describe('a rotation that another process left unfinished', () => {
  it('is repeated, and the old secret ends at the time of the unfinished one', async () => {
    const first = service.webhook?.secret;
    const callAt = clock.now() - 20_000;
    await mark(callAt);
    expect(await register(options())).toBe('registered');
    expect(await stored()).toMatchObject({ previous: first, maxTimestamp: callAt, ...UNMARKED });
  });

  it('is repeated by a rotation if the webhook was registered by hand', async () => {
    await mark(clock.now() - 20_000);
    expect(await register(options(0, null))).toBe('registered');
    expect(rotations()).toBe(1);
    expect(await register(options(0, null))).toBe('unchanged');
    expect(rotations()).toBe(1);
  });

  it('stays marked as compromised', async () => {
    await mark(clock.now() - 20_000, true);
    await register(options());
    expect(await stored()).toMatchObject({ previous: null, acceptUntil: null, ...UNMARKED });
  });

  it('stays unfinished while the service refuses it', async () => {
    await mark(clock.now() - 20_000);
    service.fault = () => ({ status: 401, body: { error: 'invalid_key' } });
    await expect(register(options())).rejects.toMatchObject({ code: 'invalid_key' });
    expect(await stored()).toMatchObject({ pending: expect.any(String), callAt: clock.now() - 20_000 });
  });
});
