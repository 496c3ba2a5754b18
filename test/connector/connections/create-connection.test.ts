import { beforeEach, describe, expect, it } from 'vitest';
import {
  beginAttempt,
  deleteOldCreations,
  listPlannedCreations,
  type PlannedCreation,
  placeCreation,
  takeCreation,
} from '../../../src/connector/connections/creation-store.ts';
import { openConnectorDatabase, T0 } from '../support/event-fixtures.ts';
import { PhoneService, refusal } from '../support/phone-service.ts';
import { type Answer, connectorOfFile, type RunningConnector } from '../support/running-connector.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HOUR_MS = 3_600_000;
/** Before the second, third and fourth attempt. */
const WAITS = [600, 1_200, 2_400];

const { world, running } = connectorOfFile();
let phones: PhoneService;

beforeEach(async () => {
  await world.database.query('delete from connector.creations');
  phones = PhoneService.attach(world.service);
  world.clock.forget();
  world.service.account.slots.available = 3;
});

const create = (options: { body?: unknown; key?: string; at?: RunningConnector } = {}): Promise<Answer> =>
  (options.at ?? running).ask('POST', '/v1/connections', {
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.key === undefined ? {} : { headers: { 'idempotency-key': options.key } }),
  });

const idOf = ({ body }: Answer): string => (body['connection'] as { id: string }).id;

async function changesOf(connectionId: string): Promise<Record<string, unknown>[]> {
  await running.connector.settle();
  const { body } = await running.ask('GET', `/v1/changes?connectionId=${connectionId}`);
  return (body['changes'] as { data: Record<string, unknown> }[]).map(({ data }) => data);
}

async function inDoubt(): Promise<number> {
  const { body } = await running.ask('GET', '/metrics');
  return Number(/^connector_creations_in_doubt (\d+)$/m.exec(String(body['text']))?.[1]);
}

/** Lets so much time pass that what is in doubt is looked at twice. */
async function finishLater(): Promise<void> {
  for (const ms of [60_000, 30_000]) {
    await running.connector.settle();
    await world.clock.advance(ms);
  }
  await running.connector.settle();
}

describe('creating a connection', () => {
  it('returns it with a QR code, stores it immediately and reports it in the feed', async () => {
    const answer = await create({ body: { label: 'Front desk' } });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      connection: { id: phones.newest, status: 'connecting', qr: 'data:image/png;base64,picture1' },
      slotsAvailable: 3,
      warning: null,
    });
    expect(phones.keys).toEqual([expect.stringMatching(UUID)]);
    const id = phones.newest;
    const mirrored = { id, label: 'Front desk', status: 'connecting', provider: 'qr', deletedAt: null };
    expect((await running.ask('GET', `/v1/connections/${id}`)).body).toMatchObject({
      ...mirrored,
      health: 'connecting',
    });
    expect(await changesOf(id)).toEqual([expect.objectContaining(mirrored)]);
  });

  it('warns if no slot is free, and creates the connection as the service does', async () => {
    world.service.account.slots.available = 0;
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      slotsAvailable: 0,
      warning: expect.stringMatching(/All slots are used.*no active license/),
    });
    expect(phones.phones.size).toBe(1);
  });

  it('does not require the limits of the account', async () => {
    const { fault } = world.service;
    world.service.fault = (request) => (request.path === '/account' ? refusal(500, 'x') : fault(request));
    expect((await create()).body).toMatchObject({ slotsAvailable: null, warning: null });
    const goOn = Promise.withResolvers<void>();
    world.service.onRequest = ({ path }) => (path === '/account' ? goOn.promise : undefined);
    world.clock.forget();
    const asked = create();
    await world.clock.pass(5_000);
    expect((await asked).body).toMatchObject({ slotsAvailable: null, warning: null });
    world.service.onRequest = () => undefined;
    goOn.resolve();
  });

  it('leaves the figures of the account as they were if one of them cannot be read', async () => {
    const shown = async () => {
      const { body } = await running.ask('GET', '/v1/accounts');
      return (body as { accounts: { quota: { slots: object; readAt: string } }[] }).accounts[0]?.quota;
    };
    const { account, fault } = world.service;
    await create();
    const before = await shown();
    await world.clock.skip(1_000);
    Object.assign(account.slots, { available: 2, nextExpiry: '2026-03-01T00:00:00.000Z' });
    await create();
    const known = { slots: { ...account.slots } };
    expect(await shown()).toMatchObject(known);
    expect(Date.parse((await shown())?.readAt ?? '')).toBe(Date.parse(before?.readAt ?? '') + 1_000);
    const slots = { ...account.slots, used: 4, available: 'one' };
    world.service.fault = (request) =>
      request.path === '/account' ? { status: 200, body: { ...account, slots } } : fault(request);
    expect((await create()).body).toMatchObject({ slotsAvailable: null, warning: null });
    expect(await shown()).toMatchObject(known);
  });

  it('creates one connection for each request without a key', async () => {
    const [one, two] = [await create(), await create()];
    expect(idOf(one)).not.toBe(idOf(two));
    expect(new Set(phones.keys).size).toBe(2);
  });
});

