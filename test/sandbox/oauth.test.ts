import { beforeEach, describe, expect, it } from 'vitest';
import { ofFile } from '../support/of-file.ts';
import { startTestSandbox } from './fixture.ts';
import {
  authorizeApp,
  obtainTokens,
  pressButton,
  REDIRECT_URI,
  type RegisteredApp,
  refreshTokens,
} from './oauth-client.ts';

const test = ofFile(startTestSandbox);
let app: RegisteredApp;

const register = (fields: object) =>
  test.call('POST', '/oauth-apps', {
    ...{ name: 'CRM', redirectUris: [REDIRECT_URI], scopes: ['messaging.read'] },
    ...fields,
  });

beforeEach(async () => {
  await test.sandbox.reset();
  const ownerWorkspaceId = test.sandbox.seed.workspaceId;
  app = (await register({ webhookUrl: 'https://app.example/hook', ownerWorkspaceId })).body;
});

const authorize = (registered = app) => authorizeApp(test.service.origin, registered);
const obtain = () => obtainTokens(test.service.origin, app);
const refresh = (token: string) => refreshTokens(test.service.origin, app, token);

describe('OAuth in the sandbox', () => {
  it('shows an app without its secret', async () => {
    expect(app).toEqual({
      clientId: expect.any(String),
      clientSecret: expect.any(String),
      webhookSecret: expect.stringMatching(/^whsec_/),
    });
    const { body } = await test.call('GET', '/oauth-apps');
    expect(body.entries).toEqual([
      {
        clientId: app.clientId,
        name: 'CRM',
        redirectUris: [REDIRECT_URI],
        scopes: ['messaging.read'],
        webhookUrl: 'https://app.example/hook',
        ownerWorkspaceId: test.sandbox.seed.workspaceId,
        legacySubscription: false,
        createdAt: expect.any(String),
      },
    ]);
    const refusals = await Promise.all([
      register({ redirectUris: ['http://crm.example/cb'] }),
      register({ webhookUrl: 'http://127.0.0.1/' }),
      register({ ownerWorkspaceId: 'unknown' }),
    ]);
    expect(refusals.map(({ body: { error } }) => error)).toEqual([
      'invalid_request',
      'invalid_webhook',
      'not_found',
    ]);
  });

  it('sets the webhook of an app, with a new secret each time', async () => {
    const set = (clientId: string, url: string) =>
      test.call('PUT', `/oauth-apps/${clientId}/webhook`, { url });
    const url = 'https://app.example/other';
    const { body: first } = await set(app.clientId, url);
    const { body: second } = await set(app.clientId, url);
    expect(first).toEqual({ webhookUrl: url, webhookSecret: expect.stringMatching(/^whsec_/) });
    expect(second.webhookSecret).not.toBe(first.webhookSecret);
    const { body } = await test.call('GET', '/oauth-apps');
    expect(body.entries).toMatchObject([{ webhookUrl: url }]);
    expect((await set(app.clientId, 'http://127.0.0.1/')).body.error).toBe('invalid_webhook');
    for (const unknown of ['unknown', test.sandbox.seed.workspaceId])
      expect((await set(unknown, url)).body.error).toBe('not_found');
  });

  it('lists grants in pages, and revokes one with effect from the next call', async () => {
    const first = await obtain();
    const second = await obtain();
    await refresh(second.refresh_token);
    const { body: page } = await test.call('GET', '/grants?limit=1');
    const { now } = (await test.call('GET', '/clock')).body;
    const expiresAt = new Date(Date.parse(now) + 30 * 24 * 3_600_000).toISOString();
    expect(page.entries).toMatchObject([
      {
        clientId: app.clientId,
        workspaceId: test.sandbox.seed.workspaceId,
        scopes: ['messaging.read'],
        refreshes: 1,
        refreshTokens: [
          { expiresAt, usedAt: null },
          { expiresAt, usedAt: now },
        ],
        revokedAt: null,
      },
    ]);
    expect(page.entries[0].connectionIds).toHaveLength(4);
    const { body: next } = await test.call('GET', `/grants?limit=1&cursor=${page.nextCursor}`);
    expect(next.entries).toMatchObject([{ refreshes: 0 }]);
    expect((await test.call('DELETE', `/grants/${next.entries[0].id}`)).body).toEqual({ ok: true });
    const { status } = await test.service.call('GET', '/connections', { key: first.access_token });
    expect(status).toBe(401);
    const listed = async () => (await test.call('GET', '/grants?limit=2')).body.entries[1];
    const revoked = await listed();
    expect(revoked.revokedAt).toEqual(expect.any(String));
    // Once more, later: it stays revoked since the first time.
    await test.call('POST', '/clock/advance', { ms: 1_000 });
    await test.call('DELETE', `/grants/${revoked.id}`);
    expect(await listed()).toEqual(revoked);
    expect((await test.call('DELETE', '/grants/unknown')).status).toBe(404);
  });

  it('restricts a grant and ends a license with effect from the next call of an existing access token', async () => {
    const scopes = ['messaging.read', 'messaging.send'];
    const ownerWorkspaceId = test.sandbox.seed.workspaceId;
    const { body: sender } = await register({ scopes, ownerWorkspaceId });
    await test.call('PUT', '/timing', { sendScale: 0 });
    const tokens = await obtainTokens(test.service.origin, sender);
    const key = tokens.access_token;
    const seen = async (): Promise<string[]> => {
      const { body } = await test.service.call('GET', '/connections', { key });
      return (body as { connections: { id: string }[] }).connections.map(({ id }) => id);
    };
    const send = async (connectionId: string) => {
      const body = { connectionId, to: '491700000010', text: 'hello' };
      const { status, body: answer } = await test.service.call('POST', '/messages', { key, body });
      return [status, Reflect.get(Object(answer), 'error')];
    };
    const { id } = (await test.call('GET', '/grants?limit=1')).body.entries[0];
    const narrow = (left: object) => test.call('PATCH', `/grants/${id}`, left);

    const [kept = '', lost = ''] = await seen();
    expect(await send(lost)).toEqual([200, undefined]);
    const { body: narrowed } = await narrow({ connectionIds: [kept] });
    expect(narrowed).toMatchObject({ id, connectionIds: [kept], scopes });
    expect([await seen(), await send(lost)]).toEqual([[kept], [404, 'not_found']]);

    const { body: clock } = await test.call('GET', '/clock');
    await test.call('PUT', `/connections/${kept}/licence`, { expiresAt: clock.now });
    expect([await seen(), await send(kept)]).toEqual([[], [402, 'license_inactive']]);

    expect((await narrow({ scopes: ['messaging.read'] })).status).toBe(200);
    expect(await send(kept)).toEqual([403, 'insufficient_scope']);
    const renewed = await refreshTokens(test.service.origin, sender, tokens.refresh_token);
    expect(await renewed.json()).toMatchObject({ scope: 'messaging.read' });

    for (const [more, field] of [
      [{ scopes }, 'scopes'],
      [{ connectionIds: [kept, lost] }, 'connectionIds'],
      [{ connectionIds: [] }, 'connectionIds'],
    ] as const) {
      const { status, body } = await narrow(more);
      expect([status, body.error, body.field]).toEqual([400, 'invalid_request', field]);
    }
    await test.call('DELETE', `/grants/${id}`);
    expect(await send(kept)).toEqual([401, 'invalid_token']);
    expect((await narrow({ scopes: ['messaging.read'] })).status).toBe(404);
  });

  it('loses the answer of a refresh that was carried out, so that the old token is used up', async () => {
    const { refresh_token: token } = await obtain();
    const match = { surface: 'oauth', method: 'POST', path: '/oauth/token' };
    await test.call('PUT', '/faults', {
      rules: [{ id: 'lost', match, action: { type: 'lost_answer' }, first: 1 }],
    });
    await expect(refresh(token)).rejects.toThrow();
    const again = await refresh(token);
    expect([again.status, await again.json()]).toMatchObject([400, { error: 'invalid_grant' }]);
    expect((await test.call('GET', '/faults')).body.rules[0].hits).toBe(1);
  });

  it('makes the token endpoint fail, which leaves the token unchanged', async () => {
    const { refresh_token: token } = await obtain();
    const match = { surface: 'oauth', path: '/oauth/*' };
    const put = (action: object) =>
      test.call('PUT', '/faults', { rules: [{ id: 'fault', match, action, first: 1 }] });
    await put({ type: 'status', code: 500 });
    const failed = await refresh(token);
    expect([failed.status, await failed.json()]).toMatchObject([500, { error: 'server_error' }]);
    await put({ type: 'status', code: 503, retryAfter: 2 });
    const busy = await refresh(token);
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await busy.json()).toMatchObject({ error: 'temporarily_unavailable' });
    await put({ type: 'reset' });
    await expect(refresh(token)).rejects.toThrow();
    await put({ type: 'delay', ms: 5_000 });
    const held = refresh(token);
    await expect.poll(async () => (await test.call('GET', '/faults')).body.rules[0].hits).toBe(1);
    await test.service.clock.advance(5_000);
    expect((await held).status).toBe(200);
    const api = await test.service.call('GET', '/connections', { key: (await obtain()).access_token });
    expect(api.status).toBe(200);
  });

  it('enters the code of a consent page as the admin of a portal', async () => {
    const portal = (await test.call('POST', '/workspaces', { kind: 'crm_portal' })).body.workspace.id;
    const enter = (workspace: string, body?: object) =>
      test.call('POST', `/workspaces/${workspace}/user-codes`, body);
    const number = { provider: 'qr', phoneNumber: '4915112345678' };
    await test.call('POST', `/workspaces/${portal}/connections`, number);
    expect((await enter(portal)).body.error).toBe('wrong_state');
    expect((await enter(test.sandbox.seed.workspaceId)).body.error).toBe('wrong_state');
    expect((await enter(portal, { userCode: 'BBBB-BBBB' })).body.error).toBe('not_found');

    const { body: visiting } = await register({ ownerWorkspaceId: portal });
    const shown = await authorize(visiting);
    const text = await shown.text();
    const entered = await enter(portal);
    expect([entered.status, text.includes(entered.body.userCode)]).toEqual([201, true]);
    const done = await pressButton(test.service.origin, shown, text, { action: 'portal' });
    expect(new URL(String(done.headers.get('location'))).searchParams.get('code')).toMatch(/^mca_/);
  });

  it('shows its calls with client, answer and the checks that ran, and no secret', async () => {
    const { access_token: access, refresh_token: first } = await obtain();
    const { refresh_token: second } = (await (await refresh(first)).json()) as { refresh_token: string };
    await refresh(first);
    await refreshTokens(test.service.origin, { ...app, clientSecret: 'wrong' }, second);
    await fetch(`${test.service.origin}/oauth/authorize?client_id=unknown&state=canary`);
    await fetch(`${test.service.origin}/oauth/token?code=canary`);
    const { body } = await test.call('GET', '/calls');
    interface Shown {
      readonly trace: readonly { check: string; passed: boolean; why?: string }[];
      readonly [field: string]: unknown;
    }
    const shown = body.entries.map(({ method, path, credential, status, code, trace }: Shown) => [
      `${method} ${path} ${status} ${code}`,
      credential === app.clientId ? 'CRM' : credential,
      trace.map(({ check, passed, why }) => (passed ? check : `!${check}: ${why}`)).join(', '),
    ]);
    const proven = 'form, client, grant_type';
    expect(shown).toEqual([
      ['GET /oauth/token 405 invalid_request', null, '!method: the address does not accept this method'],
      [
        'GET /oauth/authorize 400 invalid_request',
        null,
        '!client: No app with this client_id is registered.',
      ],
      [
        'POST /oauth/token 401 invalid_client',
        'CRM',
        'form, !client: the client is unknown, or its secret is missing or wrong',
      ],
      [
        'POST /oauth/token 400 invalid_grant',
        'CRM',
        `${proven}, !grant: it was used before; its grant and all tokens are revoked`,
      ],
      ['POST /oauth/token 200 null', 'CRM', `${proven}, grant, scope, resource`],
      ['POST /oauth/token 200 null', 'CRM', `${proven}, grant, redirect_uri, verifier, resource`],
      [
        'GET /oauth/authorize 303 null',
        'CRM',
        'client, redirect_uri, parameters, challenge, scope, resource, connections, consent',
      ],
    ]);
    const text = JSON.stringify(body);
    for (const secret of [access, first, second, app.clientSecret, 'canary']) {
      expect(text).not.toContain(secret);
    }
  });

  it('refuses what cannot be stored in a name or an id', async () => {
    const refusals = [
      await register({ name: 'a\u0000' }),
      await test.call('DELETE', '/grants/%00'),
      await test.call('POST', '/workspaces/%00/user-codes', { userCode: '\u0000' }),
    ];
    expect(refusals.map(({ status, body }) => [status, body.error])).toEqual([
      [400, 'invalid_request'],
      [404, 'not_found'],
      [404, 'not_found'],
    ]);
  });

  it('deletes apps and grants in a reset', async () => {
    await obtain();
    await test.sandbox.reset();
    expect((await test.call('GET', '/oauth-apps')).body).toEqual({ entries: [] });
    expect((await test.call('GET', '/grants')).body).toEqual({ entries: [] });
    expect((await authorize()).status).toBe(400);
  });
});
