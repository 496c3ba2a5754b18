import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestSandbox, type TestSandbox } from '../../sandbox/fixture.ts';
import { proves } from '../../support/proves.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

/*
 * Types of the specification's tables as matchers, written from its words. The contract's schemas are not used:
 * with a shared mistake both would be wrong together.
 */

const anId = expect.stringMatching(/^c[a-z0-9]{20,31}$/);
const aDateTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/);
const aUri = expect.stringMatching(/^https?:\/\/[^\s]+$/);
const aString = expect.any(String);

const NUMBER = '447700900177';
const CONTACT = '447700900201';

describe('shapes on the wire', () => {
  let bed: TestSandbox;
  let receiver: Receiver;
  let workspaceId: string;
  let key: string;

  beforeAll(async () => {
    [bed, receiver] = await Promise.all([startTestSandbox(), startReceiver()]);
    await bed.call('PUT', '/hosts/crm.example.com', { target: receiver.origin });
    const { body } = await bed.call('POST', '/workspaces', { kind: 'standalone', slots: 50 });
    workspaceId = body.workspace.id;
    key = (await bed.call('POST', `/workspaces/${workspaceId}/api-keys`, {})).body.key;
    await addConnection('qr', '447700900179');
  });
  afterAll(async () => {
    await bed.close();
    await receiver.close();
  });

  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
  async function ask(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await bed.service.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    return answer.body;
  }

  async function addConnection(provider: 'qr' | 'cloud_api', phoneNumber: string): Promise<string> {
    const path = `/workspaces/${workspaceId}/connections`;
    return (await bed.call('POST', path, { provider, phoneNumber, label: 'Shop' })).body.connection.id;
  }

  test(
    'an element of GET /connections, of either kind',
    proves(
      'connections.item.exact',
      'connections.item.id',
      'connections.item.phoneNumber',
      'connections.item.label',
      'connections.item.status',
      'connections.item.isDefault',
      'connections.item.provider',
      'connections.item.tier',
      'connections.item.profilePicUrl',
      'connections.item.licenseValid',
      'connections.item.licenseStatus',
      'connections.item.licenseExpires',
      'connections.item.phone',
      'connections.item.name',
      'connections.list.answer',
      'service.provider.same-shapes',
      'versioning.aliases',
      'versioning.camel-case',
      'wire.timestamps.rest',
      'choice.tier.values',
      'service.provider.kinds',
    ),
    async () => {
      for (const provider of ['qr', 'cloud_api'] as const) {
        const phoneNumber = provider === 'qr' ? NUMBER : '447700900178';
        const id = await addConnection(provider, phoneNumber);
        const { connections, ...rest } = await ask('GET', '/connections');
        expect(rest).toEqual({});
        const listed = connections.find((connection: { id: string }) => connection.id === id);
        expect(listed).toEqual({
          id: anId,
          phoneNumber,
          label: 'Shop',
          status: 'open',
          isDefault: false,
          provider,
          tier: provider === 'qr' ? 'basic' : 'pro',
          profilePicUrl: aUri,
          licenseValid: true,
          licenseStatus: 'trial',
          licenseExpires: aDateTime,
          phone: phoneNumber,
          name: 'Shop',
        });
      }
    },
  );

  test(
    'an element of GET /messages, in either direction, on either kind',
    proves(
      'messages.item.exact',
      'messages.item.id',
      'messages.item.waMessageId',
      'messages.item.connectionId',
      'messages.item.direction',
      'messages.item.text',
      'messages.item.mediaUrl',
      'messages.item.mediaType',
      'messages.item.status',
      'messages.item.errorMessage',
      'messages.item.createdAt',
      'messages.list.answer',
      'service.provider.same-shapes',
      'service.cloud-api.polled',
      'wire.timestamps.rest',
    ),
    async () => {
      for (const provider of ['qr', 'cloud_api'] as const) {
        const connectionId = await addConnection(
          provider,
          provider === 'qr' ? '447700900171' : '447700900172',
        );
        const { messageId } = await ask('POST', '/messages', { connectionId, to: CONTACT, text: 'out' });
        await bed.call('POST', `/contacts/${CONTACT}/messages`, { connectionId, text: 'in' });
        const shared = {
          waMessageId: aString,
          connectionId,
          mediaUrl: null,
          mediaType: null,
          errorMessage: null,
          createdAt: aDateTime,
        };
        expect(await ask('GET', `/messages?connectionId=${connectionId}`)).toEqual({
          messages: [
            { ...shared, id: anId, direction: 'incoming', text: 'in', status: 'delivered' },
            { ...shared, id: messageId, direction: 'outgoing', text: 'out', status: 'sent' },
          ],
          nextCursor: null,
          hasMore: false,
        });
      }
    },
  );

  test(
    'a failed message has the reason',
    proves('messages.item.errorMessage', 'status.sent-failed', 'service.cloud-api.polled'),
    async () => {
      const unreachable = '447700900204';
      const connectionId = await addConnection('cloud_api', '447700900173');
      await ask('POST', '/messages', { connectionId, to: unreachable, text: 'out' });
      await bed.call('POST', '/clock/advance', { ms: 60_000 });
      const { messages } = await ask('GET', `/messages?connectionId=${connectionId}`);
      expect(messages).toMatchObject([{ status: 'failed', errorMessage: aString }]);
    },
  );

  test(
    'the answers of a restart, a logout, a pairing code, a deletion and a receipt',
    proves(
      'connections.restart.answer',
      'connections.logout.answer',
      'connections.pairing-code.answer',
      'connections.pairing-code.request',
      'connections.delete.answer',
      'messages.read.answer',
      'shapes.acknowledgement',
      'shapes.restart',
      'shapes.pairing-code',
      'shapes.read-receipt',
    ),
    async () => {
      const id = await addConnection('qr', '447700900174');
      await bed.call('POST', `/contacts/${CONTACT}/messages`, { connectionId: id, text: 'in' });
      expect(await ask('POST', '/messages/read', { connectionId: id, phone: CONTACT })).toEqual({
        ok: true,
        marked: 1,
      });
      expect(await ask('POST', `/connections/${id}/restart`)).toEqual({ ok: true, recreated: false });
      expect(await ask('POST', `/connections/${id}/logout`)).toEqual({ ok: true });
      expect(await ask('POST', `/connections/${id}/restart`)).toEqual({ ok: true, recreated: true });
      expect(await ask('POST', `/connections/${id}/pairing-code`, { phoneNumber: '447700900174' })).toEqual({
        code: expect.stringMatching(/^[A-Z0-9]{4}-[A-Z0-9]{4}$/),
      });
      expect(await ask('DELETE', `/connections/${id}`)).toEqual({ ok: true });
    },
  );

  test('the account', proves('account.exact', 'account.get.answer', 'wire.timestamps.rest'), async () => {
    const count = expect.any(Number);
    expect(await ask('GET', '/account')).toEqual({
      slots: { total: count, used: count, available: count, nextExpiry: aDateTime },
      connections: { total: count, connected: count, needsReconnect: count },
    });
  });

  test(
    'the webhook, and the payload of a message',
    proves(
      'webhook.config.url',
      'webhook.config.events',
      'webhook.config.secret',
      'webhook.config.secretSet',
      'webhook.config.no-delete',
      'webhook.get.answer',
      'webhook.put.answer',
      'webhook.rotate.answer',
      'events.received.exact',
      'events.snake-case',
      'versioning.webhooks-snake-case',
      'events.received.media-null',
      'events.received.wa_id',
      'events.received.from',
      'events.received.timestamp',
      'wire.timestamps.webhook',
      'choice.payload.exact',
    ),
    async () => {
      const url = 'https://crm.example.com/webhooks';
      const events = [
        'message.received',
        'message.status',
        'connection.disconnected',
        'connection.connected',
      ];
      expect(await ask('PUT', '/webhook', { url })).toEqual({ url, events, secret: aString });
      expect(await ask('GET', '/webhook')).toEqual({ url, events, secretSet: true });
      expect(await ask('POST', '/webhook/rotate')).toEqual({ secret: aString });
      expect(await ask('DELETE', '/webhook')).toEqual({ error: 'method_not_allowed' });
      const connectionId = await addConnection('qr', '447700900175');
      const { body } = await bed.call('POST', `/contacts/${CONTACT}/messages`, { connectionId, text: 'Hi' });
      const [request] = await receiver.received(1);
      expect(JSON.parse(request?.body.toString() ?? '')).toEqual({
        event: 'message.received',
        connection_id: connectionId,
        message: {
          id: body.messageId,
          wa_id: aString,
          from: CONTACT,
          text: 'Hi',
          media_url: null,
          media_type: null,
          timestamp: bed.service.platform.time.now(),
        },
      });
    },
  );

  test(
    'refusals: only the code, and the field with invalid_request',
    proves(
      'errors.body.code',
      'errors.body.field',
      'errors.body.hint',
      'errors.body.no-more',
      'endpoints.json',
    ),
    async () => {
      expect(await ask('GET', '/connections/unknown')).toEqual({ error: 'not_found' });
      expect(await ask('POST', '/messages', { connectionId: 'x', to: CONTACT })).toEqual({
        error: 'text_or_media',
      });
      expect(await ask('PUT', '/webhook', { url: 'http://crm.example.com' })).toEqual({
        error: 'invalid_webhook',
      });
      expect(await ask('GET', '/messages?limit=0')).toEqual({
        error: 'invalid_request',
        field: 'limit',
        hint: aString,
      });
      for (const path of ['/connections', '/connections/unknown']) {
        const { headers } = await bed.service.call('GET', path, { key });
        expect(headers.get('content-type')).toMatch(/^application\/json(?:;|$)/);
      }
    },
  );
});
