import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { newIdentifier } from '../../../src/platform/kernel/identifiers.ts';
import { answerSend, claimSend, type SendClaim } from '../../../src/platform/messages/send-journal.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

/** Sends whose process died are made here by writing what it had written until then. */
describe('a send whose process died', () => {
  let service: TestPlatform;
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  const to = '4915300000001';
  beforeAll(async () => {
    service = await startTestPlatform();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    await service.platform.reset();
    seeded = await seedWorkspace(service);
  });

  async function begin(idempotencyKey: string | null): Promise<SendClaim> {
    const { workspaceId, connectionId } = seeded;
    const entry = { messageId: newIdentifier(), workspaceId, connectionId, to, text: 'hello', media: null };
    const claim = await claimSend(service.database, entry, idempotencyKey, service.platform.time.now());
    expect(claim).toEqual({ outcome: 'claimed' });
    return entry;
  }

  const reachNetwork = (entry: SendClaim) =>
    service.database.query(
      `INSERT INTO platform.phone_messages (message_id, phone, connection_id, sender, text, wa_message_id, at)
       VALUES ($1, $2, $3, '4915112345678', $4, 'WA1', $5)`,
      [entry.messageId, to, entry.connectionId, entry.text, service.platform.time.now()],
    );

  const send = async (idempotencyKey?: string, text = 'hello') =>
    service.call('POST', '/messages', {
      key: seeded.key,
      body: { connectionId: seeded.connectionId, to, text, idempotencyKey },
    });

  const stored = async () => {
    const { body } = await service.call('GET', '/messages', { key: seeded.key });
    return body;
  };

  test(
    'before the network received it: the next start frees its key',
    proves('choice.send-key.remembers'),
    async () => {
      await begin('lost');
      await service.restart();
      expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
      expect((await send('lost')).status).toBe(200);
      expect(await service.platform.contacts.received(to)).toHaveLength(1);
    },
  );

  test('after the network received it: the next start stores it, reports it once and answers its key', async () => {
    const entry = await begin('lost');
    await reachNetwork(entry);
    await service.restart();
    expect(await stored()).toMatchObject({
      messages: [{ id: entry.messageId, status: 'sent', waMessageId: 'WA1' }],
    });
    const answer = sendMessageAnswer.parse((await send('lost')).body);
    expect(answer).toEqual({ messageId: entry.messageId, waMessageId: 'WA1', status: 'sent' });
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
    await service.restart();
    const events = await service.platform.ledger.read(0, 100);
    expect(events.map((event) => [event.messageId, event.status])).toEqual([[entry.messageId, 'sent']]);
  });

  test('its receipts follow after the restart', async () => {
    const entry = await begin(null);
    await reachNetwork(entry);
    await service.restart();
    await service.platform.time.advance({ ms: 10_000 });
    expect(await stored()).toMatchObject({ messages: [{ id: entry.messageId, status: 'read' }] });
  });

  test('without a key leaves no record once it is stored', async () => {
    await reachNetwork(await begin(null));
    await service.restart();
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  test('a send that was lost in a running process is resolved by its retry', async () => {
    const entry = await begin('astray');
    await reachNetwork(entry);
    expect((await send('astray')).body).toMatchObject({ messageId: entry.messageId });
    await begin('nowhere');
    expect((await send('nowhere')).status).toBe(200);
    expect(await service.platform.contacts.received(to)).toHaveLength(2);
  });

  test(
    'frees its key for another message, unless the network received it',
    proves('choice.send-key.other-body', 'choice.send-key.remembers'),
    async () => {
      await begin('nowhere');
      expect((await send('nowhere', 'another')).status).toBe(200);
      await reachNetwork(await begin('astray'));
      const refused = await send('astray', 'another');
      expect([refused.status, refused.body]).toEqual([400, { error: 'idempotency_key_reuse' }]);
      const received = await service.platform.contacts.received(to);
      expect(received.map(({ text }) => text).sort()).toEqual(['another', 'hello']);
    },
  );

  test('answers with expired keys are deleted at the next start', async () => {
    const entry = await begin('old');
    await answerSend(service.database, entry.messageId, {
      messageId: 'c',
      waMessageId: null,
      status: 'sent',
    });
    await service.platform.time.advance({ ms: 86_400_000 });
    await service.restart();
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  test('and by a later send, so that they do not accumulate', async () => {
    await send('today');
    await service.platform.time.advance({ ms: 86_400_000 });
    await send();
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  test('whose connection was deleted does not prevent a start', async () => {
    await reachNetwork(await begin('lost'));
    await service.call('DELETE', `/connections/${seeded.connectionId}`, { key: seeded.key });
    await service.restart();
    expect(await service.database.query('SELECT 1 FROM platform.sends WHERE answer IS NULL')).toEqual([]);
    expect(await service.database.query('SELECT 1 FROM platform.messages')).toEqual([]);
    expect((await send('lost')).status).toBe(404);
  });

  test('a key does not expire while its send has no answer', async () => {
    const entry = await begin('slow');
    const again = { ...entry, messageId: newIdentifier() };
    const later = service.platform.time.now() + 2 * 86_400_000;
    expect(await claimSend(service.database, again, 'slow', later)).toEqual({
      outcome: 'held',
      messageId: entry.messageId,
      same: true,
    });
  });
});
