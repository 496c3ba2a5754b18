import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callTool, post, request } from '../platform/mcp/tool-fixture.ts';
import { ofFile } from '../support/of-file.ts';
import { WatchedClock } from '../support/watched-clock.ts';
import { startTestSandbox } from './fixture.ts';
import { obtainTokens, REDIRECT_URI } from './oauth-client.ts';

/** With draws of a half, and a long text. */
const HEALS_MS = 70_000;
const TYPES_MS = 20_000;

const clock = new WatchedClock();
const test = ofFile(() => startTestSandbox({ clock, random: () => 0.5 }));
let origin: string;
let token: string;
let grantId: string;
let connectionId: string;
beforeAll(async () => {
  ({ origin } = test.service);
  const { body: app } = await test.call('POST', '/oauth-apps', {
    name: 'Agent',
    redirectUris: [REDIRECT_URI],
    scopes: ['messaging.read', 'messaging.send'],
    ownerWorkspaceId: test.sandbox.seed.workspaceId,
  });
  token = (await obtainTokens(origin, app)).access_token;
  grantId = (await test.call('GET', '/grants')).body.entries[0].id;
  const { output } = await callTool(origin, token, 'list_messaging_connections');
  connectionId = JSON.stringify(output).match(/"id":"(\w+)"[^}]*"provider":"qr"/)?.[1] ?? '';
});
afterEach(async () => {
  await test.call('DELETE', '/faults');
  await test.call('PUT', '/timing', { sendScale: 0 });
});

const lastCall = async () => (await test.call('GET', '/calls?path=/api/mcp&limit=1')).body.entries[0];
const fault = (action: object) =>
  test.call('PUT', '/faults', {
    rules: [{ id: 'f', match: { surface: 'oauth', path: '/api/mcp' }, action, first: 1 }],
  });
const send = (given: object = {}) =>
  callTool(origin, token, 'send_messaging_message', {
    connectionId,
    to: '4915100000007',
    text: 'hi',
    ...given,
  });
const received = async (phone: string): Promise<unknown[]> =>
  (await test.call('GET', `/contacts/${phone}/messages`)).body.entries;

describe('tool calls in the sandbox', () => {
  it('are available at the address of the tools', async () => {
    expect((await test.call('GET', '/info')).body.mcpUrl).toBe(`${origin}/api/mcp`);
  });

  it('are recorded with credential, tool, answer and the checks that ran', async () => {
    await send();
    const { now } = (await test.call('GET', '/clock')).body;
    const record = {
      id: expect.any(String),
      at: now,
      method: 'POST',
      path: '/api/mcp',
      tool: 'send_messaging_message',
      credential: grantId,
      workspaceId: expect.any(String),
      status: 200,
      code: null,
      ms: 0,
      requestBody: expect.stringContaining('"name":"send_messaging_message"'),
    };
    const admitted = [
      { check: 'credential', passed: true },
      { check: 'address', passed: true, why: 'the token has no allowlist' },
      { check: 'scope', passed: true, why: 'the token has messaging.send' },
    ];
    const found = [
      { check: 'shape', passed: true },
      { check: 'connection', passed: true },
    ];
    expect(await lastCall()).toEqual({
      ...record,
      connectionId,
      messageIds: [expect.stringMatching(/^c[a-z0-9]{24}$/)],
      trace: [
        ...admitted,
        ...found,
        { check: 'license', passed: true, why: expect.any(String) },
        { check: 'state', passed: true, why: 'the session is live' },
        { check: 'rate', passed: true },
        { check: 'network', passed: true, why: 'the recipient has an account' },
      ],
    });
    await send({ to: '1' });
    expect(await lastCall()).toMatchObject({
      ...record,
      code: 'invalid_request',
      trace: [
        ...admitted,
        { check: 'shape', passed: false, why: 'to: must be international digits, without +' },
      ],
    });
    await post(origin, token, '[]');
    expect(await lastCall()).toMatchObject({ status: 400, code: 'invalid_request', credential: grantId });
    await post(origin, test.sandbox.seed.apiKey, request('tools/list').body);
    expect(await lastCall()).toMatchObject({
      status: 401,
      code: 'invalid_token',
      credential: null,
      trace: [{ check: 'credential', passed: false, why: 'the tool server accepts only access tokens' }],
    });
    expect(JSON.stringify((await test.call('GET', '/calls')).body)).not.toContain(token);
  });

  it('are subject to the faults of their surface', async () => {
    const to = '4915100000008';
    const idempotencyKey = 'of the model';
    await fault({ type: 'lost_answer' });
    await expect(send({ to, idempotencyKey })).rejects.toThrow('fetch failed');
    expect(await lastCall()).toMatchObject({ status: null, faults: ['f'], tool: 'send_messaging_message' });
    // What a client does whose answer was lost.
    expect((await send({ to, idempotencyKey })).output).toMatchObject({ status: 'sent', alreadySent: true });
    expect(await received(to)).toHaveLength(1);
    await fault({ type: 'status', code: 503, retryAfter: 2 });
    const { status, headers } = await post(origin, token, request('tools/list').body);
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    const { workspaceId } = test.sandbox.seed;
    const why = (what: string) => ({ check: 'fault', passed: false, why: `the rule "f" ${what}` });
    expect(await lastCall()).toMatchObject({
      status: 503,
      code: 'temporarily_unavailable',
      workspaceId,
      credential: grantId,
      trace: [{ check: 'credential', passed: true }, why('answered 503; nothing was done')],
    });
    await fault({ type: 'reset' });
    await expect(send({ to })).rejects.toThrow('fetch failed');
    const reset = why('reset the connection; nothing was done');
    expect(await lastCall()).toMatchObject({ status: null, workspaceId, trace: [{}, reset] });
  });

  it('that send for a long time end when the control API advances time', async () => {
    const to = '4915100000010';
    await test.call('PUT', '/timing', { sendScale: 1 });
    await test.call('POST', `/connections/${connectionId}/outage`, { cause: 'session_ageing', heals: true });
    const sent = { to, text: 'a'.repeat(1_000), idempotencyKey: 'of a long send' };
    const waiting = send(sent);
    await clock.timerSet(HEALS_MS + TYPES_MS);
    await test.call('POST', '/clock/advance', { ms: 45_000 });
    expect((await send(sent)).text).toMatch(/^in_progress: /);
    expect(await received(to)).toEqual([]);
    await test.call('POST', '/clock/advance', { ms: 45_000 });
    expect((await waiting).output).toMatchObject({ status: 'sent', alreadySent: false });
    expect(await lastCall()).toMatchObject({ status: 200, code: null });
    expect((await send(sent)).output).toMatchObject({ status: 'sent', alreadySent: true });
    expect(await received(to)).toHaveLength(1);
  });
});
