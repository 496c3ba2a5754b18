import { describe, expect, test } from 'vitest';
import { listMessagesAnswer, sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { ofFile } from '../../support/of-file.ts';
import {
  addConnection,
  readExactly,
  seedWorkspace,
  startTestPlatform,
  toldOf,
} from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;
let nextPhone = 4915200000000;
const newPhone = (): string => String(nextPhone++);

describe('POST /messages', () => {
  const service = ofFile(startTestPlatform);

  const send = (key: string, body: object) => service.call('POST', '/messages', { key, body });
  const phoneOf = (phone: string) => service.platform.contacts.received(phone);

  async function stored(key: string) {
    const answer = await service.call('GET', '/messages?limit=100', { key });
    return readExactly(listMessagesAnswer, answer.body).messages;
  }

  test('returns exactly messageId, waMessageId and status, and stores the message under that id', async () => {
    proves('messages.send.answer', 'messages.send.id-joins', 'choice.wa-ids');
    const { key, connectionId } = await seedWorkspace(service);
    const to = newPhone();
    const answer = await send(key, { connectionId, to, text: 'Hello, wörld 👋' });
    expect(answer.status).toBe(200);
    const sent = readExactly(sendMessageAnswer, answer.body);
    expect(Object.keys(sent).sort()).toEqual(['messageId', 'status', 'waMessageId']);
    expect(sent.status).toBe('sent');
    expect(await stored(key)).toMatchObject([
      {
        id: sent.messageId,
        waMessageId: sent.waMessageId,
        connectionId,
        direction: 'outgoing',
        text: 'Hello, wörld 👋',
        status: 'sent',
        errorMessage: null,
      },
    ]);
    expect(await phoneOf(to)).toEqual([
      {
        messageId: sent.messageId,
        connectionId,
        from: '4915112345678',
        text: 'Hello, wörld 👋',
        at: service.platform.time.now(),
      },
    ]);
  });

  test('sends a sent event with exactly the documented keys', async () => {
    proves('events.status.exact', 'events.status.id', 'events.status.timestamp', 'events.status.wa_id');
    proves('messages.send.id-joins');
    proves('wire.timestamps.webhook');
    proves('choice.send.sent-event', 'choice.payload.exact');
    const { key, connectionId } = await seedWorkspace(service);
    const answer = await send(key, { connectionId, to: newPhone(), text: 'hello' });
    const { messageId, waMessageId } = sendMessageAnswer.parse(answer.body);
    expect(await toldOf(service, connectionId)).toMatchObject([
      { event: 'message.status', messageId, status: 'sent' },
    ]);
    const [entry] = await toldOf(service, connectionId);
    expect(entry?.payload).toEqual({
      event: 'message.status',
      connection_id: connectionId,
      message: { id: messageId, wa_id: waMessageId, status: 'sent', timestamp: service.platform.time.now() },
    });
  });

  test('a cloud_api connection sends in the same way and emits no event, and polling shows its messages', async () => {
    proves('service.cloud-api.silent', 'service.cloud-api.polled', 'service.provider.same-shapes');
    proves('events.qr-only');
    const { key, workspaceId } = await seedWorkspace(service);
    const { id } = await addConnection(service, workspaceId, '4915100000010', 'cloud_api');
    const to = newPhone();
    await service.platform.contacts.put(to, { deliverAfterMs: 100, readAfterMs: 200 });
    expect((await send(key, { connectionId: id, to, text: 'hello' })).status).toBe(200);
    await service.platform.time.advance({ ms: 60_000 });
    await service.platform.messages.receive(id, { from: to, text: 'hi' });
    expect(await stored(key)).toMatchObject([
      { connectionId: id, direction: 'incoming', text: 'hi' },
      { connectionId: id, direction: 'outgoing', text: 'hello', status: 'read' },
    ]);
    expect(await toldOf(service, id)).toEqual([]);
  });

  test.each([
    ['text', { text: 'nul \0 inside' }],
    ['text', { text: 'half \ud83d of a pair' }],
    ['to', { to: '+4915112345678' }],
  ])('refuses an invalid %s and names it: %j', async (field, change) => {
    proves('messages.send.to', 'messages.send.text', 'choice.send.refused');
    proves('errors.invalid_request', 'errors.body.field');
    const { key, connectionId } = await seedWorkspace(service);
    const to = newPhone();
    const answer = await send(key, { connectionId, to, text: 'hello', ...change });
    expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_request', field }]);
    expect(await phoneOf(to)).toEqual([]);
    expect(await stored(key)).toEqual([]);
  });

  test('returns the same 404 for a connection that is unknown, of another workspace, or not accessible to the key', async () => {
    proves('choice.foreign.same');
    const stranger = await seedWorkspace(service);
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const { key } = await service.platform.apiKeys.create(workspaceId, { connectionIds: [] });
    for (const id of [connectionId, stranger.connectionId, 'unknown', 'c'.padEnd(25, '0'), 'nul\0']) {
      const answer = await send(key, { connectionId: id, to: newPhone(), text: 'hello' });
      expect([answer.status, answer.body]).toEqual([404, { error: 'not_found' }]);
    }
  });

  test.each([
    ['standalone', 'license_inactive'],
    ['crm_portal', 'addon_required'],
  ] as const)('a lapsed license in a %s workspace returns 402 %s', async (kind, code) => {
    proves('service.gate.unsendable', 'service.portal.addon');
    proves('errors.license_inactive', 'errors.addon_required');
    proves('choice.unlicensed.refused');
    const { key, connectionId } = await seedWorkspace(service, { kind });
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    const to = newPhone();
    const answer = await send(key, { connectionId, to, text: 'hello' });
    expect([answer.status, answer.body]).toEqual([402, { error: code }]);
    expect(await phoneOf(to)).toEqual([]);
    await service.platform.licenses.set(connectionId, { status: 'none' });
    const never = await send(key, { connectionId, to, text: 'hello' });
    expect([never.status, never.body]).toEqual([402, { error: code }]);
  });

  test('a trial ends after seven days', async () => {
    proves('service.standalone.trial', 'service.standalone.paid-after', 'service.standalone.bundled');
    proves('limits.trial');
    proves('choice.license.ends');
    const { key, connectionId } = await seedWorkspace(service);
    await service.platform.time.advance({ ms: 7 * DAY - 1 });
    expect((await send(key, { connectionId, to: newPhone(), text: 'hello' })).status).toBe(200);
    await service.platform.time.advance({ ms: 1 });
    expect((await send(key, { connectionId, to: newPhone(), text: 'hello' })).status).toBe(402);
  });

  test('returns 422 for a number without an account, stores nothing and sends no event', async () => {
    proves('errors.recipient_not_on_whatsapp', 'choice.send.refused');
    const { key, connectionId } = await seedWorkspace(service);
    const to = newPhone();
    await service.platform.contacts.put(to, { onNetwork: false });
    const answer = await send(key, { connectionId, to, text: 'hello' });
    expect([answer.status, answer.body]).toEqual([422, { error: 'recipient_not_on_whatsapp' }]);
    expect(await stored(key)).toEqual([]);
    expect(await toldOf(service, connectionId)).toEqual([]);
  });

  describe('with an idempotency key', () => {
    test('returns the first answer to a repeat and sends once', async () => {
      proves('messages.send.retry', 'messages.send.key-in-body');
      const { key, connectionId } = await seedWorkspace(service);
      const to = newPhone();
      const body = { connectionId, to, text: 'once', idempotencyKey: 'k-1' };
      const first = await send(key, body);
      const second = await send(key, body);
      expect([second.status, second.body]).toEqual([200, first.body]);
      expect(await phoneOf(to)).toHaveLength(1);
      expect(await stored(key)).toHaveLength(1);
      expect(await toldOf(service, connectionId)).toHaveLength(1);
    });

    test('and a different connection, recipient or content returns idempotency_key_reuse and sends nothing', async () => {
      proves('choice.send-key.other-body');
      const { key, workspaceId, connectionId } = await seedWorkspace(service);
      const second = await addConnection(service, workspaceId, newPhone());
      const [to, other] = [newPhone(), newPhone()];
      const media = { filename: 'one.png', mimetype: 'image/png', data: 'QUJD' };
      const text = { connectionId, to, text: 'one', idempotencyKey: 'k-2' };
      const file = { connectionId, to, media, idempotencyKey: 'k-2-file' };
      expect([(await send(key, text)).status, (await send(key, file)).status]).toEqual([200, 200]);
      const changed = [
        { ...text, connectionId: second.id },
        { ...text, to: other },
        { ...text, text: 'one ' },
        { ...file, idempotencyKey: 'k-2' },
        { ...file, to: other },
        { ...file, media: { ...media, data: 'REVG' } },
        { ...file, media: { ...media, filename: 'two.png' } },
        { ...file, media: { ...media, mimetype: 'image/jpeg' } },
        { ...file, media: { ...media, caption: 'one' } },
      ];
      for (const body of changed) {
        const answer = await send(key, body);
        expect([answer.status, answer.body]).toEqual([400, { error: 'idempotency_key_reuse' }]);
      }
      expect([(await phoneOf(to)).length, (await phoneOf(other)).length]).toEqual([2, 0]);
    });

    test('returns the answer only to credentials with access to the connection', async () => {
      proves('choice.send-key.reach');
      const { key, workspaceId, connectionId } = await seedWorkspace(service);
      const { id: elsewhere } = await addConnection(service, workspaceId, newPhone());
      const to = newPhone();
      const body = { connectionId, to, text: 'secret', idempotencyKey: 'k-8' };
      const first = await send(key, body);
      const near = await service.platform.apiKeys.create(workspaceId, { connectionIds: [connectionId] });
      const far = await service.platform.apiKeys.create(workspaceId, { connectionIds: [elsewhere] });
      expect((await send(near.key, body)).body).toEqual(first.body);
      const unreached = await send(far.key, body);
      expect([unreached.status, unreached.body]).toEqual([404, { error: 'not_found' }]);
      const own = await send(far.key, { ...body, connectionId: elsewhere });
      expect([own.status, own.body]).toEqual([400, { error: 'idempotency_key_reuse' }]);
      expect(await phoneOf(to)).toHaveLength(1);
    });

    test('keys are separate for each workspace', async () => {
      proves('choice.send-key.lifetime');
      const one = await seedWorkspace(service);
      const other = await seedWorkspace(service);
      const to = newPhone();
      for (const { key, connectionId } of [one, other]) {
        expect((await send(key, { connectionId, to, text: 'hi', idempotencyKey: 'shared' })).status).toBe(
          200,
        );
      }
      expect(await phoneOf(to)).toHaveLength(2);
    });

    test('a key expires after 24 hours, and not before', async () => {
      proves('choice.send-key.lifetime');
      const { key, connectionId } = await seedWorkspace(service);
      const to = newPhone();
      const body = { connectionId, to, text: 'again', idempotencyKey: 'k-3' };
      const first = await send(key, body);
      await service.platform.time.advance({ ms: DAY - 1 });
      expect((await send(key, body)).body).toEqual(first.body);
      await service.platform.time.advance({ ms: 1 });
      expect((await send(key, body)).body).not.toEqual(first.body);
      expect(await phoneOf(to)).toHaveLength(2);
    });

    test('an error frees the key', async () => {
      proves('choice.send-key.remembers');
      const { key, connectionId } = await seedWorkspace(service);
      const to = newPhone();
      const body = { connectionId, to, text: 'hello', idempotencyKey: 'k-4' };
      await service.platform.contacts.put(to, { onNetwork: false });
      expect((await send(key, body)).status).toBe(422);
      await service.platform.contacts.put(to, { onNetwork: true });
      expect((await send(key, body)).status).toBe(200);
      expect(await phoneOf(to)).toHaveLength(1);
    });

    test('a repeat returns the first answer although the license has lapsed since', async () => {
      const { key, connectionId } = await seedWorkspace(service);
      const body = { connectionId, to: newPhone(), text: 'hello', idempotencyKey: 'k-5' };
      const first = await send(key, body);
      await service.platform.licenses.set(connectionId, { status: 'expired' });
      const second = await send(key, body);
      expect([second.status, second.body]).toEqual([200, first.body]);
    });

    test('accepts any text as a key, and distinguishes Unicode forms', async () => {
      const { key, connectionId } = await seedWorkspace(service);
      const to = newPhone();
      for (const idempotencyKey of ['nul\0', '\ud83d', 'é', 'e\u0301', "'; --"]) {
        expect((await send(key, { connectionId, to, text: 'x', idempotencyKey })).status).toBe(200);
      }
      expect(await phoneOf(to)).toHaveLength(5);
    });

    test('one of a hundred concurrent sends is made, the others wait or return its answer', async () => {
      proves('messages.send.in-progress', 'messages.send.retry');
      const { key, connectionId } = await seedWorkspace(service);
      const to = newPhone();
      const body = { connectionId, to, text: 'storm', idempotencyKey: 'k-6' };
      const answers = await Promise.all(Array.from({ length: 100 }, () => send(key, body)));
      const ids = answers
        .filter((answer) => answer.status === 200)
        .map((answer) => sendMessageAnswer.parse(answer.body).messageId);
      expect(new Set(ids).size).toBe(1);
      for (const answer of answers.filter((other) => other.status !== 200)) {
        expect([answer.status, answer.body]).toEqual([409, { error: 'in_progress' }]);
      }
      expect(await phoneOf(to)).toHaveLength(1);
    });
  });
});
