import { describe, expect, it } from 'vitest';
import { readWebhookPath } from '../../../src/connector/inbox/webhook-path.ts';

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
