import { describe, expect, it } from 'vitest';
import { appSubscriptionId } from '../../../src/connector/oauth/oauth-app.ts';
import { MINUTE, PUBLIC_URL, useGrants } from './grant-world.ts';

const grants = useGrants();
const { ask, listed, begin, comeBack } = grants;
const browser = () => grants.browser;

describe('a consent', () => {
  it('that is started by one process and finished by another creates an account', async () => {
    grants.world.service.addConnection('consented');
    const started = await begin({ label: 'Bakery', connectionIds: ['a1', 'b2'], scopes: ['messaging.read'] });
    const asked = new URL(started.authorizationUrl);
    expect(started.accountId).toBeNull();
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      client_id: 'client-1',
      redirect_uri: 'http://127.0.0.1:4020/oauth/callback',
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      state: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      scope: 'messaging.read',
      connection_ids: 'a1 b2',
    });
    const page = await comeBack(grants.auth.approve(started.authorizationUrl));
    expect(page.status).toBe(200);
    expect(page.text).toContain('<h1>Connected</h1>');
    const subscriptionId = appSubscriptionId({ authUrl: grants.auth.url, clientId: 'client-1' });
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toMatchObject([
      {
        label: 'Bakery',
        state: 'active',
        reauth: null,
        subscriptionId,
        webhookPath: `/webhooks/messaging/${subscriptionId}`,
        // The service has it from the app's registration.
        webhookUrl: null,
      },
    ]);
    expect(grants.auth.requests.at(0)?.fields.get('client_secret')).toBe('client-secret-1');
  });

  it('ends at a page without scripts that cannot be framed and discloses no address', async () => {
    const { authorizationUrl } = await begin();
    const query = grants.auth.approve(authorizationUrl);
    const page = await comeBack(query);
    const html = page.text;
    expect(html).not.toContain('<script');
    expect(html).not.toContain(new URLSearchParams(query).get('code'));
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is finished once, and a repeated callback changes nothing', async () => {
    const { authorizationUrl } = await begin();
    // RFC 3986 lets a question mark stand in a query.
    const query = `from=a?b&${grants.auth.approve(authorizationUrl)}`;
    const head = await browser().visit(`${PUBLIC_URL}/oauth/callback?${query}`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    const before = grants.auth.requests.length;
    const pages = await Promise.all([
      comeBack(query),
      browser().visit(`${PUBLIC_URL}/oauth/callback?${query}`),
      comeBack(query),
    ]);
    expect(pages.filter(({ text }) => text.includes('<h1>Connected</h1>'))).toHaveLength(1);
    expect((await comeBack(query)).text).toContain('Already connected');
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toHaveLength(1);
    expect(grants.auth.requests.slice(before).filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  it.each([
    ['a proxy', { status: 502, body: {} }],
    ['a connection that is cut', 'reset'],
  ] as const)('is finished although the first answer to its code is that of %s', async (_, fault) => {
    const query = grants.auth.approve((await begin()).authorizationUrl);
    let asked = 0;
    grants.auth.fault = () => (asked++ === 0 ? fault : undefined);
    expect((await comeBack(query)).text).toContain('<h1>Connected</h1>');
    expect(asked).toBe(2);
  });

  it('redirects to the address of the CRM, with the outcome', async () => {
    const returnUrl = 'https://crm.example/connected?customer=42&outcome=made-up';
    const onward = async (query: string): Promise<[number, string | undefined, string | undefined]> => {
      const { status, text: html } = await comeBack(query);
      const [, refresh] = /<meta http-equiv="refresh" content="0; url=(.*?)">/.exec(html) ?? [];
      const [, link] = /<a class="button main" href="(.*?)">Continue<\/a>/.exec(html) ?? [];
      return [status, refresh, link];
    };
    const both = (status: number, rest: string): unknown => {
      const address = `https://crm.example/connected?customer=42&amp;outcome=${rest}`;
      return [status, address, address];
    };
    const query = grants.auth.approve((await begin({ returnUrl })).authorizationUrl);
    const connected = await onward(query);
    // Anybody can write an account's id into an address, so it is in none.
    expect(connected).toEqual(both(200, 'connected'));
    expect(await onward(query)).toEqual(connected);

    const state = new URL((await begin({ returnUrl })).authorizationUrl).searchParams.get('state') ?? '';
    const denial = new URLSearchParams({ error: 'access_denied', state, iss: grants.auth.url }).toString();
    expect(await onward(denial)).toEqual(both(400, 'access_denied'));
    expect(await onward(denial)).toEqual(both(409, 'used'));
    const late = grants.auth.approve((await begin({ returnUrl })).authorizationUrl);
    grants.world.clock.jump(61 * MINUTE);
    expect(await onward(late)).toEqual(both(410, 'expired'));
    expect(await onward('state=made-up&code=x')).toEqual([400, undefined, undefined]);
  });

  it.each([
    'javascript:alert(1)',
    '/connected',
    'https://user:secret@crm.example/',
    'https://crm.example/#top',
    'https://elsewhere.example/connected',
    'https://crm.example.elsewhere.example/',
    'https://crm.example:8443/',
    'http://crm.example/',
  ])('redirects nowhere if the address of the CRM is %s', async (address) => {
    const answer = await ask('POST', '/v1/accounts/oauth', { body: { returnUrl: address } });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(String(answer.body['message'])).toContain('returnUrl');
  });

  it('that nobody started, that took too long or that was refused creates no account', async () => {
    const said = async (query: string) => {
      const { status, text } = await comeBack(query);
      return [status, /<h1>(.*)<\/h1>/.exec(text)?.[1]];
    };
    expect(await said('state=made-up&code=x')).toEqual([400, 'Unknown link']);
    expect(await said('')).toEqual([400, 'Unknown link']);
    const { authorizationUrl } = await begin();
    const state = new URL(authorizationUrl).searchParams.get('state') ?? '';
    const query = grants.auth.approve(authorizationUrl);
    expect(await said(`${query}&state=${state}`)).toEqual([400, 'Unknown link']);
    grants.world.clock.jump(61 * MINUTE);
    expect(await said(query)).toEqual([410, 'The link has expired']);
    const refused = new URL((await begin()).authorizationUrl).searchParams.get('state') ?? '';
    const denial = new URLSearchParams({ error: 'access_denied', state: refused, iss: grants.auth.url });
    expect(await said(denial.toString())).toEqual([400, 'Not connected']);
    expect(await said(denial.toString())).toEqual([409, 'This link was already used']);
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toEqual([]);
  });

  it('that renews an account with none of its numbers changes nothing', async () => {
    const { service } = grants.world;
    service.addConnection('own-number');
    const accountId = await grants.connect();
    await grants.sync(accountId);
    const before = await grants.accountOf(accountId);
    service.connections = [];
    service.addConnection('of-somebody-else');
    const revoked = () => grants.auth.requests.filter(({ path }) => path === '/revoke').length;
    const revokedBefore = revoked();
    const page = await comeBack(grants.auth.approve((await begin({ accountId })).authorizationUrl));
    expect(page.status).toBe(409);
    expect(page.text).toContain('<h1>Different numbers were approved</h1>');
    expect(revoked()).toBe(revokedBefore + 1);
    expect(await grants.accountOf(accountId)).toEqual(before);
    expect(await grants.poll(accountId)).toBeNull();

    // A service that does not answer says nothing of the numbers.
    service.fault = () => 'reset';
    const silent = await comeBack(grants.auth.approve((await begin({ accountId })).authorizationUrl));
    expect(silent.status).toBe(502);
    // A number whose license has ended is in no list, and still the account's.
    service.fault = ({ path }) =>
      path === '/connections/own-number'
        ? { status: 200, body: { connection: { id: 'own-number', status: 'open' } } }
        : undefined;
    expect(await grants.connect({ accountId })).toBe(accountId);
  });

  it('from another server, or with an invalid code, creates no account', async () => {
    for (const [name, value] of [
      ['iss', 'https://elsewhere.example'],
      ['iss', null],
      ['code', 'made-up'],
    ] as const) {
      const query = new URLSearchParams(grants.auth.approve((await begin()).authorizationUrl));
      if (value === null) query.delete(name);
      else query.set(name, value);
      const page = await comeBack(query.toString());
      expect(page.status).toBe(502);
      expect(page.text).not.toContain('elsewhere');
    }
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toEqual([]);
  });

  it('for an account that is not a grant, or does not exist, cannot be started', async () => {
    for (const accountId of ['default', 'nobody']) {
      const refused = await ask('POST', '/v1/accounts/oauth', { body: { accountId } });
      expect(refused).toMatchObject({ status: 404, body: { message: 'No OAuth account with this id.' } });
    }
  });
});
