import { beforeEach, describe, expect, it } from 'vitest';
import { listPartitions } from '../../src/connector/db/time-partitions.ts';
import { ofTest } from '../support/of-file.ts';
import { ConnectorWorld, type RunningConnector, WEBHOOK_URL } from './support/running-connector.ts';
import type { ServiceMessage } from './support/scripted-service.ts';

const DAY = 86_400_000;

const world = ofTest(() => ConnectorWorld.open());

beforeEach(async () => {
  world.service.addConnection('c1');
});

function received(message: ServiceMessage) {
  return {
    event: 'message.received',
    connection_id: message.connectionId,
    message: {
      id: message.id,
      wa_id: null,
      from: '15551234567',
      text: message.text,
      media_url: null,
      media_type: null,
      timestamp: message.createdAt,
    },
  };
}

function statusOf(message: ServiceMessage, status = message.status) {
  return {
    event: 'message.status',
    connection_id: message.connectionId,
    message: { id: message.id, wa_id: null, status, timestamp: world.clock.now() },
  };
}

function disconnected(connectionId: string) {
  return {
    event: 'connection.disconnected',
    connection_id: connectionId,
    connection: {
      id: connectionId,
      phone_number: '491701234567',
      label: 'Front desk',
      status: 'disconnected',
      needs_reconnect: true,
      license_status: 'active',
      license_expires: null,
      reason: 'AUTH_LOST',
    },
    timestamp: world.clock.now(),
  };
}

async function changes(
  running: RunningConnector,
): Promise<{ seq: number; type: string; messageId?: string }[]> {
  const { body } = await running.ask('GET', '/v1/changes?limit=1000');
  return body['changes'] as { seq: number; type: string; messageId?: string }[];
}

describe('a connector', () => {
  it('accepts deliveries signed with the secret that its registration returned', async () => {
    const running = await world.start();
    expect(world.service.webhook?.url).toBe(WEBHOOK_URL);
    const message = world.service.addMessage('c1', world.clock.now());
    expect(await running.deliver(received(message), world.secret)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect((await running.ask('GET', `/v1/messages/${message.id}`)).body).toMatchObject({
      id: message.id,
      peer: '15551234567',
      firstSeenBy: 'webhook',
    });
  });

  it('reaches the state of the service whichever events were dropped', async () => {
    const running = await world.start();
    const { service } = world;
    for (let index = 0; index < 60; index += 1) {
      const direction = index % 2 === 0 ? 'incoming' : 'outgoing';
      const message = service.addMessage('c1', world.clock.now() + index, { direction, status: 'sent' });
      const event = direction === 'incoming' ? received(message) : statusOf(message);
      if (index % 3 === 0) await running.deliver(event, world.secret);
    }
    await running.runPolls();
    for (const [index, message] of service.messages.entries()) {
      if (message.direction === 'incoming') continue;
      message.status = index % 4 === 1 ? 'read' : 'failed';
      if (index % 5 === 0) await running.deliver(statusOf(message), world.secret);
    }
    expect((await running.ask('POST', '/v1/sync')).status).toBe(200);
    const { body } = await running.ask('GET', '/v1/messages?limit=1000');
    const stored = body['messages'] as ServiceMessage[];
    const outcome = (message: ServiceMessage) => ({
      id: message.id,
      direction: message.direction,
      text: message.text,
      createdAt: new Date(message.createdAt).getTime(),
      ...(message.direction === 'outgoing' ? { status: message.status } : {}),
    });
    const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);
    expect(stored.map(outcome).sort(byId)).toEqual(service.messages.map(outcome).sort(byId));
    const all = await changes(running);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_change, index) => index + 1));
    expect(all.filter(({ type }) => type === 'message.created')).toHaveLength(60);
  });

  it('begins at once with what the API asks for: a retry, and the number of a change', async () => {
    const running = await world.start();
    const { id } = world.service.addMessage('c1', world.clock.now());
    await running.ask('POST', '/v1/sync');
    await world.clock.advance(50);
    const lastSeq = async () => (await running.ask('GET', '/v1/changes?after=latest')).body['lastSeq'];
    const before = Number(await lastSeq());
    const named = await running.ask('PUT', `/v1/messages/${id}/peer`, { body: { phone: '447700900201' } });
    expect(named.status).toBe(200);
    await world.clock.advance(50);
    await expect.poll(lastSeq).toBe(before + 1);
    await world.database.query(
      `insert into connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key,
         state, created_at, updated_at) values ('s1', 'default', 'c1', 'r1', 'f', '447700900201', 'k1', 'unknown', 0, 0)`,
    );
    running.notifier.notified = [];
    expect((await running.ask('POST', '/v1/outbound/s1/retry')).status).toBe(202);
    expect(running.notifier.notified).toContainEqual({ topic: 'send', key: 'c1', delayMs: 0 });
  });

  it('reads everything again at the next poll after a new secret, as deliveries may have been refused', async () => {
    const running = await world.start();
    await running.runPolls();
    const sweeps = async () =>
      (await world.database.query('select needs_full_sweep as needed from connector.poll_states')).map(
        (row) => Object.values(row)[0],
      );
    expect(await sweeps()).toEqual([false]);
    const rotate = async (given: object): Promise<unknown> =>
      (await running.ask('POST', '/v1/webhook/rotate', { body: given })).body['previousAcceptedUntil'];
    expect(await rotate({ accountId: 'default' })).toEqual(expect.any(String));
    expect(await sweeps()).toEqual([true]);
    // What others know is not accepted any more.
    expect(await rotate({ compromised: true })).toBeNull();
  });

  it('polls after a connection event, which only a poll can confirm', async () => {
    const running = await world.start();
    await running.runPolls();
    const connection = world.service.connections[0];
    if (connection !== undefined) connection.status = 'disconnected';
    await running.deliver(disconnected('c1'), world.secret);
    await expect
      .poll(() => running.notifier.notified.at(-1))
      .toEqual({ topic: 'poll', key: 'default', delayMs: 1_000 });
    if (connection !== undefined) connection.status = 'open';
    await running.runPolls();
    expect((await running.ask('GET', '/v1/connections/c1')).body).toMatchObject({
      status: 'open',
      needsReconnect: false,
      health: 'working',
    });
  });

  it('keeps the secret after a restart, and when a second process starts', async () => {
    const first = await world.start();
    const secret = world.secret;
    const second = await world.start();
    await first.stop();
    const third = await world.start();
    expect(world.secret).toBe(secret);
    for (const running of [second, third]) {
      const message = world.service.addMessage('c1', world.clock.now());
      expect((await running.deliver(received(message), secret)).status).toBe(200);
    }
  });

  it('receives webhooks without ever calling the service if it has only a secret', async () => {
    const { service: _, ...options } = { service: undefined, webhookSecret: 'by hand' };
    const running = await world.start({
      ...options,
      webhookPublicUrl: undefined,
      service: undefined,
    } as object);
    const message = world.service.addMessage('c1', world.clock.now());
    expect((await running.deliver(received(message), 'by hand')).status).toBe(200);
    expect((await running.ask('POST', '/v1/sync')).status).toBe(200);
    await running.runPolls();
    expect(world.service.requests).toEqual([]);
    expect((await running.ask('GET', '/v1/accounts')).body).toMatchObject({
      accounts: [{ id: 'default', state: 'webhook_only', baseUrl: null, webhookUrl: null }],
    });
  });

  it('starts and receives webhooks while the service is unavailable', async () => {
    const before = await world.start();
    const secret = world.secret;
    await before.stop();
    world.service.fault = () => 'reset';
    const running = await world.start();
    await running.runPolls();
    const message = world.service.addMessage('c1', world.clock.now());
    expect((await running.deliver(received(message), secret)).status).toBe(200);
  });

  it('calls its handlers before the service has answered about its webhook', async () => {
    const onChange = Promise.withResolvers<void>();
    const before = await world.start({ handlers: { onChange: () => undefined } });
    const { secret } = world;
    await before.stop();
    const web = await world.start({ role: 'web' });
    const message = world.service.addMessage('c1', world.clock.now());
    expect((await web.deliver(received(message), secret)).status).toBe(200);
    await web.connector.settle();
    const asked = Promise.withResolvers<void>();
    world.service.fault = ({ path }) => {
      if (path !== '/webhook') return undefined;
      asked.resolve();
      return 'hang';
    };
    const starting = world.start({ handlers: { onChange: () => onChange.resolve() } });
    await Promise.all([asked.promise, onChange.promise]);
    await world.clock.advance(20_000);
    await starting;
  });
});

