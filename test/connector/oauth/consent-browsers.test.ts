import { describe, expect, it } from 'vitest';
import { bindFlow, readStartedFlow } from '../../../src/connector/oauth/consents.ts';
import { digest } from '../../../src/runtime/sealing/digest.ts';
import { Browser } from '../../support/browser.ts';
import { collectLog } from '../../support/log-to.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { MINUTE, PUBLIC_URL, useGrants } from './grant-world.ts';

const grants = useGrants();
const { listed, start, begin, comeBack, openBrowser } = grants;

const title = (text: string): string | undefined => /<h1>(.*)<\/h1>/.exec(text)?.[1];
const oauthAccounts = async () => (await listed()).filter(({ kind }) => kind === 'oauth');
const redemptions = (): number => grants.auth.requests.filter(({ path }) => path === '/token').length;
const OTHER = [403, 'Started in another browser'];

/** What a browser is told. */
const told = ({ status, text }: { readonly status: number; readonly text: string }) => [status, title(text)];

describe('the pages of a consent', () => {
  it('are not served under the name of another site', async () => {
    const oauth = grants.auth.app(grants.world.service.baseUrl);
    const own = await grants.world.start({ oauth, role: 'web', hosts: ['crm.example'] });
    const { authorizationUrl } = await start();
    const { pathname } = new URL(authorizationUrl);
    const ask = async (method: string, path: string, host: string) => {
      const request = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      return (await exchangeRaw(Number(new URL(own.url).port), request)).statuses[0];
    };
    for (const path of [pathname, '/oauth/callback?state=x']) {
      expect(await ask('GET', path, 'rebound.example')).toBe(403);
      expect(await ask('GET', path, 'crm.example')).toBe(path === pathname ? 200 : 400);
    }
    expect(await ask('POST', pathname, 'rebound.example')).toBe(403);
    await own.stop();
  });

  it('are recorded in the audit log if a consent is refused, with its account and reference', async () => {
    const { service } = grants.world;
    service.addConnection('own-number');
    const accountId = await grants.connect({ reference: 'customer-7' });
    await grants.sync(accountId);
    const { lines, logger } = collectLog('info');
    const oauth = grants.auth.app(service.baseUrl);
    const heard = await grants.world.start({ oauth, role: 'web', logger });
    const forwarded = await begin({ accountId, reference: 'customer-8' });
    await comeBack(
      grants.auth.approve(forwarded.authorizationUrl),
      openBrowser(() => heard),
    );
    // The customer has approved numbers of another workspace.
    service.connections = [];
    service.addConnection('of-somebody-else');
    const { authorizationUrl } = await start({ accountId, reference: 'customer-8' });
    const browser = openBrowser(() => heard);
    await comeBack(grants.auth.approve(await browser.goOn(authorizationUrl)), browser);
    const audit = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'consent.refused');
    const about = { what: 'GET /oauth/callback', id: accountId, reference: 'customer-8' };
    expect(audit).toEqual([
      expect.objectContaining({ ...about, result: 'other_browser', address: expect.any(String) }),
      expect.objectContaining({ ...about, result: 'other_numbers', address: expect.any(String) }),
    ]);
    expect(await grants.accountOf(accountId)).toMatchObject({ reference: 'customer-7', state: 'active' });
    await heard.stop();
  });
});

