import { describe, expect, test } from 'vitest';
import { sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { executeSend } from '../../../src/platform/messages/execute-send.ts';
import { createSimulatedNetwork } from '../../../src/platform/network/simulated-network.ts';
import { type Database, DatabaseUnavailable } from '../../../src/runtime/database/database.ts';
import { countWaiting } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { replaceCalls } from '../../support/replace-calls.ts';

/**
 * A database whose next transactions fail: before they begin, after they have committed, or so that they commit when
 * the test lets them; or with which the database goes away, until it is back.
 */
function unreliable() {
  const plan: ('refuse' | 'lose' | 'delay' | 'go away')[] = [];
  const delayed = Promise.withResolvers<void>();
  let away = false;
  const lost = (): DatabaseUnavailable =>
    new DatabaseUnavailable('lost', 'the connection ended', { mayHaveCommitted: true });
  const wrap = (database: Database): Database =>
    replaceCalls(database, {
      async transaction(work, options) {
        const fate = plan.shift();
        if (fate === 'go away') away = true;
        if (away || fate === 'refuse') throw lost();
        const result = database.transaction(async (tx) => {
          const done = await work(tx);
          if (fate === 'delay') await delayed.promise;
          return done;
        }, options);
        if (fate !== 'delay') await result;
        if (fate !== undefined) throw lost();
        return result;
      },
      async query(...given) {
        if (away) throw lost();
        return database.query(...given);
      },
    });
  const back = (): void => {
    away = false;
  };
  return { plan, wrap, back, commitDelayed: delayed.resolve };
}

describe('a send whose commit fails', () => {
  const { plan, wrap, back, commitDelayed } = unreliable();
  const service = ofFile(() => startTestPlatform({ wrapDatabase: wrap, ports: { random: () => 0.999 } }));
  let nextPhone = 4916100000001;

  async function sendThrough(...fates: ('refuse' | 'lose')[]) {
    const { key, connectionId } = await seedWorkspace(service);
    const to = String(nextPhone++);
    const body = { connectionId, to, text: 'hello', idempotencyKey: 'k' };
    await service.platform.settle();
    plan.push(...fates);
    const answer = await service.call('POST', '/messages', { key, body });
    const repeat = await service.call('POST', '/messages', { key, body });
    await service.platform.time.advance({ ms: 60_000 });
    const ledger = await service.platform.ledger.read({}, 100);
    return {
      status: answer.status,
      answer: sendMessageAnswer.parse(answer.body),
      repeat: repeat.body,
      phone: await service.platform.contacts.received(to),
      page: (await service.call('GET', '/messages', { key })).body,
      told: ledger.filter((entry) => entry.connectionId === connectionId).map(({ status }) => status),
    };
  }

  test.each([
    ['before it began', 'refuse'] as const,
    ['after it was kept, its answer lost', 'lose'] as const,
  ])('%s: it is stored once, reported once and answered as sent', async (_what, fate) => {
    const { status, answer, repeat, phone, page, told } = await sendThrough(fate);
    expect([status, answer.messageId]).toEqual([200, expect.any(String)]);
    expect(repeat).toEqual(answer);
    expect(phone).toHaveLength(1);
    expect(page).toMatchObject({ messages: [{ id: answer.messageId, status: 'read' }] });
    expect(told).toEqual(['sent', 'delivered', 'read']);
  });

  test('after it was kept, and the session breaks before the repetition: it is answered as sent', async () => {
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const network = createSimulatedNetwork({ database: service.database, random: () => 0.5 });
    const to = String(nextPhone++);
    const message = { messageId: to, workspaceId, connectionId, to, text: 'hello', media: null, key: null };
    const execute = (isStored: boolean) =>
      service.database.transaction((tx) =>
        executeSend(
          {
            ...{ tx, now: service.platform.time.now(), schedule: async () => undefined },
            ...{ recordEvents: async () => undefined, recordTransition: async () => undefined },
          },
          network,
          { ...message, from: '4915112345678', waMessageId: '3EB0' },
          isStored,
        ),
      );
    const first = await execute(true);
    await service.platform.outages.begin(connectionId, { cause: 'zombie' });
    expect(await execute(true)).toEqual(first);
    expect(await execute(false)).toMatchObject({ waMessageId: '3EB0', status: 'sent' });
  });

  test.each([['twice', 'refuse'] as const, ['and the database goes away', 'go away'] as const])(
    '%s: it is refused and not sent, and a retry sends it',
    async (_what, fate) => {
      proves('choice.send-key.remembers');
      const { key, connectionId } = await seedWorkspace(service);
      const body = { connectionId, to: String(nextPhone++), text: 'hello', idempotencyKey: 'k' };
      plan.push('refuse', fate);
      const refused = await service.call('POST', '/messages', { key, body });
      back();
      expect([refused.status, refused.body]).toEqual([500, { error: 'internal_error' }]);
      expect(await service.platform.contacts.received(body.to)).toEqual([]);
      expect((await service.call('POST', '/messages', { key, body })).status).toBe(200);
      expect(await service.platform.contacts.received(body.to)).toHaveLength(1);
    },
  );

  test('and takes effect while it is retried: it is sent once, and the next retry gets its answer', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const body = { connectionId, to: String(nextPhone++), text: 'hello', idempotencyKey: 'k' };
    plan.push('delay', 'refuse');
    expect((await service.call('POST', '/messages', { key, body })).status).toBe(500);
    const retry = service.call('POST', '/messages', { key, body });
    await expect.poll(() => countWaiting(service.database)).not.toBe(0);
    commitDelayed();
    expect((await retry).body).toEqual({ error: 'in_progress' });
    const [sent] = await service.platform.contacts.received(body.to);
    expect((await service.call('POST', '/messages', { key, body })).body).toMatchObject({
      messageId: sent?.messageId,
    });
    expect(await service.platform.contacts.received(body.to)).toHaveLength(1);
  });

  test('after the commit, with its answer lost: its events are delivered', async () => {
    const { connectionId } = await seedWorkspace(service);
    const from = String(nextPhone++);
    const write = () => service.platform.messages.receive(connectionId, { from, text: 'hello' });
    await service.platform.settle();
    plan.push('lose');
    await expect(write()).rejects.toThrow('the connection ended');
    plan.push('refuse');
    await expect(write()).rejects.toThrow('the connection ended');
    const ledger = await service.platform.ledger.read({}, 100);
    const meant = ledger.filter((entry) => entry.connectionId === connectionId);
    expect(meant).toHaveLength(1);
    // Not settled, which would also deliver what nobody has started.
    const its = async () =>
      (await service.platform.delivery.list({ limit: 100 }))
        .filter((entry) => entry.connectionId === connectionId)
        .map(({ messageId, outcome }) => [messageId, outcome]);
    await expect.poll(its).toEqual([[meant[0]?.messageId, 'dropped']]);
  });
});
