import { describe, expect, it } from 'vitest';
import { explainPath, readWebhookPath } from '../../../src/connector/inbox/webhook-path.ts';

describe('the path of a webhook', () => {
  it.each([
    ['/webhooks/messaging', {}],
    ['/webhooks/messaging/', {}],
    ['/webhooks/messaging?a=/b', {}],
    ['/webhooks/messaging/abc', { subscriptionId: 'abc' }],
    ['/webhooks/messaging/abc?x=1', { subscriptionId: 'abc' }],
    ['/webhooks/messaging/a%20b%2Fc', { subscriptionId: 'a b/c' }],
    ['/webhooks/messaging/%zz', null],
    ['/webhooks/messaging/%ff', null],
    ['/webhooks/messaging/a/b', null],
    ['/webhooks/messaging/abc/', { subscriptionId: 'abc' }],
    ['/webhooks/messaging/abc/?x=1', { subscriptionId: 'abc' }],
    ['/webhooks/messaging/abc//', null],
    ['/webhooks/messaging//', null],
    ['/webhooks/messagingx', undefined],
    ['/webhooks', undefined],
    ['/', undefined],
    ['*', undefined],
    ['', undefined],
  ])('reads %s', (target, path) => {
    expect(readWebhookPath(target)).toEqual(path);
  });
});

describe('a public address', () => {
  it.each(['https://crm.example/webhooks/messaging', 'https://crm.example/webhooks/messaging/?a=1'])(
    'is that of the receiver: %s',
    (url) => {
      expect(explainPath(url)).toBeNull();
    },
  );

  it.each([
    ['https://crm.example/hooks', '/hooks'],
    ['https://crm.example', '/'],
    ['https://crm.example/crm/webhooks/messaging', '/crm/webhooks/messaging'],
    ['https://crm.example/webhooks/messaging/first', '/webhooks/messaging/first'],
  ])('may lead nowhere: %s', (url, path) => {
    expect(explainPath(url)).toBe(
      `WEBHOOK_PUBLIC_URL has the path ${path}, but the connector receives webhooks at /webhooks/messaging: unless a proxy rewrites the path, every delivery is answered with 404.`,
    );
  });
});
