import { expect, it, onTestFinished } from 'vitest';
import { startRelay } from '../../src/scenario/own-receiver.ts';
import { startReceiver } from '../support/receiver.ts';
import { isSignedWith } from '../support/signed-request.ts';

const SECRET = 'whsec_of_my_receiver';

it.each([
  ['accepted by both', 200, 200, 200, true],
  ['refused by the receiver', 200, 503, 503, true],
  ['sent elsewhere by the receiver', 200, 307, 307, true],
  ['refused by the connector', 401, 200, 401, false],
  ['refused by both', 401, 403, 403, false],
])('a delivery that is %s', async (_, connectorStatus, ownStatus, answered, isSigned) => {
  const [connector, own] = [await startReceiver(), await startReceiver()];
  const relay = await startRelay({ url: `${own.origin}/webhooks?a=1`, secret: SECRET });
  onTestFinished(async () => {
    relay.close();
    await Promise.all([connector.close(), own.close()]);
  });
  let target = '';
  await relay.attach(async ({ method, path, body }) => {
    if (path === '/sandbox/v1/info')
      return { webhookUrl: 'https://connector.example.com/webhooks/messaging' };
    if (method === 'GET') return { entries: [{ host: 'connector.example.com', target: connector.origin }] };
    target = (JSON.parse(body ?? '') as { target: string }).target;
    return {};
  });
  connector.otherwise({ status: connectorStatus });
  own.otherwise({ status: ownStatus, headers: { location: connector.origin } });
  const headers = {
    'content-type': 'application/json',
    'x-service-timestamp': '1763700000000',
    'x-service-signature': `sha256=${'a'.repeat(64)}`,
  };
  const response = await fetch(`${target}/webhooks/messaging`, {
    method: 'POST',
    headers,
    body: '{"é": 1.0}',
  });
  expect(response.status).toBe(answered);
  const [first] = connector.requests;
  const [second] = own.requests;
  expect([first?.path, second?.path]).toEqual(['/webhooks/messaging', '/webhooks?a=1']);
  expect(first?.headers['x-service-signature']).toEqual([headers['x-service-signature']]);
  expect(second?.body).toEqual(first?.body);
  expect(second?.body.toString()).toBe('{"é": 1.0}');
  expect(isSignedWith(SECRET, second)).toBe(isSigned);
});
