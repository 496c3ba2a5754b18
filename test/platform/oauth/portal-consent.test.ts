import { beforeAll, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { type Page, postForm, readPage } from './consent-page.ts';
import {
  type Fields,
  type OauthReply,
  returned,
  type TestApp,
  VERIFIER,
  worldOfFile,
} from './oauth-fixture.ts';

describe('consent in a CRM portal', () => {
  const world = worldOfFile({ find: () => null });
  let portalId: string;
  let connection: string;
  let app: TestApp;

  beforeAll(async () => {
    const { platform } = world.service;
    ({ id: portalId } = await platform.workspaces.create({ kind: 'crm_portal' }));
    const paired = { provider: 'qr', phoneNumber: '4915112345001' } as const;
    ({ id: connection } = await platform.connections.createPaired(portalId, paired));
    app = await world.register();
  });

  const open = async (): Promise<Page> => readPage(await world.authorize(app));
  const codeOf = ({ reply }: Page): string => />([A-Z]{4}-[A-Z]{4})</.exec(reply.text)?.[1] ?? '';
  const goOn = (page: Page, fields: Fields = {}, cookie = page.cookie): Promise<OauthReply> =>
    postForm(world, { ...page.fields, action: 'portal', ...fields }, cookie);
  const approve = (code?: string) => world.service.platform.oauth.approvals.approve(portalId, code);

  it('shows a code, waits for the admin who enters it, and continues with a grant that creates nothing', async () => {
    proves('oauth.consent.portal', 'choice.oauth.user-code', 'errors.forbidden_portal_kind');
    const page = await open();
    const code = codeOf(page);
    expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    const early = await goOn(page);
    expect([early.status, early.headers.get('location')]).toEqual([400, null]);
    expect(early.text).toContain(code);
    expect(await approve(code.toLowerCase().replace('-', ' '))).toEqual({ userCode: code });
    expect(await approve(code)).toBe('unknown_code');
    const elsewhere = await goOn(page, {}, '');
    expect([elsewhere.status, elsewhere.headers.get('location')]).toEqual([400, null]);
    const done = await goOn(page);
    expect(done.status).toBe(303);
    const [grant] = await world.service.platform.oauth.grants.list({ limit: 1 });
    expect(grant).toMatchObject({
      workspaceId: portalId,
      connectionIds: [connection],
      scopes: ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'],
    });
    expect((await goOn(page)).status).toBe(400);
    const given = { code: returned(done).get('code') ?? '', verifier: VERIFIER };
    const key = String((await world.redeem(app, given)).body['access_token']);
    const create = await world.service.call('POST', '/connections', { key });
    expect([create.status, create.body]).toEqual([403, { error: 'forbidden_portal_kind' }]);
  });

  it('cannot be given by the visitor, after a denial, or with a code that has expired', async () => {
    const [page, late] = [await open(), await open()];
    const forged = { action: 'allow', workspace: portalId, connection, scope: 'messaging.read' };
    const allowed = await goOn(page, forged);
    expect([allowed.status, allowed.headers.get('location')]).toEqual([400, null]);
    expect(returned(await goOn(page, { action: 'deny' })).get('error')).toBe('access_denied');
    await world.service.platform.time.advance({ ms: 9 * 60_000 });
    expect(await approve(codeOf(late))).toEqual({ userCode: codeOf(late) });
    for (const [each, ms] of [
      [page, 0],
      [late, 60_000],
    ] as const) {
      await world.service.platform.time.advance({ ms });
      expect(await approve(codeOf(each))).toBe('unknown_code');
      expect((await goOn(each)).status).toBe(400);
    }
  });

  it('approves the only waiting page if no code is entered', async () => {
    expect(await approve()).toBe('no_request');
    const page = await open();
    expect(await approve()).toEqual({ userCode: codeOf(page) });
    expect((await goOn(page)).status).toBe(303);
    const pages = [await open(), await open()];
    expect(await approve()).toBe('several_requests');
    for (const each of pages) expect(await approve(codeOf(each))).toEqual({ userCode: codeOf(each) });
  });

  it('cannot be guessed, and a code is only for its own page', async () => {
    const { platform } = world.service;
    const pages = [await open(), await open()];
    const [first = '', second = ''] = pages.map(codeOf);
    expect(first).not.toBe(second);
    const other = await platform.workspaces.create({ kind: 'crm_portal' });
    const like = [
      first.slice(0, 4),
      first.replace('-', '/'),
      `${first}A`,
      first.split('-').reverse().join('-'),
    ];
    for (const code of like) {
      expect(await platform.oauth.approvals.approve(other.id, code)).toBe('unknown_code');
    }
    expect(await approve(first)).toEqual({ userCode: first });
    const [mine, theirs] = await Promise.all(pages.map((page) => goOn(page)));
    expect([mine?.status, theirs?.status]).toEqual([303, 400]);
    const both = await Promise.all([approve(second), platform.oauth.approvals.approve(other.id, second)]);
    expect(both.map((result) => typeof result).toSorted()).toEqual(['object', 'string']);
  });

  it('is not available to the owner of a standalone workspace', async () => {
    expect(await world.service.platform.oauth.approvals.approve(world.workspaceId)).toBe('no_portal');
    await expect(world.service.platform.oauth.approvals.approve('unknown')).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
