import { describe, expect, test } from 'vitest';
import type { ListMessagesAnswer } from '../../../src/contract/service/messages.ts';
import { CATCH_UP_STEP, catchUpTimers } from '../../../src/platform/network/hold-reports.ts';
import type { NewTimer } from '../../../src/platform/time/timers.ts';
import { countWaiting } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform, toldOf } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const MINUTE = 60_000;
const SECOND = 1_000;
const from = '4915500000001';

describe('while a session is broken', () => {
  const service = ofFile(() => startTestPlatform({ ports: { random: () => 0.5 } }));

  const advance = (ms: number) => service.platform.time.advance({ ms });
  const writes = (id: string, text: string, writer = from) =>
    service.platform.messages.receive(id, { from: writer, text });
  const now = () => new Date(service.platform.time.now()).toISOString();

  async function holdMessages(connectionId: string, texts: readonly string[]): Promise<void> {
    await service.database.query(
      `INSERT INTO platform.held_reports (connection_id, report)
       SELECT $1, json_build_object('kind', 'message', 'message',
         json_build_object('connectionId', $1::text, 'from', $2::text, 'text', text, 'at', 0))
       FROM unnest($3::text[]) WITH ORDINALITY AS given (text, place) ORDER BY place`,
      [connectionId, from, texts],
    );
  }

  /** The timer of a connection, fired by hand: what arrives, and which timers it schedules. */
  function catchingUp(connectionId: string) {
    const arrived: (string | null)[] = [];
    const scheduled: NewTimer[] = [];
    const { 'network.catch_up': handler } = catchUpTimers({
      inbound: async (_change, { text }) => void arrived.push(text),
      receipts: async () => undefined,
    });
    const step = () =>
      service.database.transaction(async (tx) => {
        const at = service.platform.time.now();
        await handler?.fire(
          {
            ...{ tx, now: at, recordEvents: async () => undefined, recordTransition: async () => undefined },
            schedule: async (timers) => void scheduled.push(...timers),
          },
          [{ id: 1, kind: 'network.catch_up', dueAt: at, at, payload: { connectionId } }],
        );
      });
    return { step, arrived, scheduled };
  }

  async function listed(key: string): Promise<ListMessagesAnswer['messages']> {
    const { body } = await service.call('GET', '/messages', { key });
    return (body as ListMessagesAnswer).messages;
  }

  test('a message during a recovery and a restart do not deadlock', async () => {
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    await service.platform.outages.begin(connectionId, { cause: 'zombie' });
    const recovery = service.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM platform.workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      await tx.query('SELECT 1 FROM platform.connections WHERE id = $1 FOR UPDATE', [connectionId]);
      const written = writes(connectionId, 'now');
      const restarted = service.call('POST', `/connections/${connectionId}/restart`, { key });
      while ((await countWaiting(service.database)) < 2);
      await tx.query('UPDATE platform.network_sessions SET alive = true WHERE connection_id = $1', [
        connectionId,
      ]);
      return { written, restarted };
    });
    const { written, restarted } = await recovery;
    expect((await restarted).status).toBe(200);
    await expect(written).resolves.toHaveProperty('messageId');
    expect(await listed(key)).toHaveLength(1);
  });

  test.each(['session_lost', 'zombie'] as const)(
    'incoming messages are kept (%s), and arrive in order once the session works again',
    async (cause) => {
      proves('choice.outage.messages');
      const { key, connectionId } = await seedWorkspace(service);
      await service.platform.outages.begin(connectionId, { cause });
      const first = await writes(connectionId, 'one');
      await advance(30 * MINUTE);
      const second = await writes(connectionId, 'two');
      expect(await listed(key)).toEqual([]);
      await service.platform.outages.recover(connectionId);
      const third = await writes(connectionId, 'three');
      expect(await listed(key)).toEqual([]);
      await advance(SECOND);
      const messages = await listed(key);
      expect(messages.map(({ id, text, createdAt }) => [id, text, createdAt])).toEqual([
        [third.messageId, 'three', now()],
        [second.messageId, 'two', now()],
        [first.messageId, 'one', now()],
      ]);
      const told = await toldOf(service, connectionId);
      expect(told.map(({ event, messageId }) => [event, messageId])).toEqual([
        ['connection.disconnected', null],
        ['connection.connected', null],
        ['message.received', first.messageId],
        ['message.received', second.messageId],
        ['message.received', third.messageId],
      ]);
      const late = await writes(connectionId, 'four');
      expect((await listed(key))[0]?.id).toBe(late.messageId);
    },
  );

  test('many kept messages arrive in steps, and one that is written between two steps arrives last', async () => {
    const { connectionId } = await seedWorkspace(service);
    await service.platform.outages.begin(connectionId, { cause: 'session_lost' });
    const texts = Array.from({ length: CATCH_UP_STEP + 2 }, (_, index) => `kept ${index}`);
    await holdMessages(connectionId, texts);
    await service.platform.outages.recover(connectionId);
    const { step, arrived, scheduled } = catchingUp(connectionId);
    await step();
    expect(arrived).toEqual(texts.slice(0, CATCH_UP_STEP));
    const next = { kind: 'network.catch_up', dueAt: service.platform.time.now(), payload: { connectionId } };
    expect(scheduled).toEqual([next]);
    await writes(connectionId, 'meanwhile');
    await step();
    expect(arrived).toEqual([...texts, 'meanwhile']);
    expect(scheduled).toEqual([next]);
  });

  test('all messages of a long outage arrive in order, before time goes on', async () => {
    const { connectionId } = await seedWorkspace(service);
    await service.platform.outages.begin(connectionId, { cause: 'session_lost' });
    const texts = Array.from({ length: CATCH_UP_STEP + 2 }, (_, index) => `kept ${index}`);
    await holdMessages(connectionId, texts);
    await service.platform.outages.recover(connectionId);
    const { fired } = await advance(SECOND);
    const steps = fired.filter(({ id, what }) => id === connectionId && what === 'network.catch_up');
    expect(steps).toHaveLength(2);
    const rows = await service.database.query<{ text: string }>(
      'SELECT text FROM platform.messages WHERE connection_id = $1 ORDER BY position',
      [connectionId],
    );
    expect(rows.map(({ text }) => text)).toEqual(texts);
  });

  test('receipts are kept as well, with the time at which they happened', async () => {
    proves('choice.outage.receipts');
    const { key, connectionId } = await seedWorkspace(service);
    const to = '4915500000002';
    await service.platform.contacts.put(to, { deliverAfterMs: MINUTE, readAfterMs: 2 * MINUTE });
    const sent = service.platform.time.now();
    await service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello' } });
    await service.platform.outages.begin(connectionId, { cause: 'zombie' });
    await advance(10 * MINUTE);
    expect(await listed(key)).toMatchObject([{ status: 'sent' }]);
    await service.platform.outages.recover(connectionId);
    await advance(SECOND);
    expect(await listed(key)).toMatchObject([{ status: 'read' }]);
    const told = (await toldOf(service, connectionId)).filter(({ status }) => status !== 'sent');
    expect(told.map(({ status, payload }) => [status, payload['message']])).toEqual([
      ['delivered', expect.objectContaining({ timestamp: sent + MINUTE })],
      ['read', expect.objectContaining({ timestamp: sent + 2 * MINUTE })],
    ]);
  });

  test('a session that dies again before it has caught up gets all of it the next time', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const { outages } = service.platform;
    await outages.begin(connectionId, { cause: 'session_lost' });
    await writes(connectionId, 'one');
    await outages.recover(connectionId);
    await outages.begin(connectionId, { cause: 'zombie' });
    await advance(SECOND);
    expect(await listed(key)).toEqual([]);
    await outages.recover(connectionId);
    await service.restart();
    await advance(SECOND);
    expect(await listed(key)).toMatchObject([{ text: 'one' }]);
  });

  test('what was kept arrives in silence while the license is expired', async () => {
    proves('delivery.unlicensed');
    const { key, connectionId } = await seedWorkspace(service);
    const { outages, licenses } = service.platform;
    const to = '4915500000003';
    await service.platform.contacts.put(to, { deliverAfterMs: SECOND, readAfterMs: null });
    await service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello' } });
    await outages.begin(connectionId, { cause: 'session_lost' });
    await writes(connectionId, 'unheard');
    await advance(2 * SECOND);
    await licenses.set(connectionId, { status: 'expired' });
    await outages.recover(connectionId);
    await advance(SECOND);
    await licenses.set(connectionId, { status: 'active' });
    await advance(MINUTE);
    expect((await toldOf(service, connectionId)).map(({ status }) => status)).toEqual(['sent']);
    expect(await listed(key)).toMatchObject([{ text: 'unheard' }, { text: 'hello', status: 'delivered' }]);
  });

  test('nothing is lost when people write, sessions break and recover at once', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const { outages } = service.platform;
    const ids: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const written = Array.from({ length: 6 }, (_, index) => writes(connectionId, `${round}.${index}`));
      const [answers] = await Promise.all([
        Promise.all(written),
        outages.begin(connectionId, { cause: 'zombie' }),
        outages.recover(connectionId),
        service.platform.settle(),
      ]);
      ids.push(...answers.map(({ messageId }) => messageId));
    }
    await outages.recover(connectionId);
    await advance(SECOND);
    const { body } = await service.call('GET', '/messages?limit=100', { key });
    const found = (body as ListMessagesAnswer).messages.map(({ id }) => id);
    expect(found.toSorted()).toEqual(ids.toSorted());
  });

  test('what a blocked person writes never arrives, and nobody is told', async () => {
    proves('choice.blocked');
    const { key, connectionId } = await seedWorkspace(service);
    const { outages } = service.platform;
    expect(await outages.setPhone(connectionId, { blocked: [from] })).toEqual({ on: true, blocked: [from] });
    expect(await writes(connectionId, 'let me in')).toEqual({ messageId: expect.any(String) });
    await writes(connectionId, 'hello', '4915500000003');
    expect(await listed(key)).toMatchObject([{ text: 'hello' }]);
    expect(await outages.setPhone(connectionId, { blocked: [] })).toEqual({ on: true, blocked: [] });
    await writes(connectionId, 'at last');
    await advance(MINUTE);
    expect((await listed(key)).map(({ text }) => text)).toEqual(['at last', 'hello']);
    expect(await toldOf(service, connectionId)).toHaveLength(2);
  });

  test('a phone that is switched off is an outage, and one that is switched on ends it', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const { outages } = service.platform;
    expect(await outages.setPhone(connectionId, { on: false })).toEqual({ on: false, blocked: [] });
    expect(await outages.begin(connectionId, { cause: 'zombie' })).toBe(false);
    await writes(connectionId, 'asleep?');
    await advance(5 * MINUTE);
    await outages.setPhone(connectionId, { blocked: ['4915500000009'] });
    expect(await outages.setPhone(connectionId, { on: true })).toEqual({
      on: true,
      blocked: ['4915500000009'],
    });
    await advance(SECOND);
    const reported = ['connection.disconnected', 'connection.connected', 'message.received'];
    expect((await toldOf(service, connectionId)).map(({ event }) => event)).toEqual(reported);
    expect(await listed(key)).toMatchObject([{ text: 'asleep?' }]);
  });

  test('switching a phone on does not mend a session that broke otherwise', async () => {
    const { connectionId } = await seedWorkspace(service);
    const { outages } = service.platform;
    await outages.begin(connectionId, { cause: 'session_lost' });
    await outages.setPhone(connectionId, { on: false });
    await outages.setPhone(connectionId, { on: true });
    await advance(5 * MINUTE);
    expect(await toldOf(service, connectionId)).toMatchObject([{ event: 'connection.disconnected' }]);
  });
});
