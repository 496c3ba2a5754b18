import { describe, expect, test } from 'vitest';
import { messageReceivedEvent } from '../../../src/contract/service/events.ts';
import { countWaiting } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { readExactly, seedWorkspace, startTestPlatform, toldOf } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const from = '4915500000001';

describe('a message from a person', () => {
  const service = ofFile(startTestPlatform);

  test('is reported with exactly the documented keys, under the id of the list', async () => {
    proves('events.received.exact', 'events.received.id', 'events.received.from', 'events.received.fires');
    proves('events.received.timestamp', 'events.received.wa_id', 'events.received.text');
    proves('events.received.connection_id', 'events.received.media-null', 'events.snake-case');
    proves('versioning.webhooks-snake-case');
    proves('wire.timestamps.webhook');
    proves('choice.payload.exact');
    const { key, connectionId } = await seedWorkspace(service);
    const { messageId } = await service.platform.messages.receive(connectionId, {
      from,
      text: 'good evening',
    });
    const [entry] = await toldOf(service, connectionId);
    const page = await service.call('GET', '/messages', { key });
    expect(entry?.payload).toEqual({
      event: 'message.received',
      connection_id: connectionId,
      message: {
        id: messageId,
        wa_id: expect.any(String),
        from,
        text: 'good evening',
        media_url: null,
        media_type: null,
        timestamp: service.platform.time.now(),
      },
    });
    const { message } = readExactly(messageReceivedEvent, entry?.payload);
    expect(page.body).toMatchObject({
      messages: [
        {
          id: messageId,
          waMessageId: message.wa_id,
          text: 'good evening',
          createdAt: new Date(message.timestamp).toISOString(),
        },
      ],
    });
  });

  test('keeps its order among many, in the list and in the ledger', async () => {
    const { connectionId } = await seedWorkspace(service);
    const batch = Array.from({ length: 2_000 }, (_, index) => ({ from, text: `text ${index}` }));
    const ids = await service.platform.messages.receiveMany(connectionId, batch);
    expect(new Set(ids).size).toBe(2_000);
    expect((await toldOf(service, connectionId)).map((entry) => entry.messageId)).toEqual(ids);
    const rows = await service.database.query<{ id: string; text: string }>(
      'SELECT id, text FROM platform.messages WHERE connection_id = $1 ORDER BY position',
      [connectionId],
    );
    expect(rows).toEqual(ids.map((id, index) => ({ id, text: `text ${index}` })));
  });

  test('an empty batch is no message', async () => {
    const { connectionId } = await seedWorkspace(service);
    expect(await service.platform.messages.receiveMany(connectionId, [])).toEqual([]);
    expect(await toldOf(service, connectionId)).toEqual([]);
  });

  test('characters that cannot be stored are replaced, in the list and in the event', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    await service.platform.messages.receive(connectionId, { from, text: 'nul \0, half \ud83d, whole 👋' });
    const text = 'nul \ufffd, half \ufffd, whole 👋';
    expect((await service.call('GET', '/messages', { key })).body).toMatchObject({ messages: [{ text }] });
    expect((await toldOf(service, connectionId))[0]?.payload).toMatchObject({ message: { text } });
  });

  test('is refused for an unknown connection', async () => {
    const call = service.platform.messages.receive('unknown', { from, text: 'hello?' });
    await expect(call).rejects.toMatchObject({ code: 'not_found' });
  });

  test('leaves sessions with the database to others, however many people write', async () => {
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const writing = await service.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM platform.workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      // More than the database of the service has sessions. All of them wait for the lock.
      const written = Array.from({ length: 20 }, (_, index) =>
        service.platform.messages.receive(connectionId, { from, text: `text ${index}` }),
      );
      await expect.poll(() => countWaiting(tx)).not.toBe(0);
      expect((await service.call('GET', '/messages', { key })).status).toBe(200);
      return { written };
    });
    expect(await Promise.all(writing.written)).toHaveLength(20);
  });

  test('is neither stored nor reported if the change cannot be committed', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    await service.database.query('ALTER TABLE platform.ledger RENAME TO ledger_hidden');
    try {
      await expect(service.platform.messages.receive(connectionId, { from, text: 'lost' })).rejects.toThrow();
    } finally {
      await service.database.query('ALTER TABLE platform.ledger_hidden RENAME TO ledger');
    }
    expect((await service.call('GET', '/messages', { key })).body).toMatchObject({ messages: [] });
    expect(await toldOf(service, connectionId)).toEqual([]);
  });
});
