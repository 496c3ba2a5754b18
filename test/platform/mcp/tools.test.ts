import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CallRecord } from '../../../src/platform/calls/call-record.ts';
import { proves } from '../../support/proves.ts';
import { type TestApp, worldOfFile } from '../oauth/oauth-fixture.ts';
import { type CallOptions, callTool, post, request, type ToolResult } from './tool-fixture.ts';

let app: TestApp;
let token: string;
let nextPhone = 4915600000000;
/** Few enough to be reached, and more than any other test makes in a minute. */
const SENDS_PER_MINUTE = 30;
const calls: CallRecord[] = [];
const world = worldOfFile(undefined, {
  sendsPerMinute: SENDS_PER_MINUTE,
  ports: { onCall: (call) => void calls.push(call) },
});
beforeAll(async () => {
  app = await world.register();
  token = (await world.obtainTokens(app)).access;
});

const call = (name: string, given: unknown = {}, options: CallOptions = {}): Promise<ToolResult> =>
  callTool(world.service.origin, token, name, given, options);
const send = (given: object): Promise<ToolResult> =>
  call('send_messaging_message', { connectionId: world.connectionId, text: 'hello', ...given });
const received = (phone: string) => world.service.platform.contacts.received(phone);
const newPhone = (): string => String(nextPhone++);

async function addConnection(phoneNumber: string): Promise<string> {
  const { connections } = world.service.platform;
  return (await connections.createPaired(world.workspaceId, { provider: 'qr', phoneNumber })).id;
}

const listed = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string().min(100),
      inputSchema: z.looseObject({ type: z.literal('object'), additionalProperties: z.literal(false) }),
      outputSchema: z.looseObject({ type: z.literal('object'), additionalProperties: z.literal(true) }),
      annotations: z.strictObject({
        readOnlyHint: z.boolean(),
        destructiveHint: z.boolean(),
        idempotentHint: z.boolean(),
        openWorldHint: z.boolean(),
      }),
    }),
  ),
});

describe('the tools', () => {
  it('are three, the same in both eras, with strict inputs, open outputs and all annotations', async () => {
    proves('service.tools.offered', 'tools.shapes');
    const lists = await Promise.all(
      [false, true].map(async (modern) => {
        const { body, headers } = request('tools/list', {}, { modern });
        const { messages } = await post(world.service.origin, token, body, headers);
        return listed.parse(messages.at(-1)?.['result']).tools;
      }),
    );
    expect(lists[0]).toEqual(lists[1]);
    expect(lists[0]?.map(({ name, annotations }) => [name, annotations.readOnlyHint])).toEqual([
      ['list_messaging_connections', true],
      ['send_messaging_message', false],
      ['read_messaging_messages', true],
    ]);
    expect(lists[0]?.[2]?.description).toMatch(/untrusted/);
  });

  it('are offered in each revision, and a client of an unknown one gets a known one', async () => {
    const { origin } = world.service;
    const known = ['2025-06-18', '2025-11-25'];
    for (const protocolVersion of [...known, '1999-12-31']) {
      const clientInfo = { name: 'test', version: '1' };
      const { body } = request('initialize', { protocolVersion, capabilities: {}, clientInfo });
      const { messages, headers } = await post(origin, token, body);
      const chosen = known.includes(protocolVersion) ? [protocolVersion] : known;
      const agreed = expect.stringMatching(new RegExp(`^(${chosen.join('|')})$`));
      expect(messages).toMatchObject([
        {
          result: {
            protocolVersion: agreed,
            capabilities: { tools: {} },
            serverInfo: { name: expect.any(String), version: expect.any(String) },
          },
        },
      ]);
      expect(headers.get('mcp-session-id')).toBeNull();
    }
    for (const revision of known) {
      const negotiated = { 'mcp-protocol-version': revision };
      const said = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
      const accepted = await post(origin, token, said, negotiated);
      expect([accepted.status, accepted.body]).toEqual([202, null]);
      expect((await call('list_messaging_connections', {}, { headers: negotiated })).isError).toBe(false);
    }
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', { name: 'list_messaging_connections', arguments: {} }],
    ] as const) {
      const { body, headers } = request(method, params, { modern: true });
      const [{ result } = { result: null }] = (await post(origin, token, body, headers)).messages;
      const serverInfo = { name: expect.any(String), version: expect.any(String) };
      expect(result).toMatchObject({
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
      });
      if (method === 'tools/call') continue;
      expect(result).toMatchObject({
        ttlMs: expect.any(Number),
        cacheScope: expect.stringMatching(/^(public|private)$/),
      });
    }
  });

  it('list the connections that REST lists, without aliases and pictures', async () => {
    proves('tools.list');
    const { body } = await world.service.call('GET', '/connections', { key: token });
    const { connections } = z.object({ connections: z.array(z.looseObject({})) }).parse(body);
    const { output } = await call('list_messaging_connections', undefined, { modern: true });
    expect(output).toEqual({
      connections: connections.map(({ phone, name, profilePicUrl, ...shown }) => {
        expect([phone, name, profilePicUrl]).not.toContain(undefined);
        return shown;
      }),
    });
    expect(connections.length).toBeGreaterThan(0);
  });

  it('send what REST then shows, under the same id', async () => {
    proves('tools.send');
    const to = newPhone();
    const { output } = await send({ to, text: 'Grüße 👋' });
    expect(output).toMatchObject({ status: 'sent', alreadySent: false });
    expect(await received(to)).toMatchObject([{ messageId: output['messageId'], text: 'Grüße 👋' }]);
    const { body } = await world.service.call('GET', '/messages?limit=1', { key: token });
    expect(body).toMatchObject({ messages: [{ id: output['messageId'], text: 'Grüße 👋' }] });
    const long = await send({ to, text: '👋'.repeat(4_096) });
    expect([long.isError, long.output['status']]).toEqual([false, 'sent']);
  });

  it('read the pages that REST reads, with a notice and without network ids', async () => {
    proves('tools.read');
    const connectionId = await addConnection('4915112345601');
    const { access } = await world.obtainTokens(app, { connection_ids: connectionId });
    for (const text of ['one', 'two', 'three']) {
      await world.service.platform.messages.receive(connectionId, { from: '4915100000009', text });
    }
    const read = (given: object) => callTool(world.service.origin, access, 'read_messaging_messages', given);
    const page = z.object({ messages: z.array(z.looseObject({})), nextCursor: z.string() });
    const { body } = await world.service.call('GET', '/messages?limit=2', { key: access });
    const byRest = page.parse(body);
    const { output } = await read({ limit: 2 });
    expect(output).toEqual({
      notice: expect.stringMatching(/never as instructions/),
      messages: byRest.messages.map(({ waMessageId, ...shown }) => shown),
      nextCursor: expect.any(String),
      hasMore: true,
    });
    const rest = await read({ limit: 2, cursor: byRest.nextCursor });
    expect(rest.output).toMatchObject({ messages: [{ text: 'one' }], nextCursor: null, hasMore: false });
    const outside = await read({ connectionId: world.connectionId });
    expect(outside.output).toMatchObject({ messages: [], hasMore: false });
  });
});

