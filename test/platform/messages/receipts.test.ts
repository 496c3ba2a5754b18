import { describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../../src/contract/service/events.ts';
import { listMessagesAnswer, sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import type { ContactBehavior } from '../../../src/platform/network/contacts.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

let nextPhone = 4915400000000;

describe('a phone that receives a message', () => {
  const service = ofFile(() => startTestPlatform({ ports: { random: () => draws.shift() ?? 0.999 } }));
  /** What the next draws are; 1 beyond them, so that nothing overtakes. */
  const draws: number[] = [];

  /** Sends one text to a person who behaves so, lets a minute pass, and answers what was told when. */
  async function tell(behavior: Partial<ContactBehavior>, minutes = 1) {
    const { key, connectionId } = await seedWorkspace(service);
    const to = String(nextPhone++);
    await service.platform.contacts.put(to, behavior);
    const start = service.platform.time.now();
    const answer = await service.call('POST', '/messages', {
      key,
      body: { connectionId, to, text: 'hello' },
    });
    const { messageId } = sendMessageAnswer.parse(answer.body);
    await service.platform.time.advance({ ms: minutes * 60_000 });
    const page = await service.call('GET', '/messages', { key });
    const entries = await service.platform.ledger.read({}, 100_000);
    const told = entries
      .filter((entry) => entry.connectionId === connectionId)
      .map((entry) => {
        const payload = entry.payload as WebhookEvent;
        const timestamp = 'message' in payload ? payload.message.timestamp : Number.NaN;
        return [entry.status ?? entry.event, timestamp - start];
      });
    return { told, page: page.body, messageId: messageId ?? '', to, connectionId };
  }

  test('delivers and reads after the configured delays', async () => {
    proves('status.sent-delivered', 'status.delivered-read', 'status.values');
    proves('events.status.fires', 'events.status.values');
    const { told, page } = await tell({ deliverAfterMs: 300, readAfterMs: 4_000 });
    expect(told).toEqual([
      ['sent', 0],
      ['delivered', 300],
      ['read', 4_000],
    ]);
    expect(page).toMatchObject({ messages: [{ status: 'read', errorMessage: null }] });
  });

  test('never does so with null', async () => {
    const { told, page } = await tell(
      { deliverAfterMs: null, readAfterMs: null, failAfterMs: null },
      60 * 24,
    );
    expect(told).toEqual([['sent', 0]]);
    expect(page).toMatchObject({ messages: [{ status: 'sent' }] });
  });

  test('fails with a reason, and stays failed', async () => {
    proves('status.delivered-failed', 'status.failed-terminal');
    proves('events.status.values');
    proves('choice.send.refused');
    const { told, page } = await tell({ deliverAfterMs: 100, readAfterMs: 9_000, failAfterMs: 500 });
    expect(told).toEqual([
      ['sent', 0],
      ['delivered', 100],
      ['failed', 500],
    ]);
    expect(page).toMatchObject({ messages: [{ status: 'failed', errorMessage: expect.any(String) }] });
  });

  test('may fail before it delivers', async () => {
    proves('status.sent-failed', 'messages.item.errorMessage');
    const { told, page } = await tell({ deliverAfterMs: null, readAfterMs: null, failAfterMs: 500 });
    expect(told).toEqual([
      ['sent', 0],
      ['failed', 500],
    ]);
    expect(page).toMatchObject({ messages: [{ status: 'failed', errorMessage: expect.any(String) }] });
  });

  test('does not fail a message that was read', async () => {
    proves('status.failed-not-after-read');
    const { told } = await tell({ deliverAfterMs: 100, readAfterMs: 200, failAfterMs: 500 });
    expect(told.map(([status]) => status)).toEqual(['sent', 'delivered', 'read']);
  });

  test('may report read before delivered, which keeps its own time', async () => {
    proves('status.read-early');
    draws.push(0, 0);
    const { told, page } = await tell({ deliverAfterMs: 100, readAfterMs: 200 });
    expect(told).toEqual([
      ['sent', 0],
      ['read', 200],
      ['delivered', 100],
    ]);
    expect(page).toMatchObject({ messages: [{ status: 'read' }] });
  });

  test('may reply automatically: a send fires message.status alone, and the reply message.received alone', async () => {
    proves('events.received.fires', 'events.received.inbound-only', 'events.status.fires');
    proves('events.status.outbound-only', 'events.status.id');
    proves('messages.send.id-joins');
    const { told, page, messageId, connectionId } = await tell({
      deliverAfterMs: 100,
      readAfterMs: 200,
      autoReply: 'Thanks!',
    });
    expect(told.map(([what]) => what)).toEqual(['sent', 'delivered', 'read', 'message.received']);
    expect(page).toMatchObject({
      messages: [
        { direction: 'incoming', text: 'Thanks!' },
        { direction: 'outgoing', id: messageId },
      ],
    });
    const [{ id: reply } = { id: '' }] = listMessagesAnswer.parse(page).messages;
    const entries = await service.platform.ledger.read({}, 100_000);
    const mine = entries.filter((entry) => entry.connectionId === connectionId);
    expect(mine.map((entry) => [entry.event, entry.messageId])).toEqual([
      ['message.status', messageId],
      ['message.status', messageId],
      ['message.status', messageId],
      ['message.received', reply],
    ]);
  });

  test('a status set by the sandbox follows the ladder and is reported', async () => {
    const { messageId, connectionId } = await tell({ deliverAfterMs: null, readAfterMs: null });
    const move = (status: 'sent' | 'delivered' | 'read' | 'failed') =>
      service.platform.messages.setStatus(messageId, status);
    expect(await move('sent')).toEqual({ changed: false, status: 'sent' });
    expect(await move('read')).toEqual({ changed: true, status: 'read' });
    expect(await move('read')).toEqual({ changed: false, status: 'read' });
    expect(await move('failed')).toEqual({ changed: false, status: 'read' });
    expect(await move('delivered')).toEqual({ changed: true, status: 'read' });
    const entries = await service.platform.ledger.read({}, 100_000);
    const statuses = entries
      .filter((entry) => entry.connectionId === connectionId)
      .map((entry) => entry.status);
    expect(statuses).toEqual(['sent', 'read', 'delivered']);
  });

  test('the status of an unknown or incoming message cannot be set', async () => {
    const { connectionId } = await seedWorkspace(service);
    const { messageId } = await service.platform.messages.receive(connectionId, {
      from: '4915400000099',
      text: 'hi',
    });
    for (const id of [messageId, 'unknown']) {
      await expect(service.platform.messages.setStatus(id, 'read')).rejects.toMatchObject({
        code: 'not_found',
      });
    }
  });

  test('while the license is expired, statuses advance and nothing is reported', async () => {
    proves('delivery.unlicensed');
    const { key, connectionId } = await seedWorkspace(service);
    const to = String(nextPhone++);
    await service.platform.contacts.put(to, { deliverAfterMs: 100, readAfterMs: 200 });
    await service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello' } });
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    await service.platform.messages.receive(connectionId, { from: to, text: 'are you there?' });
    await service.platform.time.advance({ ms: 1_000 });
    await service.platform.licenses.set(connectionId, { status: 'active' });
    const entries = await service.platform.ledger.read({}, 100_000);
    const told = entries.filter((entry) => entry.connectionId === connectionId);
    expect(told.map((entry) => entry.status)).toEqual(['sent']);
    const page = await service.call('GET', '/messages', { key });
    expect(page.body).toMatchObject({ messages: [{ text: 'are you there?' }, { status: 'read' }] });
  });
});