describe('the Idempotency-Key of the CRM', () => {
  it('makes repeated requests one: the same connection, with a new QR code', async () => {
    const first = await create({ key: 'crm-1', body: { label: 'A' } });
    const again = await create({ key: 'crm-1', body: { label: 'A' } });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(idOf(again)).toBe(idOf(first));
    expect(again.body).toMatchObject({ slotsAvailable: 3 });
    expect(again.body['connection']).not.toEqual(first.body['connection']);
    expect(phones.keys).toHaveLength(1);
  });

  it('belongs to one body', async () => {
    await create({ key: 'crm-2', body: { label: 'A' } });
    for (const body of [{ label: 'B' }, {}, undefined]) {
      const answer = await create({ key: 'crm-2', body });
      expect([answer.status, answer.body['error']]).toEqual([409, 'idempotency_key_reused']);
    }
    expect(phones.phones.size).toBe(1);
  });

  it('creates one connection for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => create({ key: 'crm-3' })));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(phones.phones.size).toBe(1);
    expect(new Set(phones.keys).size).toBe(1);
  });

  it('is ignored if it is blank, and has at most 255 characters', async () => {
    const blank = [await create({ key: ' ' }), await create({ key: ' ' })];
    expect(idOf(blank[0] as Answer)).not.toBe(idOf(blank[1] as Answer));
    expect((await create({ key: 'k'.repeat(255) })).status).toBe(201);
    const long = await create({ key: 'k'.repeat(256) });
    expect([long.status, long.body['error'], long.body['message']]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining('Idempotency-Key'),
    ]);
  });

  it('returns the connection even while the service does not answer', async () => {
    const first = await create({ key: 'crm-4' });
    phones.script.push('reset');
    const again = await create({ key: 'crm-4' });
    expect(again.body['connection']).toEqual({ id: idOf(first), status: 'connecting', qr: null });
  });

  it('returns 404 once its connection is deleted', async () => {
    const first = await create({ key: 'crm-5' });
    phones.phones.delete(idOf(first));
    const again = await create({ key: 'crm-5' });
    expect([again.status, again.body['error']]).toEqual([404, 'not_found']);
    expect(phones.keys).toHaveLength(1);
  });
});

