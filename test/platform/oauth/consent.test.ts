import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ASSUMPTIONS } from '../../../src/platform/kernel/assumptions.ts';
import { openPage } from '../../support/chromium.ts';
import { proves } from '../../support/proves.ts';
import { FORM, type Page, postForm, readPage } from './consent-page.ts';
import {
  authorizeFields,
  encode,
  type Fields,
  type OauthReply,
  PATHS,
  returned,
  type TestApp,
  VERIFIER,
  worldOfFile,
} from './oauth-fixture.ts';

const EVIL = `"><script>alert(1)</script><b x='&`;
const DAY = 86_400_000;
/** Turns the direction of what follows, and ends the line. */
const TURNED = `${EVIL}\u202e\r\n`;

describe('consent on a page', () => {
  // Somebody owns all workspaces: none is approved for automatically, and each can be chosen.
  const world = worldOfFile({ find: () => ({ workspaceIds: null, except: hidden }) });
  let workspaceId: string;
  let app: TestApp;
  /** Workspaces that are not shown, because they belong to a test that is over. */
  const hidden: string[] = [];

  beforeAll(async () => {
    const { platform } = world.service;
    ({ id: workspaceId } = await platform.workspaces.create({ kind: 'standalone' }));
    for (const [label, phoneNumber] of [
      [EVIL, '4915112345001'],
      ['Sales', '4915112345002'],
    ] as const) {
      await platform.connections.createPaired(workspaceId, { provider: 'qr', phoneNumber, label });
    }
    app = await world.register({ name: TURNED });
  });

  const open = async (fields: Fields = {}): Promise<Page> => readPage(await world.authorize(app, fields));
  const show = async (path: string, cookie: string): Promise<OauthReply> =>
    world.send('GET', path, { headers: { cookie } });
  /** The page of a workspace, to which the first page links. */
  const follow = async ({ reply, cookie }: Page, workspace: string): Promise<Page> => {
    const path =
      reply.text.match(new RegExp(`href="(/oauth/consent[^"]*workspace=${workspace})"`))?.[1] ?? '';
    return readPage(await show(path.replaceAll('&amp;', '&'), cookie), cookie);
  };
  const submit = async (page: Page, fields: Fields, cookie = page.cookie): Promise<Page> =>
    readPage(await postForm(world, { ...page.fields, ...fields }, cookie), page.cookie);
  /** The page with the connections of the second workspace. */
  const choose = async (fields: Fields = {}): Promise<Page> => follow(await open(fields), workspaceId);
  /** The button of that page, with every connection ticked. */
  const allowAll = (page: Page): Fields => ({
    action: 'allow',
    workspace: workspaceId,
    connection: page.values('connection'),
    scope: 'messaging.read',
  });

  it('lets the owner choose workspace, connections and scopes', async () => {
    proves('oauth.consent.standalone');
    const first = await open({ scope: 'messaging.read messaging.send' });
    const offered = [...first.reply.text.matchAll(/workspace=(\w+)"/g)].map(([, id]) => id);
    expect(offered.toSorted()).toEqual([world.workspaceId, workspaceId].toSorted());
    const page = await follow(first, workspaceId);
    const connections = page.values('connection');
    expect(connections).toHaveLength(2);
    expect(page.values('scope')).toEqual(['messaging.read', 'messaging.send']);
    const { reply } = await submit(page, {
      action: 'allow',
      workspace: workspaceId,
      // One of these is of another workspace, and one was not asked for.
      connection: [...connections.slice(1), world.connectionId],
      scope: ['messaging.send', 'messaging.manage'],
    });
    expect([reply.status, returned(reply).get('state')]).toEqual([303, 'xyz']);
    expect(returned(reply).get('iss')).toBe(world.service.origin);
    expect(returned(reply).get('code')).toMatch(/^mca_/);
    const [grant] = await world.service.platform.oauth.grants.list({ limit: 1 });
    expect(grant).toMatchObject({
      workspaceId,
      scopes: ['messaging.send'],
      connectionIds: connections.slice(1),
    });
  });

  it('shows how long the access lasts, and it ends then', async () => {
    const shown = async (): Promise<string> => {
      const { reply } = await choose();
      return /<p[^>]*>(Access ends [^<]*)</.exec(reply.text)?.[1] ?? '';
    };
    expect(await shown()).toBe(
      'Access ends after 365 days at the latest, or earlier if the app does not use it for 30 days.',
    );
    const lifetime = ASSUMPTIONS.oauthGrantLifetimeMs;
    const { value } = lifetime;
    onTestFinished(() => void Object.assign(lifetime, { value }));
    Object.assign(lifetime, { value: 10 * DAY });
    expect(await shown()).toContain('Access ends after 10 days at the latest');
    const page = await choose();
    const { reply } = await submit(page, allowAll(page));
    const code = returned(reply).get('code') ?? '';
    await world.redeem(app, { code, verifier: VERIFIER });
    const [grant] = await world.service.platform.oauth.grants.list({ limit: 1 });
    expect(Number(grant?.expiresAt) - world.service.platform.time.now()).toBe(10 * DAY);
  });

  it('asks again if nothing was selected, keeps the selection, and returns a denial', async () => {
    const page = await choose();
    const scope = 'messaging.read';
    const nothing = await submit(page, { action: 'allow', workspace: workspaceId, scope });
    expect([nothing.reply.status, nothing.reply.headers.get('location')]).toEqual([400, null]);
    expect(nothing.reply.text).toContain('role="alert"');
    expect(nothing.reply.text).toContain('<title>Not yet: ');
    expect(nothing.reply.text).toContain(
      '<fieldset aria-describedby="connections-error"><legend>Connections</legend><p class="error" id="connections-error">Select at least one connection.</p>',
    );
    expect(nothing.reply.text.match(/ checked>/g)).toHaveLength(1);
    const [connection] = page.values('connection');
    const noScope = await submit(page, { action: 'allow', workspace: workspaceId, connection });
    expect([noScope.reply.status, noScope.reply.text.includes('Select at least one permission.')]).toEqual([
      400,
      true,
    ]);
    const { reply } = await submit(page, { action: 'deny' });
    expect(reply.headers.get('set-cookie')).toMatch(
      /^consent_c[0-9a-z]{24}=; Path=\/oauth\/consent; Max-Age=0;/,
    );
    const { error_description: _, ...said } = Object.fromEntries(returned(reply));
    const { origin } = world.service;
    expect([reply.status, said]).toEqual([
      303,
      { error: 'access_denied', state: 'xyz', iss: origin, tenant: '7' },
    ]);
    const again = await submit(page, {
      action: 'allow',
      workspace: workspaceId,
      connection,
      scope: 'messaging.read',
    });
    expect([again.reply.status, again.reply.headers.get('location')]).toEqual([400, null]);
  });

  it('issues one code, however often the button is pressed', async () => {
    const page = await choose();
    const yes = allowAll(page);
    const pages = await Promise.all([submit(page, yes), submit(page, yes), submit(page, yes)]);
    expect(pages.filter(({ reply }) => reply.status === 303)).toHaveLength(1);
    // As after a double click, or a return with the back button.
    const late = pages.find(({ reply }) => reply.status !== 303)?.reply.text;
    expect(late).toContain('This request was answered, has expired, or was opened in another browser.');
    expect(late).not.toContain('developer');
    expect(late).not.toContain('Nothing was shared');
  });

  it('accepts a form only from its own page and browser', async () => {
    const page = await choose();
    const other = await choose();
    const yes = allowAll(page);
    const foreign: readonly (readonly [what: string, fields: Fields, cookie: string])[] = [
      ['no cookie', yes, ''],
      ['the cookie of another page', yes, other.cookie],
      ['an altered cookie', yes, `${page.cookie}x`],
      ['another consent', { ...yes, consent: other.fields['consent'] }, page.cookie],
      ['an unknown consent', { ...yes, consent: 'cabcdefghijklmnopqrstuvwx' }, page.cookie],
      ['no action', { ...yes, action: undefined }, page.cookie],
      ['nothing but a button', { action: 'allow', consent: undefined }, ''],
      ['an unknown action', { ...yes, action: 'constructor' }, page.cookie],
      ['two workspaces', { ...yes, workspace: [workspaceId, workspaceId] }, page.cookie],
      ['an unknown workspace', { ...yes, workspace: 'cabcdefghijklmnopqrstuvwx' }, page.cookie],
      ['a portal that approved nothing', { action: 'portal' }, page.cookie],
    ];
    for (const [what, fields, cookie] of foreign) {
      const { reply } = await submit(page, fields, cookie);
      expect([what, reply.status, reply.headers.get('location')]).toEqual([what, 400, null]);
    }
    const borrowed = await submit(page, { ...yes, connection: world.connectionId });
    expect([borrowed.reply.status, borrowed.reply.headers.get('location')]).toEqual([400, null]);
    expect((await submit(page, yes)).reply.status).toBe(303);
  });

  it('is refused if the last connection is deleted while the page is open', async () => {
    const { platform } = world.service;
    const { id: brief } = await platform.workspaces.create({ kind: 'standalone' });
    const paired = { provider: 'qr', phoneNumber: '4915112345009' } as const;
    const { id: connection } = await platform.connections.createPaired(brief, paired);
    const { key } = await platform.apiKeys.create(brief);
    const page = await follow(await open(), brief);
    await world.service.call('DELETE', `/connections/${connection}`, { key });
    const given = { action: 'allow', workspace: brief, connection, scope: 'messaging.read' };
    const { reply } = await submit(page, given);
    expect([reply.status, reply.headers.get('location')]).toEqual([400, null]);
  });

  it('is given by a form that is posted once, in each of two tabs separately', async () => {
    const page = await choose();
    const yes = allowAll(page);
    const { cookie } = page;
    const query = encode({ ...page.fields, ...yes });
    const json = JSON.stringify({ ...page.fields, ...yes });
    const wrong: readonly (readonly [string, string, RequestInit])[] = [
      ['GET', `/oauth/consent?${query}`, { headers: { cookie } }],
      ['HEAD', `/oauth/consent?${query}`, { headers: { cookie } }],
      ['POST', `/oauth/consent?${query}`, { headers: { cookie, 'content-type': FORM } }],
      ['POST', '/oauth/consent', { headers: { cookie, 'content-type': 'application/json' }, body: json }],
      ['POST', '/oauth/consent', { headers: { cookie, 'content-type': 'text/plain' }, body: query }],
      ['POST', '/oauth/consent', { headers: { cookie, 'content-type': FORM }, body: `${query}&consent=x` }],
    ];
    for (const [method, path, init] of wrong) {
      const reply = await world.send(method, path, init);
      expect([method, path, reply.headers.get('location')]).toEqual([method, path, null]);
      expect([400, 405]).toContain(reply.status);
    }

    const second = await choose({ state: 'second' });
    const cookies = `${page.cookie}; ${second.cookie}`;
    const states = [];
    for (const tab of [second, page]) {
      states.push(returned((await submit(tab, yes, cookies)).reply).get('state'));
      const replayed = await submit(tab, yes, cookies);
      expect([replayed.reply.status, replayed.reply.headers.get('location')]).toEqual([400, null]);
    }
    expect(states).toEqual(['second', 'xyz']);
  });

  it('ends after ten minutes', async () => {
    const page = await choose();
    const { time } = world.service.platform;
    await time.advance({ ms: 10 * 60_000 });
    const { reply } = await submit(page, { action: 'deny' });
    expect([reply.status, reply.headers.get('location')]).toEqual([400, null]);
  });

  it('shows the redirect target, and each number once', async () => {
    const { platform } = world.service;
    const { id: large } = await platform.workspaces.create({ kind: 'standalone' });
    for (let last = 0; last < 6; last += 1) {
      await platform.connections.createPaired(large, { provider: 'qr', phoneNumber: `49151123460${last}0` });
    }
    const first = await open();
    expect(first.reply.text).toContain('Afterwards you will be redirected to <strong>crm.example</strong>');
    const card = new RegExp(
      `<a class="choice"[^>]*workspace=${large}"><span>\\s*<ul>(.*?)</ul><span class="soft small">(.*?) · `,
      's',
    ).exec(first.reply.text);
    expect(card?.slice(1)).toEqual([
      '<li>+4915112346000</li><li>+4915112346010</li><li>+4915112346020</li><li class="soft">and 3 more</li>',
      '6 connections',
    ]);
    const page = await follow(first, large);
    expect(page.reply.text.match(/4915112346000/g)).toHaveLength(1);
    // What is asked for is seen before a long list.
    expect(page.reply.text).toMatch(/Permissions.*Connections.*>Allow</s);
    // All but the scope that deletes numbers, which nobody has asked for by name.
    expect(page.reply.text.match(/ checked>/g)).toHaveLength(9);
    hidden.push(large);
    expect((await open()).reply.text).not.toContain(large);
  });

  it('is shown as often as its address is opened, in its browser only', async () => {
    const first = await open();
    const choice = `/oauth/consent?consent=${first.fields['consent']}`;
    const page = `${choice}&workspace=${workspaceId}`;
    const shown = await show(page, first.cookie);
    expect((await show(page, first.cookie)).text).toBe(shown.text);
    expect(shown.text).toContain(`<a href="${choice}">← Choose another workspace</a>`);
    expect((await show(choice, first.cookie)).text).toContain('Choose a workspace');

    for (const [path, cookie] of [
      [page, ''],
      [page.replace(workspaceId, 'cabcdefghijklmnopqrstuvwx'), first.cookie],
      [`${page}&action=allow&connection=x`, first.cookie],
      [`${choice}&workspace=`, first.cookie],
      ['/oauth/consent', first.cookie],
    ] as const) {
      const refused = await show(path, cookie);
      expect([path, refused.status, refused.headers.get('location')]).toEqual([path, 400, null]);
      expect(refused.text).not.toContain('<form');
    }
    await submit(first, { action: 'deny' });
    expect((await show(page, first.cookie)).status).toBe(400);
  });

  it('shows the permission to delete numbers separately, selected only if the app requested it explicitly', async () => {
    const manage = (page: Page): string =>
      /<div class="apart"><p>([^<]*)<\/p><label>(<input[^>]*>)/.exec(page.reply.text)?.slice(1).join(' ') ??
      '';
    const unasked =
      'This permission allows the app to delete numbers, which cannot be undone. <input type="checkbox" name="scope" value="messaging.manage"';
    expect(manage(await choose())).toBe(`${unasked}>`);
    expect(manage(await choose({ scope: 'messaging.read messaging.manage' }))).toBe(`${unasked} checked>`);
    expect((await choose({ scope: 'messaging.read' })).reply.text).not.toContain('class="apart"');
  });

  it('shows whose page it is, and who is signed in', async () => {
    for (const { reply } of [await open(), await choose()]) {
      expect(reply.text).toContain('<strong>Messaging service</strong>');
      expect(reply.text).toContain('Developer portal, signed in as the owner of its workspaces');
    }
  });

  it('shows names as text, without frames, scripts or external resources', async () => {
    const page = await choose();
    for (const { reply } of [await open(), page]) {
      expect(reply.status).toBe(200);
      expect(reply.text).not.toContain('<script');
      expect(reply.text).not.toContain(EVIL);
      expect(reply.text).not.toContain('\u202e');
      expect(reply.text).toContain(
        '<bdi>&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;b x=&#39;&amp;</bdi>',
      );
      expect(reply.headers.get('x-frame-options')).toBe('DENY');
      expect(reply.headers.get('cache-control')).toBe('no-store');
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self' https://crm.example");
      expect(policy).not.toContain('unsafe');
    }
    expect((await open()).reply.headers.get('set-cookie')).toMatch(
      /; Path=\/oauth\/consent; Max-Age=3600; HttpOnly; SameSite=Lax$/,
    );
  });

  it('fits a narrow screen, whatever the names', async () => {
    const long = 'Donaudampfschifffahrtsgesellschaft'.repeat(2);
    const { platform } = world.service;
    const { id } = await platform.workspaces.create({ kind: 'standalone' });
    onTestFinished(() => void hidden.push(id));
    await platform.connections.createPaired(id, {
      provider: 'qr',
      phoneNumber: '4915112345009',
      label: long,
    });
    const named = await world.register({ name: long });
    const address = `${world.service.origin}${PATHS.authorize}?${encode(authorizeFields(named))}`;
    const { page } = await openPage(address);
    await page.setViewportSize({ width: 320, height: 700 });
    for (const link of [page.locator(`a[href*="${id}"]`), null]) {
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      await link?.click();
    }
  });
});