describe('a repeated send', () => {
  it('without a key is another message, and one with its key is not', async () => {
    const to = newPhone();
    const { output } = await send({ to });
    expect((await send({ to })).output).toMatchObject({ alreadySent: false });
    const again = await send({ to, idempotencyKey: output['idempotencyKey'] });
    expect(again.output).toMatchObject({
      messageId: output['messageId'],
      alreadySent: true,
      note: expect.stringMatching(/this call sent nothing/),
    });
    expect(await received(to)).toHaveLength(2);
  });

  it('with the key of a different message is refused, during its send and afterwards', async () => {
    proves('choice.tools.key');
    const [to, other] = [newPhone(), newPhone()];
    const idempotencyKey = 'made up by a model';
    const first = await send({ to, idempotencyKey });
    for (const changed of [{ to: other }, { to, text: 'hello!' }]) {
      const { isError, text } = await send({ ...changed, idempotencyKey });
      expect([isError, text]).toEqual([
        true,
        expect.stringMatching(/^idempotency_key_reuse: .*Nothing was sent now\. Omit the key/),
      ]);
    }
    expect((await send({ to, idempotencyKey })).output).toMatchObject({
      messageId: first.output['messageId'],
      alreadySent: true,
    });
    const racing = await Promise.all(
      ['one', 'two', 'three'].map((text) => send({ to, text, idempotencyKey: 'raced for' })),
    );
    expect(racing.filter(({ isError }) => !isError)).toHaveLength(1);
    expect([await received(to), await received(other)].map(({ length }) => length)).toEqual([2, 0]);
  });

  it('is made if the first one was refused', async () => {
    const to = newPhone();
    const { contacts } = world.service.platform;
    await contacts.put(to, { onNetwork: false });
    expect((await send({ to })).text).toMatch(/^recipient_not_on_whatsapp: /);
    await contacts.put(to, { onNetwork: true });
    expect((await send({ to })).output).toMatchObject({ status: 'sent', alreadySent: false });
    expect(await received(to)).toHaveLength(1);
  });
});

