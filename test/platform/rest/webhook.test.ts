import { describe, expect, test } from 'vitest';
import {
  putWebhookAnswer,
  rotateWebhookAnswer,
  webhookAnswer,
} from '../../../src/contract/service/webhook.ts';
import { ofFile } from '../../support/of-file.ts';
import { readExactly, seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const EVENTS = ['message.received', 'message.status', 'connection.disconnected', 'connection.connected'];

describe('webhook endpoints', () => {
  const service = ofFile(startTestPlatform);

  const url = 'https://hooks.example.com/messaging';

  test('has no URL and no secret before the first PUT', async () => {
    proves('choice.webhook.before-put');
    const { key } = await seedWorkspace(service);
    const answer = await service.call('GET', '/webhook', { key });
    expect([answer.status, readExactly(webhookAnswer, answer.body)]).toEqual([
      200,
      { url: null, events: EVENTS, secretSet: false },
    ]);
    const rotation = await service.call('POST', '/webhook/rotate', { key });
    expect([rotation.status, rotation.body]).toEqual([400, { error: 'invalid_webhook' }]);
  });

  test('PUT issues the secret, GET never shows it, rotation replaces it', async () => {
    proves('webhook.put.issues', 'webhook.put.answer', 'webhook.put.request', 'webhook.get.no-secret');
    proves('webhook.get.answer', 'webhook.rotate.answer', 'webhook.config.url', 'webhook.config.events');
    proves('webhook.config.secret', 'webhook.config.secretSet', 'webhook.config.no-delete');
    proves('choice.webhook.same-url');
    const { key } = await seedWorkspace(service);
    const put = await service.call('PUT', '/webhook', { key, body: { url } });
    const { secret } = readExactly(putWebhookAnswer, put.body);
    expect([put.status, put.body]).toEqual([200, { url, events: EVENTS, secret }]);
    const get = await service.call('GET', '/webhook', { key });
    expect(readExactly(webhookAnswer, get.body)).toEqual({ url, events: EVENTS, secretSet: true });
    const rotation = await service.call('POST', '/webhook/rotate', { key });
    const rotated = readExactly(rotateWebhookAnswer, rotation.body);
    expect(rotation.body).toEqual({ secret: expect.any(String) });
    expect(rotated.secret).not.toBe(secret);
    const again = await service.call('PUT', '/webhook', { key, body: { url } });
    expect(readExactly(putWebhookAnswer, again.body).secret).not.toBe(rotated.secret);
    const deletion = await service.call('DELETE', '/webhook', { key });
    expect([deletion.status, deletion.body]).toEqual([405, { error: 'method_not_allowed' }]);
  });

  test('belongs to the workspace, whichever key is used', async () => {
    proves('webhook.config.one');
    const { key, workspaceId } = await seedWorkspace(service);
    await service.call('PUT', '/webhook', { key, body: { url } });
    const other = await service.platform.apiKeys.create(workspaceId, { connectionIds: [] });
    expect((await service.call('GET', '/webhook', { key: other.key })).body).toMatchObject({
      url,
      secretSet: true,
    });
    const stranger = await seedWorkspace(service);
    expect((await service.call('GET', '/webhook', { key: stranger.key })).body).toMatchObject({ url: null });
  });
});