describe('the start address of a consent', () => {
  it('belongs to the connector, and leads to the service from a page that says who will read the numbers', async () => {
    const returnUrl = 'https://crm.example/connected';
    const started = await start({ label: 'Bakery', returnUrl });
    expect(started.authorizationUrl).toMatch(/^http:\/\/127\.0\.0\.1:4020\/oauth\/start\/[\w-]{43}$/);
    const page = await grants.browser.visit(started.authorizationUrl);
    expect(told(page)).toEqual([200, 'Connect your numbers']);
    expect(page.text).toContain(
      'the account <strong><bdi>Bakery</bdi></strong> at <strong>crm.example</strong>',
    );
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);

    const sent = await grants.browser.visit(started.authorizationUrl, { method: 'POST' });
    expect([sent.status, sent.text]).toEqual([303, '']);
    expect(sent.headers.get('location')).toMatch(new RegExp(`^${grants.auth.url}/authorize\\?.*state=`));
    expect(sent.headers.get('referrer-policy')).toBe('no-referrer');
    expect(sent.headers.get('cache-control')).toBe('no-store');
    // Reload and Back lead to the same consent.
    const again = await grants.browser.visit(started.authorizationUrl);
    expect([again.status, again.headers.get('location')]).toEqual([303, sent.headers.get('location')]);
  });

  it('names the account that is renewed, also if no name is given again', async () => {
    grants.world.service.addConnection('renewed-1');
    const accountId = await grants.connect({ label: 'Florist' });
    const { authorizationUrl } = await start({ accountId });
    const page = await openBrowser().visit(authorizationUrl);
    expect(page.text).toContain('the account <strong><bdi>Florist</bdi></strong>');
  });

  it('is stored only as a hash, as are the cookie and the state', async () => {
    const { startUrl, authorizationUrl } = await begin();
    const [flow] = await grants.world.database.query(
      'select f::text as row from connector.oauth_flows f order by created_at desc, browser nulls last limit 1',
    );
    const cookie = /=([\w-]{43});/.exec(grants.browser.lines[0] ?? '')?.[1] ?? '';
    const state = new URL(authorizationUrl).searchParams.get('state') ?? '';
    for (const secret of [startUrl.split('/').at(-1), cookie, state]) {
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(flow?.['row']).not.toContain(secret);
    }
  });

  it('is not used up by requests that only read: HEAD, GET, a preview without cookies', async () => {
    const { authorizationUrl } = await start();
    const preview = openBrowser();
    const head = await preview.visit(authorizationUrl, { method: 'HEAD' });
    expect([head.status, head.headers.get('set-cookie')]).toEqual([200, null]);
    for (const headers of [{}, { 'user-agent': 'WhatsApp/2' }, { 'sec-purpose': 'prefetch' }]) {
      expect((await preview.visit(authorizationUrl, { headers })).headers.get('location')).toBeNull();
    }
    const location = await grants.browser.goOn(authorizationUrl);
    expect(told(await comeBack(grants.auth.approve(location)))).toEqual([200, 'Connected']);
  });

  it('cannot be continued from a form of another site or a sibling host', async () => {
    const { authorizationUrl } = await start();
    const post = (browser: Browser, site: string) =>
      browser.visit(authorizationUrl, { method: 'POST', headers: { 'sec-fetch-site': site } });
    // A browser sends no `SameSite=Lax` cookie with it.
    expect(told(await post(openBrowser(), 'cross-site'))).toEqual([403, 'Connect your numbers']);
    await grants.browser.visit(authorizationUrl);
    expect(told(await post(grants.browser, 'same-site'))).toEqual([403, 'Connect your numbers']);
    expect((await post(grants.browser, 'same-origin')).status).toBe(303);
  });

  it('belongs to the first browser that continues, and cannot be taken over', async () => {
    const { authorizationUrl } = await start();
    const second = openBrowser();
    // Both have seen the page before either goes on.
    await second.visit(authorizationUrl);
    const location = await grants.browser.goOn(authorizationUrl);
    expect(told(await second.visit(authorizationUrl, { method: 'POST' }))).toEqual(OTHER);
    expect(told(await second.visit(authorizationUrl))).toEqual(OTHER);
    expect(told(await openBrowser().visit(authorizationUrl, { method: 'POST' }))).toEqual(OTHER);
    expect(told(await comeBack(grants.auth.approve(location)))).toEqual([200, 'Connected']);
    expect(told(await grants.browser.visit(authorizationUrl))).toEqual([200, 'Already connected']);
  });

  it('goes to one of two browsers that continue at the same moment', async () => {
    const { authorizationUrl } = await start();
    const browsers = [openBrowser(), openBrowser(() => grants.running)];
    for (const browser of browsers) await browser.visit(authorizationUrl);
    const sent = await Promise.all(
      browsers.map((browser) => browser.visit(authorizationUrl, { method: 'POST' })),
    );
    expect(sent.map(({ status }) => status).sort()).toEqual([303, 403]);
    // Whichever statement comes second changes nothing.
    const id = digest(authorizationUrl.split('/').at(-1) ?? '');
    const flow = await readStartedFlow(grants.world.database, id);
    await bindFlow(grants.world.database, flow?.id ?? '', 'another', grants.world.clock.now());
    expect(await readStartedFlow(grants.world.database, id)).toEqual(flow);
  });

  it('that is invented or expired leads nowhere', async () => {
    const visit = async (address: string) => told(await grants.browser.visit(address));
    for (const token of ['made-up', 'x'.repeat(2_000), '%00', '..%2fv1']) {
      expect(await visit(`${PUBLIC_URL}/oauth/start/${token}`)).toEqual([400, 'Unknown link']);
    }
    const { authorizationUrl } = await start();
    grants.world.clock.jump(61 * MINUTE);
    expect(await visit(authorizationUrl)).toEqual([410, 'The link has expired']);
    const late = await grants.browser.visit(authorizationUrl, { method: 'POST' });
    expect(told(late)).toEqual([410, 'The link has expired']);
  });
});