describe('a creation whose answer is lost', () => {
  it('is repeated with the same key', async () => {
    phones.lostAnswers.push('reset');
    const asked = create();
    await world.clock.pass(600);
    expect((await asked).status).toBe(201);
    expect(phones.keys).toHaveLength(2);
    expect(new Set(phones.keys).size).toBe(1);
    expect(phones.phones.size).toBe(1);
  });

  it('each time is reported as unknown, and resolved later', async () => {
    phones.lostAnswers.push('reset', { status: 502, body: 'a page of a proxy' }, 'reset', 'reset');
    const asked = create({ key: 'crm-6', body: { label: 'Late' } });
    for (const wait of WAITS) await world.clock.pass(wait);
    const answer = await asked;
    expect([answer.status, answer.body['error']]).toEqual([502, 'service_unreachable']);
    expect(answer.body['message']).toMatch(/not known yet.*same Idempotency-Key/);
    expect(await changesOf(phones.newest)).toEqual([]);
    expect(await inDoubt()).toBe(1);

    await finishLater();
    expect(await inDoubt()).toBe(0);
    expect(phones.keys).toHaveLength(5);
    expect(new Set(phones.keys).size).toBe(1);
    expect(await changesOf(phones.newest)).toEqual([
      expect.objectContaining({ label: 'Late', status: 'connecting' }),
    ]);
    expect((await create({ key: 'crm-6', body: { label: 'Late' } })).status).toBe(200);
  });

  it('because the process died is repeated by the next process', async () => {
    // What a process leaves behind that is killed between its call and the answer. Of other accounts, this process has
    // no credential, which holds up nothing.
    for (const accountId of [...Array.from({ length: 10 }, (_, n) => `another-${n}`), 'default'])
      await world.database.query(
        `insert into connector.creations (id, account_id, label, idempotency_key, first_attempt_at, unsettled,
           next_attempt_at, created_at) values ($1, $2, 'Killed', 'key-of-the-dead', $3, 1, $4, $3)`,
        [`left by ${accountId}`, accountId, world.clock.now(), world.clock.now() + 90_000],
      );
    const next = await world.start();
    await next.connector.settle();
    expect(phones.keys).toEqual([]);
    await world.clock.advance(90_000);
    await next.connector.settle();
    expect(phones.keys).toEqual(['key-of-the-dead']);
    expect((await next.ask('GET', `/v1/connections/${phones.newest}`)).body).toMatchObject({
      label: 'Killed',
    });
    await next.stop();
  });

  it('is not repeated once its key may have expired: it then needs a person', async () => {
    phones.lostAnswers.push('reset', 'reset', 'reset', 'reset');
    const asked = create({ key: 'crm-7' });
    for (const wait of WAITS) await world.clock.pass(wait);
    await asked;
    world.clock.jump(23 * HOUR_MS);
    const late = await create({ key: 'crm-7' });
    expect([late.status, late.body['error']]).toEqual([409, 'creation_unknown']);
    await finishLater();
    expect(phones.keys).toHaveLength(4);
    const left = 'select last_error, next_attempt_at from connector.creations';
    expect(await world.database.query(left)).toEqual([{ last_error: 'key_expired', next_attempt_at: null }]);
  });
});

describe('a creation that the service refuses', () => {
  it.each([
    [403, 'forbidden_portal_kind', 403, /admin creates/],
    [403, 'invalid_grant', 403, /consent again/],
    [403, 'insufficient_scope', 502, /insufficient_scope.*scope/],
    [401, 'invalid_key', 502, /invalid_key/],
  ])('with %i %s is reported with advice', async (status, code, answered, sentence) => {
    phones.script.push(refusal(status, code));
    const answer = await create();
    expect(answer.status).toBe(answered);
    expect(answer.body['error']).toBe(answered === 502 ? 'service_refused' : code);
    expect(answer.body['message']).toMatch(sentence);
    expect(phones.keys).toHaveLength(1);
  });

  it('temporarily is reported with Retry-After, and succeeds later with the same key', async () => {
    phones.script.push(refusal(429, 'rate_limited', { 'retry-after': '42' }));
    const answer = await create({ key: 'crm-8' });
    expect([answer.status, answer.body['error'], answer.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '42',
    ]);
    expect((await create({ key: 'crm-8' })).status).toBe(201);
    expect(new Set(phones.keys).size).toBe(1);
  });

  it('is repeated with a new key if the old one may have expired', async () => {
    phones.script.push(refusal(403, 'forbidden_portal_kind'));
    await create({ key: 'crm-9' });
    world.clock.jump(23 * HOUR_MS + 1);
    expect((await create({ key: 'crm-9' })).status).toBe(201);
    expect(new Set(phones.keys).size).toBe(2);
  });

  it('after a lost answer stays in doubt, because the refusal does not concern the first attempt', async () => {
    phones.lostAnswers.push('reset');
    phones.script.push(null, refusal(401, 'invalid_key'));
    const asked = create({ key: 'crm-10' });
    await world.clock.pass(600);
    expect((await asked).body['error']).toBe('service_refused');
    await finishLater();
    expect(phones.phones.size).toBe(1);
    const again = await create({ key: 'crm-10' });
    expect([again.status, idOf(again)]).toEqual([200, phones.newest]);
  });
});

