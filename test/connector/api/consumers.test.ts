import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Change, ChangeList } from '../../../src/contract/connector/changes.ts';
import {
  type Consumer,
  type CreatedConsumer,
  consumer as consumerShape,
  createdConsumer,
  rotatedConsumerSecret,
} from '../../../src/contract/connector/consumers.ts';
import { connectorErrorBody } from '../../../src/contract/connector/errors.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { findFreePort } from '../../support/find-free-port.ts';
import { logTo } from '../../support/log-to.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';
import { type Answer, ConnectorWorld, connectorOfFile } from '../support/running-connector.ts';

const MINUTE_MS = 60_000;
const NOT_PUBLIC = 'url: its host must have a public address, and only public ones.';
const ADDRESS = 'https://93.184.215.14/changes';

/** What the handler was called with, and what it fails with. */
const taken: number[] = [];
let failing: string | null = null;
/** The log of the connector. */
let log = '';

const { world, running } = connectorOfFile(({ service }) => {
  for (const id of ['c1', 'c2']) service.addConnection(id);
  return {
    logger: logTo('debug', (line) => {
      log += line;
    }),
    handlers: {
      onChange(change: Change) {
        if (failing !== null) throw new RangeError(failing);
        taken.push(change.seq);
      },
    },
  };
});
beforeAll(() => running.ask('POST', '/v1/sync'));
beforeEach(() => {
  taken.length = 0;
});
afterEach(async () => {
  const { body } = await running.ask('GET', '/v1/consumers?limit=1000');
  for (const { name, kind } of (body as { consumers: Consumer[] }).consumers.map((each) => each))
    if (kind !== 'handler') await running.ask('DELETE', `/v1/consumers/${name}`);
});

const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
  running.ask(method, path, body === undefined ? {} : { body });

async function create(body: object): Promise<CreatedConsumer> {
  const answer = await ask('POST', '/v1/consumers', body);
  expect(answer).toMatchObject({ status: 201 });
  return createdConsumer.parse(answer.body);
}

async function show(name: string): Promise<Consumer> {
  return consumerShape.parse((await ask('GET', `/v1/consumers/${name}`)).body);
}

async function refusal(method: string, path: string, body?: unknown) {
  const answer = await ask(method, path, body);
  return { status: answer.status, ...connectorErrorBody.parse(answer.body) };
}

/** Adds messages, each of which is a change, and returns their numbers. */
async function addMessages(count: number, connectionId = 'c1'): Promise<number[]> {
  const before = await lastSeq();
  for (let index = 0; index < count; index += 1) {
    await world.clock.advance(1_000);
    world.service.addMessage(connectionId, world.clock.now());
  }
  await ask('POST', '/v1/sync');
  const { body } = await ask('GET', `/v1/changes?after=${before}&limit=1000`);
  return (body as unknown as ChangeList).changes.map(({ seq }) => seq);
}

async function lastSeq(): Promise<number> {
  return Number((await ask('GET', '/v1/changes?after=latest')).body['lastSeq']);
}

async function placesOf(name: string): Promise<readonly number[]> {
  const rows = await world.database.query<{ place: number }>(
    'select place from connector.consumer_places where consumer = $1 order by partition',
    [name],
  );
  return [...new Set(rows.map(({ place }) => place))];
}