describe('the callback of a consent', () => {
  it('in another browser connects nothing, says so, and leaves the consent to the first browser', async () => {
    const returnUrl = 'https://crm.example/connected';
    const { authorizationUrl } = await begin({ reference: 'customer-42', returnUrl });
    // The address of the service was forwarded, and somebody else has approved.
    const query = grants.auth.approve(authorizationUrl);
    const before = redemptions();
    const victim = openBrowser();
    const page = await comeBack(query, victim);
    expect(told(page)).toEqual(OTHER);
    expect(page.text).toContain('Nothing was connected here.');
    expect(page.text).not.toContain('crm.example/connected');
    expect(redemptions()).toBe(before);
    expect(await oauthAccounts()).toEqual([]);
    expect(told(await comeBack(query))).toEqual([200, 'Connected']);
    expect(await oauthAccounts()).toMatchObject([{ reference: 'customer-42' }]);
    // What was connected meanwhile is not told to it either.
    expect(told(await comeBack(query, victim))).toEqual(OTHER);
  });

  it('with the cookie of another consent connects nothing', async () => {
    const first = await begin();
    const query = grants.auth.approve(first.authorizationUrl);
    const attacker = openBrowser();
    const { authorizationUrl } = await start();
    await attacker.goOn(authorizationUrl);
    expect(told(await comeBack(query, attacker))).toEqual(OTHER);
    // The value of that cookie under the name of the other is no better.
    const [name] = grants.browser.cookiesFor(PUBLIC_URL);
    const value = /=([\w-]{43});/.exec(attacker.lines[0] ?? '')?.[1];
    const forged = await new Browser({ [PUBLIC_URL]: () => grants.other.url }).visit(
      `${PUBLIC_URL}/oauth/callback?${query}`,
      { headers: { cookie: `${name}=${value}` } },
    );
    expect(told(forged)).toEqual(OTHER);
    expect(await oauthAccounts()).toEqual([]);
  });

  it('accepts two consents of one browser in any order', async () => {
    const first = await begin({ reference: 'first' });
    const second = await begin({ reference: 'second' });
    expect(new Set(grants.browser.cookiesFor(PUBLIC_URL)).size).toBe(2);
    for (const { authorizationUrl } of [second, first]) {
      expect(told(await comeBack(grants.auth.approve(authorizationUrl)))).toEqual([200, 'Connected']);
    }
    expect((await oauthAccounts()).map(({ reference }) => reference).sort()).toEqual(['first', 'second']);
  });

  it('leaves a browser at most ten cookies, those of the newest consents', async () => {
    const all: { readonly authorizationUrl: string }[] = [];
    for (let count = 0; count < 12; count += 1) all.push(await begin());
    expect(grants.browser.cookiesFor(PUBLIC_URL)).toHaveLength(10);
    const come = async (place: number) =>
      told(await comeBack(grants.auth.approve(all.at(place)?.authorizationUrl ?? '')));
    expect(await come(-1)).toEqual([200, 'Connected']);
    expect(await come(2)).toEqual([200, 'Connected']);
    expect(await come(0)).toEqual(OTHER);
  });

  it('of a consent that began in a version without start addresses connects nothing', async () => {
    const { authorizationUrl } = await begin();
    await grants.world.database.query(
      'update connector.oauth_flows set start_id = null, browser = null, sealed_authorization_url = null',
    );
    expect(told(await comeBack(grants.auth.approve(authorizationUrl)))).toEqual(OTHER);
  });
});

describe('the cookie of a consent', () => {
  it('belongs only to its host, and is sent only over https', async () => {
    const oauth = { ...grants.auth.app(grants.world.service.baseUrl), publicUrl: 'https://crm.example' };
    const safe = await grants.world.start({ oauth, role: 'web' });
    const browser = new Browser({ 'https://crm.example': () => safe.url });
    const answer = await safe.ask('POST', '/v1/accounts/oauth', { body: {} });
    await browser.goOn(String(answer.body['authorizationUrl']));
    expect(browser.lines).toEqual([
      expect.stringMatching(
        /^__Host-messaging-consent-[\w-]{22}=[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ]);
    await safe.stop();
  });

  it('has no prefix if the connector is called over http, which is only possible on this machine', async () => {
    await begin();
    expect(grants.browser.lines).toEqual([
      expect.stringMatching(
        /^messaging-consent-[\w-]{22}=[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
    ]);
  });
});