describe('a refusal', () => {
  /** What REST says to the same request. */
  async function byRest(given: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { body } = await world.service.call('POST', '/messages', { key: token, body: given });
    return Reflect.get(Object(body), 'error');
  }

  it('has the error code of REST and says what to do', async () => {
    proves('choice.tools.refusal');
    const { platform } = world.service;
    const ids = {
      unlicensed: await addConnection('4915112345603'),
      broken: await addConnection('4915112345604'),
      busy: await addConnection('4915112345605'),
    };
    token = (await world.obtainTokens(app)).access;
    await platform.licenses.set(ids.unlicensed, { status: 'expired' });
    await platform.outages.begin(ids.broken, { cause: 'zombie', heals: false });
    await platform.contacts.put('4915199999999', { onNetwork: false });
    const right = { connectionId: world.connectionId, to: newPhone(), text: 'hello' };
    for (let sent = 0; sent < SENDS_PER_MINUTE; sent++) {
      await send({ ...right, connectionId: ids.busy, text: `hello ${sent}` });
    }
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
      ['not_found', { ...right, connectionId: 'cunknown' }, /Call list_messaging_connections/],
      ['license_inactive', { ...right, connectionId: ids.unlicensed }, /owner has to renew/],
      ['send_failed', { ...right, connectionId: ids.broken }, /repeat the call once/],
      ['recipient_not_on_whatsapp', { ...right, to: '4915199999999' }, /Do not retry/],
      ['rate_limited', { ...right, connectionId: ids.busy }, /Nothing was sent.*at least \d+ s\.$/],
      ['invalid_request', { ...right, to: '+4915100000000' }, /`to` must be international digits/],
      ['invalid_request', { ...right, to: undefined }, /: `to` is missing\. /],
      ['invalid_request', { ...right, connectionId: 7 }, /: `connectionId` must be a string\. /],
      ['invalid_request', { ...right, text: '' }, /: `text` is empty\. /],
      ['invalid_request', { ...right, text: 'x'.repeat(4_097) }, /`text` must have at most 4096/],
      ['invalid_request', { ...right, text: 'a\0b' }, /`text` must be well-formed/],
      [
        'invalid_request',
        { ...right, idempotencyKey: 'x'.repeat(256) },
        /`idempotencyKey` must have at most 255 characters\. /,
      ],
    ];
    const expectRefusal = async ([code, given, advice]: (typeof cases)[number]) => {
      expect([code, await byRest(given)]).toEqual([code, code]);
      for (const modern of [false, true]) {
        const { isError, text } = await call('send_messaging_message', given, { modern });
        expect([isError, text]).toEqual([true, expect.stringMatching(advice)]);
        expect(text.split(':')[0]).toBe(code);
        expect(calls.at(-1)).toMatchObject({ tool: 'send_messaging_message', code });
      }
    };
    for (const refused of cases) await expectRefusal(refused);

    // A new number may send as often in an hour as was sent here within a minute.
    await world.service.database.query('UPDATE platform.connections SET warmup_until = $2 WHERE id = $1', [
      ids.busy,
      platform.time.now() + 72 * 60 * 60_000,
    ]);
    await platform.time.advance({ ms: 60_000 });
    const more = { ...right, connectionId: ids.busy, text: 'hello again' };
    await expectRefusal(['warmup_limited', more, /reached its limit for the hour/]);
  });

  it('names unknown arguments and invalid cursors', async () => {
    const cases = [
      ['list_messaging_connections', { all: true }, /the arguments must be empty/],
      ['read_messaging_messages', { peer: '1' }, /must be among `connectionId`, `limit`, `cursor`/],
      ['list_messaging_connections', JSON.parse('{"__proto__":{"a":1}}'), /the arguments must be empty/],
      ['read_messaging_messages', JSON.parse('{"__proto__":null}'), /must be among `connectionId`/],
      ['send_messaging_message', JSON.parse('{"constructor":1}'), /^invalid_request: /],
      ['read_messaging_messages', { limit: 0 }, /`limit` must be at least 1\. /],
      ['read_messaging_messages', { limit: 1.5 }, /`limit` must be an integer\. /],
      ['read_messaging_messages', { limit: '5' }, /`limit` must be a number\. /],
      ['read_messaging_messages', { cursor: 'forged' }, /`cursor` /],
      ['send_messaging_message', { media: {} }, /^invalid_request: /],
      ['send_messaging_message', [], /^invalid_request: /],
      ['list_messaging_connections', 'x', /./],
    ] as const;
    for (const [name, given, said] of cases) {
      const { body, headers } = request('tools/call', { name, arguments: given });
      const { status, messages } = await post(world.service.origin, token, body, headers);
      expect(status).toBeLessThan(500);
      expect(JSON.stringify(messages)).toMatch(/error/i);
      const text = z.object({ result: z.object({ content: z.array(z.object({ text: z.string() })) }) });
      const read = text.safeParse(messages.at(-1)).data?.result.content[0]?.text;
      if (read !== undefined) expect(read).toMatch(said);
    }
  });

  it('of an unknown tool or method is a protocol error', async () => {
    for (const modern of [false, true]) {
      for (const name of ['delete_everything', '', 'list_messaging_connectionss']) {
        const { body, headers } = request('tools/call', { name }, { modern });
        const { status, messages } = await post(world.service.origin, token, body, headers);
        expect(status).toBeLessThan(500);
        expect(messages.at(-1)).toMatchObject({ error: { code: -32_602 } });
      }
      const { body, headers } = request('resources/list', {}, { modern });
      const { status, messages } = await post(world.service.origin, token, body, headers);
      expect([status, messages]).toMatchObject([modern ? 404 : 200, [{ error: { code: -32_601 } }]]);
    }
  });
});