describe('a consumer of kind http', () => {
  it('is created with defaults, after the newest change, and its secret is shown once', async () => {
    const { consumer, secret } = await create({ name: 'crm', kind: 'http', url: ADDRESS });
    expect(consumer).toEqual({
      ...{ name: 'crm', kind: 'http', url: ADDRESS, ordered: true, previousSecretUntil: null },
      ...{ state: 'running', disabledReason: null, unavailable: null, filter: {}, batch: 1, concurrency: 50 },
      ...{ attempts: 12, deadlineMs: 30_000, historic: 'quiet', placeChanges: 500, placeMs: 500 },
      ...{ lag: { changes: 0, seconds: 0 }, parked: { count: 0, first: [] }, deadLetters: 0 },
      createdAt: new Date(world.clock.now()).toISOString(),
    });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await placesOf('crm')).toEqual([await lastSeq()]);
    expect(await show('crm')).toEqual(consumer);
  });

  it('is created once: the second one with its name is refused and changes nothing', async () => {
    await create({ name: 'crm', kind: 'http', url: ADDRESS, batch: 10 });
    expect(await refusal('POST', '/v1/consumers', { name: 'crm', kind: 'http', url: ADDRESS })).toEqual({
      status: 409,
      error: 'consumer_exists',
      message: 'name: there is already a consumer `crm`.',
    });
    expect(await show('crm')).toMatchObject({ batch: 10 });
  });

  it.each([
    [{ url: 'http://93.184.215.14/x' }, 'url: must start with https://.'],
    [{ url: 'https://10.1.2.3/x' }, NOT_PUBLIC],
    [{ url: 'https://[::ffff:10.1.2.3]/x' }, NOT_PUBLIC],
    [{ url: 'https://169.254.169.254/x' }, NOT_PUBLIC],
    [{ url: 'https://nowhere.invalid/x' }, NOT_PUBLIC],
    [{ url: 'https://user:word@93.184.215.14/x' }, 'url: must not contain credentials or a fragment.'],
    [{ url: 'ftp://93.184.215.14/x' }, 'url: must be a URL.'],
    [{ url: undefined }, 'url: is missing.'],
    [
      { name: 'Crm' },
      'name: must start with a letter and contain at most 31 lower-case letters, digits and hyphens.',
    ],
    [{ kind: 'kafka' }, 'kind: must be one of `http`, `bullmq`.'],
    [{ batch: 101 }, 'batch: must be at most 100.'],
    [{ attempts: 0 }, 'attempts: must be at least 1.'],
    [{ filter: { types: ['message.gone'] } }, /^filter\.types\.0: must be one of `message\.created`, /],
    [{ filter: { type: ['message.created'] } }, 'type: is not a known field of this body.'],
    [{ queue: 'q' }, 'queue: is not a known field of this body.'],
    [
      { from: 'yesterday' },
      'from: must be `now`, `beginning`, the `seq` of a change, or an ISO 8601 time with an offset.',
    ],
    [{ from: 4_000_000_000 }, /^from: is beyond the newest change, whose number is \d+\.$/],
  ])('is refused with the field that is wrong: %j', async (fields, message) => {
    const body = { name: 'crm', kind: 'http', url: ADDRESS, ...fields };
    expect(await refusal('POST', '/v1/consumers', body)).toEqual({
      status: 400,
      error: 'invalid_request',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
    expect((await ask('GET', '/v1/consumers/crm')).status).toBe(404);
  });

  it('is refused if it is to begin with changes that were deleted', async () => {
    await world.database.query('update connector.feed set deleted_seq = 3');
    onTestFinished(
      async () => void (await world.database.query('update connector.feed set deleted_seq = 0')),
    );
    const body = { name: 'crm', kind: 'http', url: ADDRESS, from: 3 };
    expect(await refusal('POST', '/v1/consumers', body)).toEqual({
      status: 400,
      error: 'invalid_request',
      message: 'from: is below the oldest change that is kept, whose number is 4.',
    });
  });

  it('keeps signing with the old secret for a day after a rotation, but not if it is compromised', async () => {
    const { secret } = await create({ name: 'crm', kind: 'http', url: ADDRESS });
    const first = rotatedConsumerSecret.parse((await ask('POST', '/v1/consumers/crm/rotate-secret')).body);
    const until = new Date(world.clock.now() + 24 * 60 * MINUTE_MS).toISOString();
    expect(first).toEqual({ secret: expect.stringMatching(/^whsec_/), previousSecretUntil: until });
    expect(first.secret).not.toBe(secret);
    expect(await show('crm')).toMatchObject({ previousSecretUntil: until });
    await world.clock.skip(24 * 60 * MINUTE_MS);
    expect(await show('crm')).toMatchObject({ previousSecretUntil: null });
    const second = rotatedConsumerSecret.parse(
      (await ask('POST', '/v1/consumers/crm/rotate-secret', { compromised: true })).body,
    );
    expect(second.previousSecretUntil).toBeNull();
    expect(await show('crm')).toMatchObject({ previousSecretUntil: null });
  });

  it('has no secret in any other answer, in the log, or readable in the database', async () => {
    const { secret } = await create({ name: 'crm', kind: 'http', url: ADDRESS });
    const rotated = rotatedConsumerSecret.parse((await ask('POST', '/v1/consumers/crm/rotate-secret')).body);
    const answers = [
      await ask('GET', '/v1/consumers'),
      await ask('GET', '/v1/consumers/crm'),
      await ask('PATCH', '/v1/consumers/crm', { batch: 2 }),
      await ask('POST', '/v1/consumers/crm/pause'),
      await ask('POST', '/v1/consumers/crm/replay', { from: 'now' }),
    ];
    const rows = await world.database.query('select * from connector.consumers');
    for (const value of [secret?.slice(6) ?? '', rotated.secret.slice(6)]) {
      expect(JSON.stringify(answers)).not.toContain(value);
      expect(JSON.stringify(rows)).not.toContain(value);
      expect(log).not.toContain(value);
    }
  });
});

describe('the consumer of the handler', () => {
  it('exists because a process has handlers, whose module sets what is not shown', async () => {
    const { body } = await ask('GET', '/v1/consumers/handler');
    expect(body).toMatchObject({ name: 'handler', kind: 'handler', state: 'running', batch: 1 });
    for (const field of ['attempts', 'deadlineMs']) expect(body).not.toHaveProperty(field);
  });

  it('cannot be created, deleted or given a secret', async () => {
    const body = { name: 'handler', kind: 'http', url: ADDRESS };
    expect(await refusal('POST', '/v1/consumers', body)).toMatchObject({
      status: 409,
      error: 'consumer_is_handler',
      message: expect.stringContaining('name: `handler` is the consumer of handlers'),
    });
    expect(await refusal('DELETE', '/v1/consumers/handler')).toMatchObject({
      status: 409,
      error: 'consumer_is_handler',
      message: expect.stringContaining('Start all of them without CONNECTOR_HANDLERS first'),
    });
    expect(await refusal('POST', '/v1/consumers/handler/rotate-secret')).toEqual({
      status: 409,
      error: 'no_secret',
      message: 'A consumer of kind handler has no secret to rotate.',
    });
    expect(await refusal('PATCH', '/v1/consumers/handler', { url: ADDRESS })).toEqual({
      status: 400,
      error: 'invalid_request',
      message: 'url: a consumer of kind handler does not have this field.',
    });
    for (const field of ['attempts', 'deadlineMs'])
      expect(await refusal('PATCH', '/v1/consumers/handler', { [field]: 100 })).toMatchObject({
        status: 400,
        message: `${field}: is set by the module of the handlers; change it there.`,
      });
  });

  it('can be deleted once no living process has handlers, also if it is paused', async () => {
    const own = await ConnectorWorld.open();
    onTestFinished(() => own.close());
    const handling = await own.start({ handlers: { onChange: () => undefined } });
    const serving = await own.start();
    await serving.ask('POST', '/v1/consumers/handler/pause');
    await handling.connector.settle();
    const refused = await serving.ask('DELETE', '/v1/consumers/handler');
    expect([refused.status, refused.body['error']]).toEqual([409, 'consumer_is_handler']);
    await handling.stop();
    expect(await serving.ask('DELETE', '/v1/consumers/handler')).toMatchObject({ status: 200 });
    expect((await serving.ask('GET', '/v1/consumers/handler')).status).toBe(404);
    // No change is kept for it.
    expect(await own.database.query('select from connector.consumer_places')).toEqual([]);
    expect((await serving.ask('DELETE', '/v1/consumers/handler')).status).toBe(404);
  });

  it('a pause or resume that changes nothing does not disturb the processes', async () => {
    await ask('POST', '/v1/consumers/handler/resume');
    const version = 'select version from connector.consumers where name = $1';
    const before = await world.database.query(version, ['handler']);
    await ask('POST', '/v1/consumers/handler/resume');
    expect(await world.database.query(version, ['handler'])).toEqual(before);
  });

  it('receives all changes of the feed again from the beginning', async () => {
    await addMessages(1);
    await running.connector.settle();
    taken.length = 0;
    await ask('POST', '/v1/consumers/handler/replay', { from: 'beginning' });
    await running.connector.settle();
    const { body } = await ask('GET', '/v1/changes?after=0&limit=1000');
    const all = (body as unknown as ChangeList).changes.map(({ seq }) => seq);
    expect([...taken].sort((a, b) => a - b)).toEqual(all);
  });

  it('receives changes again since a time, with a minute to spare for differing clocks', async () => {
    await addMessages(1);
    await world.clock.advance(10 * MINUTE_MS);
    const within = await addMessages(1);
    await world.clock.advance(40_000);
    const from = new Date(world.clock.now()).toISOString();
    const after = await addMessages(1);
    await running.connector.settle();
    taken.length = 0;
    await ask('POST', '/v1/consumers/handler/replay', { from });
    await running.connector.settle();
    expect(taken).toEqual([...within, ...after]);
  });

  it('is called with one change at a time if it has no onChanges, whatever its batch is', async () => {
    await ask('PATCH', '/v1/consumers/handler', { batch: 20 });
    onTestFinished(async () => void (await ask('PATCH', '/v1/consumers/handler', { batch: 1 })));
    await ask('POST', '/v1/consumers/handler/pause');
    await running.connector.settle();
    const seqs = await addMessages(3);
    await ask('POST', '/v1/consumers/handler/resume');
    await running.connector.settle();
    expect(taken).toEqual(seqs);
  });

  it('skips what waits if it is replayed from now', async () => {
    await ask('POST', '/v1/consumers/handler/pause');
    await running.connector.settle();
    await addMessages(2);
    await world.clock.skip(30_000);
    expect(await show('handler')).toMatchObject({ lag: { changes: 2, seconds: 30 } });
    const { body } = await ask('POST', '/v1/consumers/handler/replay', { from: 'now' });
    expect(body).toMatchObject({ state: 'paused', lag: { changes: 0, seconds: 0 } });
    await ask('POST', '/v1/consumers/handler/resume');
    const seqs = await addMessages(1);
    await running.connector.settle();
    expect(taken).toEqual(seqs);
  });

  it('shows parked connections, which a replay from a later position keeps and one from now drops', async () => {
    failing = 'no room';
    onTestFinished(() => {
      failing = null;
    });
    const seqs = await addMessages(3);
    const [first] = seqs;
    await running.connector.settle();
    const waits = { nextAttemptAt: expect.any(String), since: expect.any(String) };
    const lastError = expect.stringContaining('RangeError: no room');
    const parked = { connectionId: 'c1', seq: first, attempts: 1, lastError, ...waits };
    expect((await show('handler')).parked).toEqual({ count: 1, first: [parked] });
    await ask('POST', '/v1/consumers/handler/pause');
    await running.connector.settle();
    await ask('POST', '/v1/consumers/handler/replay', { from: seqs.at(-1) });
    expect(await show('handler')).toMatchObject({ parked: { count: 1, first: [{ seq: first }] } });
    const { body } = await ask('POST', '/v1/consumers/handler/replay', { from: 'now' });
    expect(body).toMatchObject({ parked: { count: 0, first: [] }, lag: { changes: 0 } });
    failing = null;
    await ask('POST', '/v1/consumers/handler/resume');
    await running.connector.settle();
    expect(taken).toEqual([]);
  });

  it('shows the five parked connections that are closest to a dead letter', async () => {
    await create({ name: 'crm', kind: 'http', url: ADDRESS });
    await world.database.query(
      `insert into connector.parked (consumer, key, partition, connection_id, seq, due_at, attempts, since)
       select 'crm', 'p' || n, 0, 'p' || n, n, 0, n, 0 from generate_series(1, 7) n`,
    );
    const { count, first } = (await show('crm')).parked;
    expect(count).toBe(7);
    expect(first.map(({ attempts }) => attempts)).toEqual([7, 6, 5, 4, 3]);
  });

  it('settings are changed one by one', async () => {
    const before = await show('handler');
    const { body } = await ask('PATCH', '/v1/consumers/handler', {
      concurrency: 3,
      filter: { types: ['message.created'], directions: ['incoming'], connectionIds: ['c2'] },
    });
    onTestFinished(async () => {
      await ask('PATCH', '/v1/consumers/handler', { concurrency: 50, filter: {} });
    });
    expect(body).toEqual({
      ...before,
      concurrency: 3,
      filter: { types: ['message.created'], directions: ['incoming'], connectionIds: ['c2'] },
    });
    await running.connector.settle();
    await addMessages(2, 'c1');
    const seqs = await addMessages(1, 'c2');
    await running.connector.settle();
    expect(taken).toEqual(seqs);
  });
});

describe('consumers', () => {
  it('begin where their creation says', async () => {
    const [first = 0] = await addMessages(2);
    await create({ name: 'a', kind: 'http', url: ADDRESS, from: 'beginning' });
    await create({ name: 'b', kind: 'http', url: ADDRESS, from: first });
    await create({ name: 'c', kind: 'http', url: ADDRESS, from: '2099-01-01T00:00:00Z' });
    expect(await placesOf('a')).toEqual([0]);
    expect(await placesOf('b')).toEqual([first - 1]);
    expect(await placesOf('c')).toEqual([await lastSeq()]);
    expect((await show('b')).lag.changes).toBe(2);
  });

  it('are listed by name, page by page', async () => {
    for (const name of ['b', 'a', 'c']) await create({ name, kind: 'http', url: ADDRESS });
    const names: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await ask('GET', `/v1/consumers?limit=2${query}`);
      const page = body as unknown as { consumers: Consumer[]; nextCursor: string | null };
      names.push(...page.consumers.map(({ name }) => name));
      cursor = page.nextCursor;
    }
    expect(names).toEqual(['a', 'b', 'c', 'handler']);
    expect(await refusal('GET', '/v1/consumers?cursor=x')).toMatchObject({ status: 400 });
  });

  it('are not found once they are deleted', async () => {
    await create({ name: 'crm', kind: 'http', url: ADDRESS });
    expect(await ask('DELETE', '/v1/consumers/crm')).toMatchObject({ status: 200, body: { ok: true } });
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { batch: 2 }],
      ['DELETE', '', undefined],
      ['POST', '/pause', undefined],
      ['POST', '/resume', undefined],
      ['POST', '/replay', { from: 'now' }],
      ['POST', '/rotate-secret', undefined],
    ] as const)
      expect(await refusal(method, `/v1/consumers/crm${path}`, body)).toEqual({
        status: 404,
        error: 'not_found',
        message: 'No consumer with this id.',
      });
  });

  it('a process that still has a lease writes no place after a replay', async () => {
    await create({ name: 'crm', kind: 'http', url: ADDRESS, from: 'beginning' });
    await world.database.query(
      `insert into connector.leases (name, owner) values ('consumer:crm/3', 'another process')`,
    );
    await ask('POST', '/v1/consumers/crm/replay', { from: 'now' });
    expect(
      await world.database.query(`select from connector.leases where name like 'consumer:crm/%'`),
    ).toEqual([]);
  });
});

