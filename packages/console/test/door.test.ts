import { beforeEach, describe, expect, it } from 'vitest';
import { type ProductionConsole, startProductionConsole } from '../../../test/support/production-console.ts';
import { type Receiver, startReceiver } from '../../../test/support/receiver.ts';

const EVERYTHING = [
  '/',
  '/overview',
  '/console.json',
  '/assets/index.js',
  '/icon.svg',
  '/connector/v1/messages',
  '/connector/v1/changes/stream',
  '/nothing',
];
const AS_BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-site': 'none' };

let connector: Receiver;
let host: ProductionConsole;

beforeEach(async () => {
  connector = await startReceiver();
  host = await startProductionConsole({ url: connector.origin, token: 'secret-of-the-connector' });
  return () => connector.close();
});

/** Opens a URL as a browser does, without following its redirect. */
const open = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { redirect: 'manual', headers: { ...AS_BROWSER, ...headers } });

/** The cookie that a URL is exchanged for. */
async function admit(url = host.issueUrl()): Promise<string> {
  const [cookie = ''] = (await open(url)).headers.getSetCookie();
  return cookie.split(';')[0] ?? '';
}

const status = async (path: string, cookie: string): Promise<number> =>
  (await fetch(`${host.url}${path}`, { redirect: 'manual', headers: { cookie } })).status;

describe('the door of the console in production', () => {
  it.each(EVERYTHING)('answers %s with 401 without a session, and calls no connector', async (path) => {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${host.url}${path}`, { method });
      expect([response.status, response.headers.get('cache-control'), await response.json()]).toEqual([
        401,
        'no-store',
        {
          error: 'session_required',
          message: 'Open the last URL that the console command has printed in its terminal.',
        },
      ]);
    }
    expect(connector.requests).toEqual([]);
  });

  it('shows a person a page that says to take the URL from the terminal', async () => {
    const response = await open(`${host.url}/overview`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      401,
      'text/html; charset=utf-8',
    ]);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await response.text()).toContain('<h1>Open the URL from the terminal</h1>');
  });

  it('exchanges the token of a URL for a session cookie, and removes it from the address', async () => {
    const response = await open(host.issueUrl());
    expect([response.status, response.headers.get('location')]).toEqual([303, '/']);
    const cookies = response.headers.getSetCookie();
    const name = `console-${new URL(host.url).port}`;
    expect(cookies).toEqual([
      expect.stringMatching(new RegExp(`^${name}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)),
    ]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('admits the cookie again and again, to pages, files, calls and streams', async () => {
    const cookie = await admit();
    for (let reload = 0; reload < 2; reload += 1) {
      expect(await status('/overview', cookie)).toBe(200);
      expect(await status('/console.json', cookie)).toBe(200);
      expect(await status('/connector/v1/changes/stream', cookie)).toBe(200);
    }
    expect(connector.requests.map(({ headers }) => headers['cookie'])).toEqual([undefined, undefined]);
  });

  it('accepts each token once', async () => {
    const url = host.issueUrl();
    await admit(url);
    expect((await open(url)).status).toBe(401);
  });

  it('leads a browser that is admitted from a used URL to the page', async () => {
    const url = host.issueUrl();
    const response = await open(url, { cookie: await admit(url) });
    expect([response.status, response.headers.get('location')]).toEqual([303, '/']);
  });

  it('accepts a token for less than ten minutes', async () => {
    const url = host.issueUrl();
    await host.clock.skip(10 * 60 * 1_000);
    expect((await open(url)).status).toBe(401);
    const next = host.issueUrl();
    await host.clock.skip(10 * 60 * 1_000 - 1);
    expect((await open(next)).status).toBe(303);
  });

  it('keeps a session beyond the ten minutes of its token', async () => {
    const cookie = await admit();
    await host.clock.skip(24 * 60 * 60 * 1_000);
    expect(await status('/console.json', cookie)).toBe(200);
  });

  it('accepts only the last URL', async () => {
    const first = host.issueUrl();
    const second = host.issueUrl();
    expect((await open(first)).status).toBe(401);
    expect((await open(second)).status).toBe(303);
  });

  it('does not spend a token on HEAD, on another method, or on a page of another site', async () => {
    const url = host.issueUrl();
    for (const method of ['HEAD', 'POST']) await fetch(url, { method });
    expect((await open(url, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await open(url)).status).toBe(303);
  });

  it.each(['', 'x', 'constructor'])('refuses the cookie value "%s"', async (value) => {
    expect(await status('/console.json', `console-${new URL(host.url).port}=${value}`)).toBe(401);
  });

  it('refuses a cookie of a console that was started before it', async () => {
    const cookie = await admit();
    const { port } = new URL(host.url);
    await host.close();
    host = await startProductionConsole({ url: connector.origin, token: 'same' }, { port: Number(port) });
    expect(await status('/console.json', cookie)).toBe(401);
  });

  it('prints another URL for a second browser, once until it is used or too old', async () => {
    await admit();
    await open(`${host.url}/`);
    await open(`${host.url}/`);
    expect(host.announced).toHaveLength(1);
    const [url = ''] = host.announced;
    expect(await status('/console.json', await admit(url))).toBe(200);
    await open(`${host.url}/overview`);
    await host.clock.skip(10 * 60 * 1_000);
    await open(`${host.url}/overview`);
    expect(new Set(host.announced).size).toBe(3);
  });

  it('prints no URL for a call that no person reads', async () => {
    await admit();
    for (const path of EVERYTHING) await fetch(`${host.url}${path}`);
    expect(host.announced).toEqual([]);
  });

  it('still refuses writes of a page of another origin that has the cookie', async () => {
    const cookie = await admit();
    const response = await fetch(`${host.url}/connector/v1/sync`, {
      method: 'POST',
      headers: { cookie, origin: 'http://127.0.0.1:1' },
    });
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({ error: 'foreign_origin' }),
    ]);
  });
});