describe('a creation that is in progress at the service', () => {
  it('is repeated until it completes', async () => {
    phones.script.push(
      refusal(409, 'idempotency_in_progress', { 'retry-after': '1' }),
      refusal(409, 'idempotency_in_progress'),
    );
    const asked = create();
    await world.clock.pass(1_250);
    await world.clock.pass(1_250);
    expect((await asked).status).toBe(201);
    expect(new Set(phones.keys).size).toBe(1);
  });

  it('is not repeated sooner than after a second, whatever Retry-After says', async () => {
    phones.script.push(refusal(409, 'idempotency_in_progress', { 'retry-after': '0' }));
    const asked = create();
    await world.clock.pass(1_250);
    expect((await asked).status).toBe(201);
  });

  it('is answered with 409 and Retry-After if it takes too long', async () => {
    phones.script.push(...Array.from({ length: 4 }, () => refusal(409, 'idempotency_in_progress')));
    const asked = create({ key: 'crm-11' });
    for (const wait of [1_250, 1_250, 2_400]) await world.clock.pass(wait);
    const answer = await asked;
    expect([answer.status, answer.body['error'], answer.headers.get('retry-after')]).toEqual([
      409,
      'idempotency_in_progress',
      '1',
    ]);
    expect((await create({ key: 'crm-11' })).status).toBe(201);
    phones.script.push(refusal(409, 'idempotency_in_progress', { 'retry-after': '6' }));
    const { status, headers } = await create();
    expect([status, headers.get('retry-after')]).toEqual([409, '6']);
  });
});

describe('the row of a creation', () => {
  const kept = async (key: string): Promise<number> =>
    (await world.database.query('select from connector.creations where request_key = $1', [key])).length;

  /** The deletion believes our clock if a poll shows that the service's agrees. */
  const pass = async (ms: number): Promise<void> => {
    await world.clock.skip(ms);
    // After so long, this process is heard again first.
    const sync = async () => (await running.ask('POST', '/v1/sync', { body: {} })).status;
    await expect.poll(sync).toBe(200);
    await world.clock.skip(HOUR_MS);
    await running.connector.settle();
  };

  it('is deleted two days after the creation began, if it has ended', async () => {
    expect((await create({ key: 'crm-done' })).status).toBe(201);
    phones.script.push(refusal(403, 'forbidden_portal_kind'));
    expect((await create({ key: 'crm-refused' })).status).toBe(403);
    await pass(46 * HOUR_MS);
    expect([await kept('crm-done'), await kept('crm-refused')]).toEqual([1, 1]);
    await pass(2 * HOUR_MS);
    expect([await kept('crm-done'), await kept('crm-refused')]).toEqual([0, 0]);
  });

  it('stays while it is unknown whether the connection was created', async () => {
    phones.lostAnswers.push('reset', 'reset', 'reset', 'reset');
    const asked = create({ key: 'crm-doubt' });
    for (const wait of WAITS) await world.clock.pass(wait);
    await asked;
    const { fault } = world.service;
    world.service.fault = (request) => (request.path === '/connections' ? refusal(500, 'x') : fault(request));
    await world.clock.skip(72 * HOUR_MS);
    await running.connector.settle();
    expect(await kept('crm-doubt')).toBe(1);
    await world.database.query('delete from connector.creations');
  });
});

