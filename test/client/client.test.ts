import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { CallRefused, type Change, changesAfter, createConnectorClient } from '../../src/client/index.ts';
import { startTestLoop } from '../support/loop.ts';
import { ofFile } from '../support/of-file.ts';
import { serve } from '../support/serve.ts';

describe('the client of a connector', () => {
  const running = ofFile(startTestLoop);

  const clientWith = (token: string, timeoutMs?: number) =>
    createConnectorClient({
      url: `${running.connectorUrl}/`,
      token,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });

  it('sends, reads, and walks the feed over all pages', async () => {
    const client = clientWith(running.connectorToken);
    const connectionId = await running.client.qrConnection();
    await client.syncNow();
    const body = { connectionId, to: '447700900201', text: 'Hello', reference: 'order-1' };
    const { outboundId } = await client.queueMessage({ body });
    await running.loop.settle();
    expect(await client.getOutbound({ params: { id: outboundId } })).toMatchObject({
      state: 'sent',
      text: 'Hello',
    });
    for (let index = 0; index < 101; index += 1) await running.client.write(connectionId, `text ${index}`);
    await running.loop.settle();
    const changes: Change[] = [];
    for await (const change of changesAfter(client, 0)) changes.push(change);
    expect(changes.length).toBeGreaterThan(101);
    expect(changes.map(({ seq }) => seq)).toEqual(changes.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect(new Set(changes.map(({ seq }) => seq)).size).toBe(changes.length);
    const last = changes.at(-1)?.seq ?? 0;
    expect((await changesAfter(client, last).next()).done).toBe(true);
  });

  it('names the call and the code of a refusal', async () => {
    const refused = clientWith('a-token-that-nobody-has').listMessages({ query: { limit: 1 } });
    await expect(refused).rejects.toThrow(CallRefused);
    await expect(refused).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
      message: expect.stringContaining('GET /v1/messages?limit=1 answered 401 unauthorized'),
    });
  });

  it.each([
    [
      'a page of a proxy',
      200,
      { 'content-type': 'text/html' },
      '<html>Sign in</html>',
      'answered 200 with text/html',
    ],
    ['an empty answer', 200, {}, '', 'answered 200 with nothing'],
    [
      'an answer that is cut off',
      202,
      { 'content-type': 'application/json' },
      '{"outboundId":',
      'answered 202',
    ],
    ['an error without a body', 502, { 'content-type': 'application/json' }, '', 'answered 502'],
    ['a redirect', 301, { location: '/v1/outbound' }, '', 'answered 301'],
  ])('takes %s for no success of a send', async (_, status, headers, text, says) => {
    const other = createServer((request, response) => {
      const isCall = request.method === 'POST';
      response.writeHead(isCall ? status : 200, isCall ? headers : { 'content-type': 'application/json' });
      response.end(isCall ? text : '{}');
    });
    const { url, close } = await serve(other);
    const body = { connectionId: 'c1', to: '447700900201', text: 'Hello', reference: 'order-1' };
    const sent = createConnectorClient({ url, token: 'any' }).queueMessage({ body });
    await expect(sent).rejects.toThrow(CallRefused);
    await expect(sent).rejects.toMatchObject({ status, message: expect.stringContaining(says) });
    await close();
  });

  it('gives up after the given time', async () => {
    await expect(clientWith(running.connectorToken, 0).listMessages()).rejects.toThrow('timeout');
  });
});