it.each([{ changeRetentionDays: 15 }, { messageRetentionDays: 15 }, {}])(
  'with %j, the feed is divided into days, or into months if it is kept for ever',
  async (kept) => {
    world.clock.jump(100 * DAY);
    await world.start(kept);
    const daysOfLast = async () => {
      const last = (await listPartitions(world.database, 'changes')).at(-1);
      return last && (last.to - last.from) / DAY;
    };
    // Where the table was in use for too long, partitions are made a minute later.
    await world.clock.advance(60_000);
    await expect.poll(daysOfLast).toBe(Object.keys(kept).length > 0 ? 1 : 30);
  },
);

describe('the roles of a process', () => {
  it('web serves requests and does not poll', async () => {
    const running = await world.start({ role: 'web' });
    await running.runPolls();
    expect(world.service.countRequests('/messages')).toBe(0);
    expect((await running.ask('GET', '/v1/messages')).status).toBe(200);
    expect((await running.ask('POST', '/v1/sync')).status).toBe(200);
  });

  it('worker polls and serves only probes', async () => {
    const running = await world.start({ role: 'worker' });
    expect((await running.ask('GET', '/healthz')).status).toBe(200);
    expect((await running.ask('GET', '/v1/messages')).status).toBe(404);
    expect((await running.deliver({ event: 'x' }, world.secret)).status).toBe(404);
    const message = world.service.addMessage('c1', world.clock.now());
    await running.runPolls();
    const ids = await world.database.query('select id from connector.messages');
    expect(ids).toEqual([{ id: message.id }]);
  });
});

describe('closing a connector', () => {
  it('aborts a hanging poll, ends an open stream, and leaves no timer behind', async () => {
    const running = await world.start();
    await running.runPolls();
    const reached = Promise.withResolvers<void>();
    world.service.fault = () => {
      reached.resolve();
      return 'hang';
    };
    const stream = await fetch(`${running.url}/v1/changes/stream`, {
      headers: { authorization: 'Bearer connector-token' },
    });
    const asked = running.ask('POST', '/v1/sync').catch(() => undefined);
    await reached.promise;
    await running.stop();
    await stream.text().catch(() => undefined);
    await asked;
    expect(world.clock.pending).toBe(0);
  });

  it('loses nothing that was acknowledged', async () => {
    const running = await world.start();
    const messages = Array.from({ length: 50 }, () => world.service.addMessage('c1', world.clock.now()));
    const answers = Promise.all(messages.map((message) => running.deliver(received(message), world.secret)));
    await running.connector.settle();
    const acknowledged = (await answers).filter((answer) => answer.status === 200);
    await running.stop();
    const [row] = await world.database.query<{ count: number }>(
      'select count(*) as count from connector.messages',
    );
    expect(row?.count).toBe(acknowledged.length);
    expect(acknowledged).toHaveLength(50);
  });
});