describe('several accounts', () => {
  it('are distinguished by accountId, and each has its own keys', async () => {
    world.service.apiKeys.add('key-2');
    const added = await running.ask('POST', '/v1/accounts', {
      body: { baseUrl: world.service.baseUrl, apiKey: 'key-2' },
    });
    expect((await create()).body['error']).toBe('account_required');
    const own = await create({ body: { accountId: 'default' }, key: 'crm-1' });
    const other = await create({ body: { accountId: added.body['id'] }, key: 'crm-1' });
    expect(other.status).toBe(201);
    expect(idOf(other)).not.toBe(idOf(own));
    expect((await create({ body: { accountId: 'nobody' } })).status).toBe(404);
    await running.ask('DELETE', `/v1/accounts/${String(added.body['id'])}`);
  });
});

it('the row of a creation is deleted two days after its end, or 90 days after its start if it stayed in doubt', async () => {
  const DAY_MS = 24 * HOUR_MS;
  const start = world.clock.now();
  await world.database.query('delete from connector.creations');
  await world.database.query(
    `insert into connector.creations (id, account_id, idempotency_key, first_attempt_at, unsettled, created_at)
     values ('ended', 'default', 'k1', $1::bigint, 0, $1::bigint), ('doubted', 'default', 'k2', $1::bigint, 1, $1::bigint)`,
    [start],
  );
  const left = async () =>
    (await world.database.query('select id from connector.creations order by id')).map(({ id }) => id);
  await deleteOldCreations(world.database, start + 2 * DAY_MS);
  expect(await left()).toEqual(['doubted', 'ended']);
  await deleteOldCreations(world.database, start + 2 * DAY_MS + 1);
  expect(await left()).toEqual(['doubted']);
  await deleteOldCreations(world.database, start + 90 * DAY_MS + 1);
  expect(await left()).toEqual([]);
});

describe('an attempt of a creation', () => {
  it('leaves it to its process for 90 s, and then to one other', async () => {
    const { database, close } = await openConnectorDatabase();
    const due = async (at: number) => (await listPlannedCreations(database, at))[0];
    try {
      const { id } = await placeCreation(database, { accountId: 'a', requestKey: null, label: null }, T0);
      await beginAttempt(database, id, null, T0);
      expect(await due(T0 + 89_999)).toBeUndefined();
      const planned = (await due(T0 + 90_000)) as PlannedCreation;
      expect(planned.id).toBe(id);
      const took = [1, 2].map(() => takeCreation(database, planned, T0 + 90_000));
      expect((await Promise.all(took)).sort()).toEqual([false, true]);
      expect(await due(T0 + 179_999)).toBeUndefined();
      expect((await due(T0 + 180_000))?.id).toBe(id);
    } finally {
      await close();
    }
  });

  // What a process leaves behind that lives and is ahead, or that has died and was.
  it('whose time lies too far ahead is made by others once it has stayed the same for 90 s', async () => {
    await world.database.query(
      `insert into connector.creations (id, account_id, idempotency_key, first_attempt_at, unsettled,
         next_attempt_at, created_at) values ('ahead', 'default', 'key-of-the-early', $1, 1, $2, $1)`,
      [world.clock.now(), world.clock.now() + 3_600_000],
    );
    for (let looks = 0; looks < 18; looks += 1) {
      await world.clock.advance(5_000);
      await running.connector.settle();
      expect(phones.keys).toEqual([]);
    }
    await world.clock.advance(5_000);
    await running.connector.settle();
    expect(phones.keys).toEqual(['key-of-the-early']);
  });
});
