import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Change, ChangeList } from '../../../src/contract/connector/changes.ts';
import { ANY_REDIS_MISSING, openTestRedis } from '../../support/redis.ts';
import { ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';

const CONNECTIONS = Array.from({ length: 12 }, (_, index) => `connection-${index}`);
const NAMES = ['handler', 'crm', 'jobs'] as const;
const QUEUE = { queue: 'crm', prefix: `test-${randomUUID()}` };

type Name = (typeof NAMES)[number];

let world: ConnectorWorld;
let one: RunningConnector;
let two: RunningConnector;
let redis: Awaited<ReturnType<typeof openTestRedis>>;
let connection: Redis;
let jobs: Queue<{ change: Change }>;
let server: Server;
/** What each consumer has accepted, in order. */
let accepted: Record<Name, Change[]> = { handler: [], crm: [], jobs: [] };
/** The processes whose handler was called. */
let called = new Set<number>();
/** The secret that the CRM has, and with how many signatures requests came. */
let secret: string;
let signatures: number[];
/** What the endpoint answers to a change; 204 accepts it. */
let consider: (change: Change, response: ServerResponse) => number | Promise<number>;
/** The newest change when the test began. */
let begun: number;

/** The endpoint of the CRM: refuses what is not signed with its secret. */
async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const header = (name: string): string => String(request.headers[`webhook-${name}`]);
  const body = await text(request);
  const signed = header('signature').split(' ');
  const at = new Date(Number(header('timestamp')) * 1_000);
  const isSigned = signed.includes(new Webhook(secret).sign(header('id'), at, body));
  const { change } = JSON.parse(body) as { change: Change };
  if (isSigned) signatures.push(signed.length);
  const status = isSigned ? await consider(change, response) : 401;
  if (status === 204) accepted.crm.push(change);
  response.writeHead(status).end();
}

/** Asks the first connector. */
async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await one.ask(method, path, body === undefined ? {} : { body });
  expect(answer.status, `${method} ${path}`).toBeLessThan(300);
  return answer.body;
}

/** Creates the consumer of kind `http`, and tells the CRM its secret. */
async function createCrm(): Promise<void> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const created = await ask('POST', '/v1/consumers', { name: 'crm', kind: 'http', url, attempts: 2 });
  secret = String(created['secret']);
}

/** Delivers messages of each connection, to both connectors in turn. */
async function deliver(each: number): Promise<void> {
  const rest = { wa_id: null, from: '447700900201', text: 'Hello', media_url: null, media_type: null };
  for (let index = 0; index < each; index += 1) {
    const answers = CONNECTIONS.map((connection_id, at) => {
      const message = { id: randomUUID(), timestamp: 1, ...rest };
      const event = { event: 'message.received', connection_id, message };
      return ((at + index) % 2 === 0 ? one : two).deliver(event, world.secret);
    });
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  }
}

/** Both have done what there is to do, and a consumer that was added or changed has its share in both. */
async function settle(): Promise<void> {
  for (let round = 0; round < 3; round += 1) for (const { connector } of [one, two]) await connector.settle();
  const waiting = await jobs.getJobs(['waiting'], 0, -1, true);
  accepted.jobs.push(...waiting.map(({ data }) => data.change));
  // As workers do that remove finished jobs.
  await jobs.drain();
}

const tell = (each: number): Promise<void> => deliver(each).then(settle);

/** Numbers of the changes of each connection, each where it came first. */
function byConnection(changes: readonly Change[]): Record<string, readonly number[]> {
  const grouped = Map.groupBy(changes, ({ connectionId }) => connectionId);
  return Object.fromEntries([...grouped].map(([id, of]) => [id, [...new Set(of.map(({ seq }) => seq))]]));
}

/** What a consumer is to receive: the changes since the test began. */
async function due(): Promise<Record<string, readonly number[]>> {
  const { changes } = (await ask('GET', `/v1/changes?after=${begun}&limit=1000`)) as unknown as ChangeList;
  return byConnection(changes);
}

/** How many rows say anything about a consumer. */
async function rowsOf(name: string): Promise<number> {
  const tables = ['consumer_places', 'parked', 'parked_entries', 'dead_letters'];
  const counts = tables.map((table) => `(select count(*) from connector.${table} where consumer = $1)`);
  const [row] = await world.database.query<{ rows: number }>(
    `select (${counts.join(' + ')} + (select count(*) from connector.consumers where name = $1)
             + (select count(*) from connector.leases where name like 'consumer%:' || $1 || '/%'))::integer as rows`,
    [name],
  );
  return row?.rows ?? 0;
}

const skipped = ANY_REDIS_MISSING === undefined ? '' : ` (skipped: ${ANY_REDIS_MISSING})`;

