import { describe, expect, it } from 'vitest';
import { listMessagesAnswer } from '../../../src/contract/service/messages.ts';
import type { Provider } from '../../../src/contract/service/statuses.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const ANNA = '4915600000001';
const BEN = '4915600000002';
let nextPhone = 4915700000000;

describe('POST /messages/read', () => {
  const service = ofFile(startTestPlatform);

  /** A connection to which Anna wrote twice and Ben once, and which sent a message to Anna. */
  async function seed(provider: Provider = 'qr') {
    const { workspaceId, key } = await seedWorkspace(service);
    const phoneNumber = String(nextPhone++);
    const { id: connectionId } = await service.platform.connections.createPaired(workspaceId, {
      provider,
      phoneNumber,
    });
    const from = async (phone: string, text: string) =>
      (await service.platform.messages.receive(connectionId, { from: phone, text })).messageId;
    const anna = [await from(ANNA, 'one'), await from(ANNA, 'two')] as const;
    const ben = await from(BEN, 'three');
    const sent = await service.call('POST', '/messages', {
      key,
      body: { connectionId, to: ANNA, text: 'four' },
    });
    const { messageId: outgoing } = sent.body as { messageId: string };
    const mark = (body: object) =>
      service.call('POST', '/messages/read', { key, body: { connectionId, ...body } });
    const marked = async (body: object) => {
      const answer = await mark(body);
      expect(answer.status).toBe(200);
      return answer.body;
    };
    const unread = async () => {
      const { body } = await service.call('GET', `/messages?connectionId=${connectionId}`, { key });
      const { messages } = listMessagesAnswer.parse(body);
      return messages
        .filter(({ direction, status }) => direction === 'incoming' && status !== 'read')
        .map(({ id }) => id)
        .reverse();
    };
    return { workspaceId, key, connectionId, anna, ben, outgoing, from, mark, marked, unread };
  }

  it('marks the whole chat of a qr connection, by any of its messages, once', async () => {
    proves('messages.read.qr-chat', 'messages.read.incoming', 'messages.read.idempotent');
    proves('messages.read.request', 'messages.read.answer');
    proves('choice.marked');
    proves('shapes.read-receipt');
    const { anna, ben, marked, unread, from } = await seed();
    expect(await marked({ messageId: anna[0] })).toEqual({ ok: true, marked: 2 });
    expect(await unread()).toEqual([ben]);
    expect(await marked({ messageId: anna[0] })).toEqual({ ok: true, marked: 0 });
    const later = await from(ANNA, 'five');
    expect(await unread()).toEqual([ben, later]);
    expect(await marked({ messageId: anna[1] })).toEqual({ ok: true, marked: 1 });
  });

  it('marks the chat of a phone, and nothing for a phone that has never written', async () => {
    proves('messages.read.qr-chat', 'messages.read.request');
    const { anna, marked, unread } = await seed();
    expect(await marked({ phone: BEN })).toEqual({ ok: true, marked: 1 });
    expect(await unread()).toEqual([...anna]);
    expect(await marked({ phone: '4915600000009' })).toEqual({ ok: true, marked: 0 });
  });

  it('marks one message of a cloud_api connection', async () => {
    proves('messages.read.cloud-api-one', 'messages.read.idempotent');
    const { anna, ben, marked, unread } = await seed('cloud_api');
    expect(await marked({ messageId: anna[0] })).toEqual({ ok: true, marked: 1 });
    expect(await unread()).toEqual([anna[1], ben]);
    expect(await marked({ messageId: anna[0] })).toEqual({ ok: true, marked: 0 });
  });

  it('marks the latest message of a phone on a cloud_api connection, and no earlier one after that', async () => {
    proves('messages.read.cloud-api-phone');
    const { anna, ben, marked, unread } = await seed('cloud_api');
    expect(await marked({ phone: ANNA })).toEqual({ ok: true, marked: 1 });
    expect(await unread()).toEqual([anna[0], ben]);
    expect(await marked({ phone: ANNA })).toEqual({ ok: true, marked: 0 });
    expect(await marked({ phone: '4915600000009' })).toEqual({ ok: true, marked: 0 });
  });

  it('the message takes precedence over the phone', async () => {
    proves('messages.read.message-wins');
    const qr = await seed();
    expect(await qr.marked({ messageId: qr.ben, phone: ANNA })).toEqual({ ok: true, marked: 1 });
    expect(await qr.unread()).toEqual([...qr.anna]);
    const cloud = await seed('cloud_api');
    expect(await cloud.marked({ messageId: cloud.anna[0], phone: BEN })).toEqual({ ok: true, marked: 1 });
    expect(await cloud.unread()).toEqual([cloud.anna[1], cloud.ben]);
    expect((await qr.mark({ messageId: 'unknown', phone: ANNA })).status).toBe(404);
  });

  it('returns 404 for an outgoing message, one of another connection, a network id and an unknown id', async () => {
    proves('messages.read.incoming', 'messages.read.no-network-id', 'choice.marked.unknown');
    const stranger = await seed();
    const { outgoing, mark, unread, key, connectionId } = await seed();
    const { body } = await service.call('GET', `/messages?connectionId=${connectionId}`, { key });
    const networkId = listMessagesAnswer.parse(body).messages.at(-1)?.waMessageId;
    expect(networkId).toEqual(expect.any(String));
    for (const messageId of [outgoing, stranger.ben, networkId, 'unknown', 'nul\0', 'c'.padEnd(25, '0')]) {
      const answer = await mark({ messageId });
      expect([messageId, answer.status, answer.body]).toEqual([messageId, 404, { error: 'not_found' }]);
    }
    expect(await unread()).toHaveLength(3);
  });

  it('returns 402 while the license is expired', async () => {
    proves('choice.unlicensed.refused');
    const { connectionId, mark, unread } = await seed();
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    for (const which of [{ phone: ANNA }, { messageId: 'unknown' }])
      expect((await mark(which)).body).toEqual({ error: 'license_inactive' });
    await service.platform.licenses.set(connectionId, { status: 'active' });
    expect(await unread()).toHaveLength(3);
  });

  it('sends no event, and marks through a broken session', async () => {
    const { connectionId, marked } = await seed();
    await service.platform.outages.begin(connectionId, { cause: 'session_lost' });
    const before = await service.platform.ledger.read({}, 100_000);
    expect(await marked({ phone: ANNA })).toEqual({ ok: true, marked: 2 });
    expect(await service.platform.ledger.read({}, 100_000)).toHaveLength(before.length);
  });

  it('has no rate limit, and concurrent calls mark each message once', async () => {
    proves('messages.read.no-rate-limit', 'limits.read-receipts');
    const { marked } = await seed();
    const answers = await Promise.all(Array.from({ length: 200 }, () => marked({ phone: ANNA })));
    const total = answers.reduce<number>((sum, answer) => sum + (answer as { marked: number }).marked, 0);
    expect(total).toBe(2);
  });
});
