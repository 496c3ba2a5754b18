import { beforeEach, describe, expect, it } from 'vitest';
import { type Change, changeList } from '../../../src/contract/connector/changes.ts';
import { connectorConnection } from '../../../src/contract/connector/connections.ts';
import { type ConnectorWorld, connectorOfFile } from '../support/running-connector.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const { world, running } = connectorOfFile();
let connection: ReturnType<ConnectorWorld['service']['addConnection']>;
let seen = 0;
/** One new connection, whose license ends in 30 days. */
beforeEach(async () => {
  world.service.connections = [];
  world.service.fault = () => undefined;
  // What the test before has begun is over.
  await told();
  await world.database.query('DELETE FROM connector.connections');
  connection = world.service.addConnection('c1', { licenseExpires: iso(world.clock.now() + 30 * DAY) });
  await poll();
  await poll();
  expect(await told()).toEqual([['c1', null]]);
});

const iso = (ms: number): string => new Date(ms).toISOString();
const poll = () => running.ask('POST', '/v1/sync');

/** What the feed told of connections since the last look: which, and what changed. */
async function told(): Promise<[string, readonly string[] | null][]> {
  await running.connector.settle();
  const list = changeList.parse((await running.ask('GET', `/v1/changes?limit=1000&after=${seen}`)).body);
  seen = list.changes.at(-1)?.seq ?? seen;
  return list.changes
    .filter(
      (change): change is Change & { type: 'connection.updated' } => change.type === 'connection.updated',
    )
    .map((change) => [change.connectionId, change.data.changed]);
}

const read = async (id: string) =>
  connectorConnection.parse((await running.ask('GET', `/v1/connections/${id}`)).body);

/** Values of a metric by their labels, without those that are 0. */
async function gauge(name: string): Promise<Record<string, number>> {
  // Metrics are rendered at most once a second.
  await world.clock.advance(1_000);
  const { body } = await running.ask('GET', '/metrics');
  const lines = String(body['text']).matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'));
  return Object.fromEntries(
    [...lines].filter(([, , value]) => value !== '0').map(([, labels, value]) => [labels, Number(value)]),
  );
}

describe('a connection', () => {
  it('is reported once when it is new, and each real change once, with what changed', async () => {
    // Needs pairing again.
    connection.status = 'disconnected';
    await poll();
    await poll();
    expect(await told()).toEqual([['c1', ['status', 'needsReconnect']]]);
    expect(await gauge('connector_connections')).toEqual({ 'account="default",health="needs_reconnect"': 1 });

    connection.status = 'open';
    await poll();
    expect(await told()).toEqual([['c1', ['status', 'needsReconnect']]]);

    // The license is near its end, as the service words it.
    connection.licenseStatus = 'expiring';
    await poll();
    await poll();
    expect(await told()).toEqual([['c1', ['licenseStatus']]]);
  });

  it('whose license lapses disappears from the list, and is reported then and when it returns', async () => {
    connection.licenseValid = false;
    await poll();
    await poll();
    expect(await told()).toEqual([['c1', ['licenseValid', 'visible']]]);
    expect(await gauge('connector_connections')).toEqual({ 'account="default",health="hidden"': 1 });
    connection.licenseValid = true;
    await poll();
    await poll();
    expect(await told()).toEqual([['c1', ['licenseValid', 'visible']]]);
  });

  it('whose recovery was reported by an event before the poll is reported once: `connected` and `open` are one status', async () => {
    const at = world.clock.now();
    const event = (name: string, status: string, needs_reconnect: boolean, timestamp: number) => ({
      event: `connection.${name}`,
      connection_id: 'c1',
      connection: { id: 'c1', status, needs_reconnect, reason: needs_reconnect ? 'AUTH_LOST' : null },
      timestamp,
    });
    await running.deliver(event('disconnected', 'disconnected', true, at), world.secret);
    expect(await told()).toEqual([['c1', ['status', 'needsReconnect', 'reason']]]);
    await running.deliver(event('connected', 'connected', false, at + 1), world.secret);
    expect(await told()).toEqual([['c1', ['status', 'needsReconnect', 'reason']]]);
    await poll();
    expect(await told()).toEqual([]);
    expect((await read('c1')).status).toBe('open');
  });

  it('does not change if an event reports its known state', async () => {
    const again = {
      event: 'connection.connected',
      connection_id: 'c1',
      connection: { id: 'c1', status: 'connected', needs_reconnect: false },
      timestamp: world.clock.now() + 5,
    };
    await running.deliver(again, world.secret);
    expect(await told()).toEqual([]);
    const [row] = await world.database.query(`SELECT outcome FROM connector.inbox ORDER BY id DESC LIMIT 1`);
    expect(row).toEqual({ outcome: 'unchanged' });
  });
});

describe('the end of a license', () => {
  it('is in every change, and counted from three days before it, until it is renewed', async () => {
    const { body } = await running.ask('GET', '/v1/changes?limit=1000');
    const last = changeList.parse(body).changes.findLast(({ type }) => type === 'connection.updated');
    expect(last?.data).toMatchObject({ licenseExpires: connection.licenseExpires });
    world.clock.jump(27 * DAY - MINUTE);
    await poll();
    expect(await gauge('connector_licenses_ending')).toEqual({});
    world.clock.jump(2 * MINUTE);
    await poll();
    expect(await gauge('connector_licenses_ending')).toEqual({ 'account="default",notice="ends_soon"': 1 });
    expect(await told()).toEqual([]);
    expect(await read('c1')).toMatchObject({ licenseValid: true, health: 'working' });
    connection.licenseExpires = iso(world.clock.now() + 4 * DAY);
    await poll();
    expect(await told()).toEqual([['c1', ['licenseExpires']]]);
    expect(await gauge('connector_licenses_ending')).toEqual({});
  });

  it('that passes while the service is unavailable is counted as a date, never as a lapsed license', async () => {
    world.service.fault = () => ({ status: 503, body: {} });
    world.clock.jump(31 * DAY);
    expect(await gauge('connector_licenses_ending')).toEqual({ 'account="default",notice="end_passed"': 1 });
    expect(await read('c1')).toMatchObject({ licenseValid: true, health: 'working' });
    // The service is heard again: it is for it to say.
    world.service.fault = () => undefined;
    await poll();
    expect(await told()).toEqual([]);
    expect(await gauge('connector_licenses_ending')).toEqual({});
    expect(await read('c1')).toMatchObject({ licenseValid: true });
  });
});