describe('a consumer of kind bullmq', () => {
  it('needs a Redis', async () => {
    expect(
      await refusal('POST', '/v1/consumers', { name: 'jobs', kind: 'bullmq', queue: 'changes' }),
    ).toEqual({
      status: 400,
      error: 'invalid_request',
      message: 'redisUrl: is missing, and REDIS_URL of the connector is not set; pass an address.',
    });
  });

  it.each([
    [{ redisUrl: 'http://127.0.0.1:6379' }, 'redisUrl: must start with redis:// or rediss://.'],
    [
      { redisUrl: 'redis://:100%@127.0.0.1' },
      'redisUrl: must be an address such as redis://user:password@host:6379.',
    ],
    [{ queue: 'a:b' }, 'queue: must not contain a colon.'],
    [{ url: ADDRESS }, 'url: is not a known field of this body.'],
  ])('is refused with the field that is wrong: %j', async (fields, message) => {
    const body = {
      name: 'jobs',
      kind: 'bullmq',
      queue: 'changes',
      redisUrl: 'redis://127.0.0.1:6379',
      ...fields,
    };
    expect(await refusal('POST', '/v1/consumers', body)).toMatchObject({ status: 400, message });
  });

  it('is refused while its Redis does not answer, in words without its password', async () => {
    const port = await findFreePort();
    const redisUrl = `redis://user:pass-4711@127.0.0.1:${port}`;
    const body = { name: 'jobs', kind: 'bullmq', queue: 'changes', redisUrl };
    expect(await refusal('POST', '/v1/consumers', body)).toEqual({
      status: 502,
      error: 'redis_unreachable',
      message: `redisUrl: Redis at 127.0.0.1:${port} does not answer; see the log.`,
    });
    expect(log).toContain('the Redis of a consumer does not answer');
    expect(log).not.toContain('pass-4711');
  });

  it.skipIf(REDIS_MISSING !== undefined)(
    'is created, changed and shown without the address of its Redis',
    async () => {
      const redis = await startTestRedis(['--requirepass', 'pass-4711']);
      onTestFinished(() => redis.stop());
      const redisUrl = `redis://:pass-4711@127.0.0.1:${redis.port}`;
      const body = { name: 'jobs', kind: 'bullmq', queue: 'changes', redisUrl };
      const created = await create(body);
      expect(created).toMatchObject({
        secret: null,
        consumer: { kind: 'bullmq', queue: 'changes', prefix: 'bull', ownRedis: true },
      });
      const changed = await ask('PATCH', '/v1/consumers/jobs', { queue: 'others', attempts: 3 });
      expect(changed.body).toEqual({ ...created.consumer, queue: 'others', attempts: 3 });
      expect(JSON.stringify([created, changed])).not.toContain('pass-4711');
      const [row] = await world.database.query<{ sealed: string }>(
        `select sealed_redis_url as sealed from connector.consumers where name = 'jobs'`,
      );
      const keys = createKeyRing([world.sealingKey]);
      expect(await keys.open(row?.sealed ?? '', 'consumer:jobs:redis-url')).toBe(redisUrl);
      expect(await refusal('PATCH', '/v1/consumers/jobs', { redisUrl: null })).toMatchObject({
        message: expect.stringContaining('REDIS_URL of the connector is not set'),
      });
      expect(await refusal('POST', '/v1/consumers/jobs/rotate-secret')).toMatchObject({ error: 'no_secret' });
    },
  );

  it.skipIf(REDIS_MISSING !== undefined)('is refused with a Redis that is a replica', async () => {
    const redis = await startTestRedis(['--replicaof', '127.0.0.1', '1']);
    onTestFinished(() => redis.stop());
    const body = { name: 'jobs', kind: 'bullmq', queue: 'changes', redisUrl: redis.url };
    expect(await refusal('POST', '/v1/consumers', body)).toMatchObject({
      status: 400,
      message: 'redisUrl: its Redis is a replica, which takes no jobs; let the address lead to the primary.',
    });
  });

  it.skipIf(REDIS_MISSING !== undefined)('is refused with a Redis that may evict its jobs', async () => {
    const redis = await startTestRedis(['--maxmemory-policy', 'allkeys-lru']);
    onTestFinished(() => redis.stop());
    const body = { name: 'jobs', kind: 'bullmq', queue: 'changes', redisUrl: redis.url };
    expect(await refusal('POST', '/v1/consumers', body)).toMatchObject({
      status: 400,
      message: 'redisUrl: its maxmemory-policy is allkeys-lru, so it may evict jobs; set it to noeviction.',
    });
  });
});