describe.skipIf(skipped !== '')(`consumers of every kind, called by two connectors${skipped}`, () => {
  beforeAll(async () => {
    server = createServer(receive).listen(0, '127.0.0.1');
    await once(server, 'listening');
    redis = await openTestRedis();
    connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    jobs = new Queue(QUEUE.queue, { connection, prefix: QUEUE.prefix });
    world = await ConnectorWorld.open();
    for (const id of CONNECTIONS) world.service.addConnection(id);
    const start = (index: number): Promise<RunningConnector> => {
      const onChange = (change: Change): void => {
        called.add(index);
        accepted.handler.push(change);
      };
      return world.start({ handlers: { onChange }, redisUrl: redis.url });
    };
    [one, two] = [await start(1), await start(2)];
    await ask('POST', '/v1/sync');
  });
  afterAll(async () => {
    await world.close();
    await jobs.obliterate({ force: true });
    await jobs.close();
    connection.disconnect();
    await redis.stop();
    server.close();
  });
  beforeEach(async () => {
    consider = () => 204;
    await createCrm();
    await ask('POST', '/v1/consumers', { name: 'jobs', kind: 'bullmq', ...QUEUE, redisUrl: redis.url });
    await settle();
    [accepted, called, signatures] = [{ handler: [], crm: [], jobs: [] }, new Set(), []];
    begun = Number((await ask('GET', '/v1/changes?after=latest'))['lastSeq']);
  });
  afterEach(async () => {
    for (const name of ['crm', 'jobs']) await one.ask('DELETE', `/v1/consumers/${name}`);
    await settle();
  });

  it('receive each change, in order per connection, from both of them', async () => {
    await tell(5);
    expect(Object.keys(await due())).toHaveLength(12);
    for (const name of NAMES) expect(byConnection(accepted[name]), name).toEqual(await due());
    expect(called).toEqual(new Set([1, 2]));
    const shares = await world.database.query(
      `select count(*)::integer as held from connector.leases where name like 'consumer:%'
        group by owner, split_part(name, '/', 1)`,
    );
    expect(shares).toEqual(Array.from({ length: 6 }, () => ({ held: 8 })));
  });

  it('sign for both secrets after a rotation, unless the old one is compromised', async () => {
    await tell(1);
    const rotated = await ask('POST', '/v1/consumers/crm/rotate-secret');
    await settle();
    await tell(1);
    secret = String(rotated['secret']);
    await tell(1);
    secret = String((await ask('POST', '/v1/consumers/crm/rotate-secret', { compromised: true }))['secret']);
    await settle();
    await tell(1);
    expect(byConnection(accepted.crm)).toEqual(await due());
    expect(signatures).toEqual([1, 2, 2, 1].flatMap((count) => CONNECTIONS.map(() => count)));
  });

  it('are called by neither once their endpoint answers 410, until they are resumed', async () => {
    consider = () => 410;
    await tell(1);
    const asked = signatures.length;
    // A pause is none of a consumer that does not run.
    expect(await ask('POST', '/v1/consumers/crm/pause')).toMatchObject({
      ...{ state: 'disabled', parked: { count: 0 }, deadLetters: 0 },
      disabledReason: expect.stringContaining('the consumer answered 410'),
    });
    await tell(1);
    expect(signatures).toHaveLength(asked);
    consider = () => 204;
    const resumed = { state: 'running', disabledReason: null };
    expect(await ask('POST', '/v1/consumers/crm/resume')).toMatchObject(resumed);
    await settle();
    for (const name of NAMES) expect(byConnection(accepted[name]), name).toEqual(await due());
  });

  it('receive nothing more and leave no row if they are deleted while calls fail, wait and are in progress', async () => {
    const [calling, released] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()];
    const [failing, held] = CONNECTIONS;
    let isHolding = false;
    consider = async ({ connectionId }, response) => {
      if (connectionId === failing) return 500;
      if (connectionId === held && isHolding) {
        calling.resolve(response);
        await released.promise;
      }
      return 204;
    };
    await tell(3);
    await world.clock.advance(1_000);
    await settle();
    expect(await ask('GET', '/v1/consumers/crm')).toMatchObject({ deadLetters: 1, parked: { count: 1 } });
    isHolding = true;
    await deliver(3);
    const settled = settle();
    const response = await calling.promise;
    const ofHeld = () => accepted.crm.filter(({ connectionId }) => connectionId === held).length;
    const before = ofHeld();
    await ask('DELETE', '/v1/consumers/crm');
    // The next heartbeat finds that the leases are gone, and the call is aborted.
    await world.clock.advance(1_000);
    await expect.poll(() => response.closed).toBe(true);
    released.resolve();
    await settled;
    await settle();
    // What waited behind the call has not begun.
    expect(ofHeld()).toBe(before + 1);
    expect(await rowsOf('crm')).toBe(0);
    await ask('POST', '/v1/consumers/jobs/pause');
    await settle();
    const [crm, jobs] = [accepted.crm.length, accepted.jobs.length];
    await tell(1);
    await ask('DELETE', '/v1/consumers/jobs');
    await tell(1);
    expect([accepted.crm.length, accepted.jobs.length]).toEqual([crm, jobs]);
    expect(await rowsOf('jobs')).toBe(0);
    expect(byConnection(accepted.handler)).toEqual(await due());
  });
});
