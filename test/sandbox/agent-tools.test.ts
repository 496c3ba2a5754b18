import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useHookedSandbox } from './hooked-sandbox.ts';

const hook = useHookedSandbox();
let agent: Client;

beforeEach(async () => {
  agent = new Client({ name: 'test', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${hook.port}/mcp`)));
});
afterEach(() => agent.close());

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
const ask = async (name: string, given: object = {}): Promise<any> => {
  const answer = await agent.callTool({ name, arguments: { ...given } });
  expect(answer.content).toEqual([{ type: 'text', text: JSON.stringify(answer.structuredContent) }]);
  return answer.structuredContent;
};
const PHONE = '491700000009';

it('an agent lets a contact write while deliveries are lost, moves time, and sees that the event was dropped', async () => {
  const body = { id: 'lose', match: { surface: 'webhook' }, action: { type: 'drop' } };
  expect(await ask('add_fault', { body })).toMatchObject({ rules: [{ id: 'lose' }] });
  const message = { connectionId: hook.connectionId, text: 'hello' };
  const { messageId } = await ask('contact_writes', { phone: PHONE, body: message });
  await ask('advance_clock', { body: { ms: 10_000 } });
  const waited = await ask('wait', { body: { list: 'deliveries', q: 'fault:lose' } });
  expect(waited).toMatchObject({ holds: true, entries: [{ messageId }] });
  expect(hook.receiver.requests).toEqual([]);
});

it('what an agent does is in the recording, as if it was called over HTTP', async () => {
  const body = { connectionId: hook.connectionId, text: 'hello' };
  await ask('contact_writes', { phone: PHONE, body });
  const { body: recording } = await hook.call('GET', '/recording');
  expect(JSON.stringify(recording)).toContain(`/contacts/${PHONE}/messages`);
});

it('lists are filtered, and read page by page', async () => {
  const body = { connectionId: hook.connectionId, text: 'hello', times: 2 };
  await ask('contact_writes', { phone: PHONE, body });
  const query = { q: `contact:${PHONE}`, limit: '1' };
  const { entries, nextCursor: cursor } = await ask('list_stored_messages', { query });
  expect(entries).toMatchObject([{ peer: PHONE }]);
  expect((await ask('list_stored_messages', { query: { ...query, cursor } })).entries).toHaveLength(1);
});

it('a refusal names the field, with the code and the words of the endpoint', async () => {
  const refused = await agent.callTool({
    name: 'contact_writes',
    arguments: { phone: '+49', body: { connectionId: hook.connectionId, text: 'hello' } },
  });
  expect(refused).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/^\{"error":"invalid_[a-z_]+"/) }],
  });
});

it('the tools are described by the contract, and those that only read say so', async () => {
  const { tools } = await agent.listTools();
  const wait = tools.find(({ name }) => name === 'list_deliveries');
  expect(wait).toMatchObject({
    description: expect.stringMatching(/^Lists deliveries/),
    annotations: { readOnlyHint: true },
    inputSchema: { properties: { query: { type: 'object' } } },
  });
  expect(
    tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name),
  ).toEqual([
    'get_info',
    'list_connections',
    'read_connection',
    'list_stored_messages',
    'get_clock',
    'get_faults',
    'list_deliveries',
    'read_delivery',
    'list_calls',
    'read_call',
  ]);
});

it('a page of another origin may not call them, and other methods are refused', async () => {
  const url = `http://127.0.0.1:${hook.port}/mcp`;
  const foreign = await fetch(url, {
    method: 'POST',
    headers: { origin: 'https://evil.example.com', 'content-type': 'application/json' },
    body: '{}',
  });
  expect(foreign.status).toBe(403);
  const read = await fetch(url);
  expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST']);
});
