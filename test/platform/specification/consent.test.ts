import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '../../support/proves.ts';
import {
  type App,
  type ConsentPage,
  createOauthVisitor,
  type OauthVisitor,
  type Visit,
} from './oauth-visitor.ts';
import {
  addTenant,
  type Json,
  outcomeOf,
  request,
  startWireService,
  type Tenant,
  type WireService,
} from './wire-service.ts';

/*
 * Who approves, and what: without a question, on the page of a standalone workspace, or by a code in a CRM portal.
 */

const SECOND = 1000;
const HOUR = 3600 * SECOND;

describe('consent', () => {
  let service: WireService;
  let visitor: OauthVisitor;
  let tenant: Tenant;

  beforeAll(async () => {
    service = await startWireService();
    visitor = await createOauthVisitor(service);
    tenant = await addTenant(service, 3);
  });
  afterAll(() => service.close());

  async function grantsOf({ clientId }: App): Promise<Json[]> {
    const { entries } = await service.control('GET', '/grants?limit=100');
    return entries.filter((grant: Json) => grant.clientId === clientId);
  }
  /** What came of a visit: a code, an error of the redirect, or the status of what was shown. */
  const outcome = ({ back, reply }: Visit): string =>
    back === null ? `shown ${reply.status}` : back.has('code') ? 'code' : `error ${back.get('error')}`;
  const codeOf = ({ back }: Visit): string => String(back?.get('code'));

  test(
    'is automatic if the developer owns one standalone workspace with a connection',
    proves('oauth.consent.automatic', 'choice.oauth.developer'),
    async () => {
      const app = await visitor.register({ ownerWorkspaceId: tenant.workspaceId });
      const { reply, back, page } = await visitor.authorize(app);
      expect([reply.status, page]).toEqual([303, null]);
      expect([...(back?.keys() ?? [])].sort()).toEqual(['code', 'iss', 'state']);
      const [empty, portal] = [
        await addTenant(service, 0),
        await addTenant(service, 1, { kind: 'crm_portal' }),
      ];
      for (const { workspaceId } of [empty, portal]) {
        const other = await visitor.register({ ownerWorkspaceId: workspaceId });
        expect((await visitor.authorize(other)).back).toBeNull();
      }
      expect((await visitor.authorize(await visitor.register())).back).toBeNull();
    },
  );

  test('is never given to a request for no connection', proves('oauth.grant.existing'), async () => {
    const app = await visitor.register({ ownerWorkspaceId: tenant.workspaceId });
    const stranger = await addTenant(service);
    for (const ids of ['', ' ', 'unknown', stranger.first]) {
      const { reply, back } = await visitor.authorize(app, { connection_ids: ids });
      expect(back?.get('code') ?? null, `${ids}: ${reply.status}`).toBeNull();
    }
    expect(await grantsOf(app)).toEqual([]);
  });

  describe('on the page of a standalone workspace', () => {
    test('covers the selected connections and scopes', proves('oauth.consent.standalone'), async () => {
      const app = await visitor.register();
      const [chosen = '', also = ''] = tenant.connectionIds;
      const page = await visitor.openPage(app, tenant.workspaceId);
      for (const id of tenant.connectionIds) expect(page.html).toContain(id);
      const visit = await page.press('allow', {
        connection: [chosen, also],
        scope: ['messaging.read', 'messaging.send'],
      });
      expect(visit.back?.get('state')).toBe('state-1');
      expect(visit.back?.get('iss')).toBe(visitor.metadata.issuer);
      const { body: pair } = await visitor.redeem(app, codeOf(visit));
      expect(pair.scope.split(' ').sort()).toEqual(['messaging.read', 'messaging.send']);
      const { body } = await service.api(pair.access_token, 'GET', '/connections');
      expect(body.connections.map(({ id }: Json) => id).sort()).toEqual([chosen, also].sort());
      expect(outcomeOf(await service.api(pair.access_token, 'GET', '/webhook'))).toBe(
        '403 insufficient_scope',
      );
      expect(await grantsOf(app)).toMatchObject([{ workspaceId: tenant.workspaceId }]);
    });

    test('is refused without a connection, and for what was not offered', async () => {
      const app = await visitor.register();
      const [mine = ''] = tenant.connectionIds;
      const stranger = await addTenant(service);
      const foreign = stranger.first;
      const injected = [
        { connection: undefined },
        { connection: foreign },
        { connection: mine, scope: undefined },
      ];
      for (const choice of injected) {
        const page = await visitor.openPage(app, tenant.workspaceId);
        const { back } = await page.press('allow', choice);
        expect(back?.get('code') ?? null, JSON.stringify(choice)).toBeNull();
      }
      expect(await grantsOf(app)).toEqual([]);
      const page = await visitor.openPage(app, tenant.workspaceId, { scope: 'messaging.read' });
      const wider = { connection: [mine, foreign], scope: ['messaging.read', 'messaging.send'] };
      const visit = await page.press('allow', wider);
      await visitor.redeem(app, codeOf(visit));
      for (const { connectionIds, scopes } of await grantsOf(app)) {
        expect([connectionIds, scopes]).toEqual([[mine], ['messaging.read']]);
      }
    });

    test('is refused if the last connection is deleted while the page is open', async () => {
      const brief = await addTenant(service);
      const app = await visitor.register();
      const page = await visitor.openPage(app, brief.workspaceId);
      expect((await service.api(brief.key, 'DELETE', `/connections/${brief.first}`)).status).toBe(200);
      expect((await page.press('allow')).back?.get('code') ?? null).toBeNull();
      expect(await grantsOf(app)).toEqual([]);
    });

    test('is denied with a button, and the app is notified', async () => {
      const app = await visitor.register();
      const page = await visitor.openPage(app, tenant.workspaceId);
      const { back } = await page.press('deny');
      const { error_description: _, ...said } = Object.fromEntries(back ?? []);
      expect(said).toEqual({ error: 'access_denied', state: 'state-1', iss: visitor.metadata.issuer });
      expect((await page.press('allow')).back?.get('code') ?? null).toBeNull();
      expect(await grantsOf(app)).toEqual([]);
    });

    test('is given once per page, in the browser that opened it, with the data of the page, and within its time', async () => {
      const app = await visitor.register();
      const open = (): Promise<ConsentPage> => visitor.openPage(app, tenant.workspaceId);
      const stranger = await open();
      const spoiled: readonly (readonly [string, Visit])[] = [
        ['no cookie', await (await open()).press('allow', {}, '')],
        ['a cookie of another', await (await open()).press('allow', {}, 'consent=x; other=y')],
        ['no form token', await (await open()).press('allow', { form: undefined })],
        ['a wrong form token', await (await open()).press('allow', { form: 'wrong' })],
        [
          'the form token of another page',
          await (await open()).press('allow', { form: stranger.fields['form'] }),
        ],
        ['no consent', await (await open()).press('allow', { consent: 'unknown' })],
        ['no action', await (await open()).press('allow', { action: undefined })],
      ];
      for (const [what, { reply, back }] of spoiled) {
        expect(back, what).toBeNull();
        expect(reply.status, what).toBeGreaterThanOrEqual(400);
      }
      const page = await open();
      expect(outcome(await page.press('allow'))).toBe('code');
      expect((await page.press('allow')).back?.get('code') ?? null).toBeNull();
      const late = await open();
      await service.advance(24 * HOUR);
      expect((await late.press('allow')).back?.get('code') ?? null).toBeNull();
    });

    test('cannot be framed or cached, and shows names as text', async () => {
      const name = `<img src=x onerror=alert(1)> "'&amp;`;
      const app = await visitor.register({ name });
      const named = await addTenant(service, 0);
      await service.control('POST', `/workspaces/${named.workspaceId}/connections`, {
        provider: 'qr',
        phoneNumber: '447000999999',
        label: '</span><script>alert(2)</script>',
      });
      const { reply } = await visitor.authorize(app);
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/);
      expect(reply.headers.get('cache-control')).toMatch(/no-store/);
      const [cookie = ''] = reply.headers.getSetCookie();
      expect(cookie).toMatch(/;\s*HttpOnly/i);
      expect(cookie).toMatch(/;\s*SameSite=(Lax|Strict)/i);
      const page = await visitor.openPage(app, named.workspaceId);
      for (const html of [reply.text, page.html]) {
        expect(html).toContain('&lt;img src=x');
        expect(html).not.toMatch(/<img|<script/);
      }
      expect(page.html).toContain('&lt;script&gt;');
    });
  });

  describe('in a CRM portal', () => {
    /** A portal, and the page of an app that it develops. */
    async function openPortal() {
      const portal = await addTenant(service, 2, { kind: 'crm_portal' });
      const app = await visitor.register({
        ownerWorkspaceId: portal.workspaceId,
        scopes: ['messaging.read'],
      });
      const { page } = await visitor.authorize(app);
      if (page === null) throw new Error('No page is shown.');
      return { ...portal, app, page };
    }
    const enter = (workspaceId: string, userCode: string) =>
      service.tryControl('POST', `/workspaces/${workspaceId}/user-codes`, { userCode });

    test(
      'is given by the admin who enters the code of the page, once',
      proves('oauth.consent.portal', 'choice.oauth.user-code'),
      async () => {
        const { app, page, workspaceId, connectionIds } = await openPortal();
        expect((await page.press('portal')).back).toBeNull();
        expect(await grantsOf(app)).toEqual([]);
        const userCode = shownCode(page);
        expect((await enter(workspaceId, userCode)).status).toBe(201);
        expect((await enter(workspaceId, userCode)).status).toBeGreaterThanOrEqual(400);
        expect((await page.press('portal', {}, '')).back).toBeNull();
        expect((await page.press('portal', { form: 'wrong' })).back).toBeNull();
        const done = await page.press('portal');
        expect(outcome(done)).toBe('code');
        const { body: pair } = await visitor.redeem(app, codeOf(done));
        const { body } = await service.api(pair.access_token, 'GET', '/connections');
        expect(body.connections.map(({ id }: Json) => id).sort()).toEqual([...connectionIds].sort());
        expect(await grantsOf(app)).toMatchObject([{ workspaceId, scopes: ['messaging.read'] }]);
        expect((await page.press('portal')).back?.get('code') ?? null).toBeNull();
      },
    );

    test('cannot be given by the visitor on the page', async () => {
      const { app, page, workspaceId, connectionIds } = await openPortal();
      const forged = { workspace: workspaceId, connection: connectionIds, scope: 'messaging.read' };
      expect((await page.press('allow', forged)).back?.get('code') ?? null).toBeNull();
      expect(await grantsOf(app)).toEqual([]);
      const { back } = await page.press('deny');
      expect(back?.get('error')).toBe('access_denied');
    });

    test('is no longer possible once the visitor has refused', async () => {
      const { app, page, workspaceId } = await openPortal();
      expect((await page.press('deny')).back?.get('error')).toBe('access_denied');
      expect((await enter(workspaceId, shownCode(page))).status).toBeGreaterThanOrEqual(400);
      expect((await page.press('portal')).back?.get('code') ?? null).toBeNull();
      expect(await grantsOf(app)).toEqual([]);
    });

    test('is not given by an expired code', async () => {
      const { app, page, workspaceId } = await openPortal();
      const userCode = shownCode(page);
      await service.advance(HOUR);
      expect((await enter(workspaceId, userCode)).status).toBeGreaterThanOrEqual(400);
      expect((await page.press('portal')).back?.get('code') ?? null).toBeNull();
      expect(await grantsOf(app)).toEqual([]);
    });

    test('cannot be guessed: after a few wrong codes, even the right one is refused', async () => {
      const { app, page, workspaceId } = await openPortal();
      const right = shownCode(page);
      const refusals: string[] = [];
      for (let tries = 0; tries < 12; tries += 1) {
        refusals.push(outcomeOf(await enter(workspaceId, guess(right, tries))));
      }
      expect(refusals.at(0)).toBe('404 not_found');
      expect(refusals.at(-1)).toBe('429 rate_limited');
      expect(outcomeOf(await enter(workspaceId, right))).toBe('429 rate_limited');

      await service.advance(24 * HOUR);
      const { page: later } = await visitor.authorize(app);
      if (later === null) throw new Error('No page is shown.');
      expect((await enter(workspaceId, shownCode(later))).status).toBe(201);
      expect(outcome(await later.press('portal'))).toBe('code');
    });

    test(
      'cannot be used to create connections, which the portal creates itself',
      proves('errors.forbidden_portal_kind', 'errors.addon_required'),
      async () => {
        const portal = await addTenant(service, 1, { kind: 'crm_portal' });
        const app = await visitor.register({ ownerWorkspaceId: portal.workspaceId });
        const { page } = await visitor.authorize(app);
        if (page === null) throw new Error('No page is shown.');
        expect((await enter(portal.workspaceId, shownCode(page))).status).toBe(201);
        const { body: pair } = await visitor.redeem(app, codeOf(await page.press('portal')));
        const { access_token: token } = pair;
        expect(outcomeOf(await service.api(token, 'POST', '/connections'))).toBe('403 forbidden_portal_kind');
        const [id = ''] = portal.connectionIds;
        await service.control('PUT', `/connections/${id}/licence`, { status: 'expired' });
        const send = { connectionId: id, to: '447700900201', text: 'x' };
        expect(outcomeOf(await service.api(token, 'POST', '/messages', send))).toBe('402 addon_required');
      },
    );
  });

  test('requires a browser that comes from an authorize request', async () => {
    const action = /<form[^>]*action="([^"]*)"/.exec(
      (await visitor.authorize(await visitor.register())).reply.text,
    );
    const target = new URL(String(action?.[1]), service.info.authUrl);
    const bare = await request(target, { method: 'POST', body: new URLSearchParams({ action: 'allow' }) });
    expect([bare.status >= 400, bare.headers.get('location')]).toEqual([true, null]);
  });
});

/** The user code on a page: two groups of letters or digits, alone in their element. */
function shownCode({ html }: ConsentPage): string {
  const [, code = ''] = />\s*([A-Z0-9]{3,6}-[A-Z0-9]{3,6})\s*</.exec(html) ?? [];
  expect(code).not.toBe('');
  return code;
}

/** A code of the same form that is another one. */
function guess(right: string, turn: number): string {
  const letters = [...right];
  const at = turn % 4;
  const other = letters.find((letter) => letter !== letters[at] && letter !== '-') ?? 'X';
  const wrong = letters.map((letter, index) => (index === at ? other : letter)).join('');
  return wrong === right ? [...right].reverse().join('') : wrong;
}
