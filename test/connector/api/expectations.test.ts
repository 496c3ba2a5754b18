import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';

const MIB = 1024 * 1024;
const READER = 'a-token-that-only-reads';
const { world, running } = connectorOfFile(() => ({
  apiTokens: [{ name: 'reader', rights: ['read'], token: READER }],
}));

/** The statuses of all answers to a request that waits for an invitation before it sends `body`. */
async function ask(line: string, headers: readonly string[], length: number): Promise<readonly number[]> {
  const head = [`${line} HTTP/1.1`, 'Host: localhost', ...headers, `Content-Length: ${length}`];
  const { statuses } = await exchangeRaw(
    Number(new URL(running.url).port),
    `${head.join('\r\n')}\r\nExpect: 100-continue\r\n\r\n`,
  );
  return statuses;
}

const bearer = (token: string): string => `Authorization: Bearer ${token}`;
const signature = `X-Service-Signature: sha256=${'0'.repeat(64)}`;

describe('a request with `Expect: 100-continue` is refused before it sends its body', () => {
  it.each([
    ['a delivery without a signature', 'POST /webhooks/messaging', [], 20, 401],
    ['a delivery of long ago', 'POST /webhooks/messaging', [signature, 'X-Service-Timestamp: 1'], 20, 401],
    ['a delivery that is too large', 'POST /webhooks/messaging', [], MIB + 1, 413],
    ['a delivery of nobody', 'POST /webhooks/messaging/nobody', [], 20, 404],
    ['a call without a token', 'POST /v1/messages', [], 20, 401],
    ['a call with a wrong token', 'POST /v1/messages', [bearer('wrong')], 20, 401],
    ['a call without the right', 'POST /v1/messages', [bearer(READER)], 20, 403],
    ['a call that is too large', 'POST /v1/sync', [bearer(TOKEN)], 64 * 1024 + 1, 413],
    ['a send that is too large', 'POST /v1/messages', [bearer(TOKEN)], 23 * MIB, 413],
    ['a compressed call', 'POST /v1/sync', [bearer(TOKEN), 'Content-Encoding: gzip'], 20, 400],
    ['a call of no address', 'POST /v1/nothing', [bearer(TOKEN)], 20, 404],
    ['a method that is none', 'PATCH /v1/messages', [bearer(TOKEN)], 20, 405],
  ])('%s', async (_, line, headers, length, status) => {
    expect(await ask(line, headers, length)).toEqual([status]);
  });
});

it('a delivery with valid headers is answered with 100 Continue and accepted', async () => {
  const body = '{"event":"x"}';
  const timestamp = String(world.clock.now());
  const mac = createHmac('sha256', world.secret).update(`${timestamp}.${body}`).digest('hex');
  const head = `POST /webhooks/messaging HTTP/1.1\r\nHost: localhost\r\nX-Service-Timestamp: ${timestamp}\r\nX-Service-Signature: sha256=${mac}\r\nContent-Length: ${body.length}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n`;
  const { statuses } = await exchangeRaw(Number(new URL(running.url).port), head, body);
  expect(statuses.at(-1)).toBe(200);
});
