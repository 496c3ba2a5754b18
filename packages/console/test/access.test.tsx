// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { at, DESK } from './answers.tsx';
import {
  type Answers,
  button,
  hasFocus,
  invalid,
  openPage,
  Refusal,
  type Sent,
  saysWhyRefused,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const ALL = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'];
const KEY = {
  id: 'k1',
  scopes: ALL,
  ipAllowlist: null as string[] | null,
  connectionIds: null as string[] | null,
  hint: 'ab12cd34',
  createdAt: at(),
  revokedAt: null as string | null,
};
const workspace = (...apiKeys: (typeof KEY)[]) => ({
  id: 'w1',
  kind: 'standalone',
  createdAt: at(),
  slots: { total: 10, used: 3, available: 7, nextExpiry: null },
  apiKeys,
});
const APP = {
  clientId: 'app7',
  name: '<img src=x onerror=alert(1)>',
  redirectUris: ['http://127.0.0.1:3000/callback'],
  scopes: ['messaging.read', 'messaging.send'],
  webhookUrl: null,
  ownerWorkspaceId: null,
  legacySubscription: false,
  createdAt: at(),
};
const GRANT = {
  id: 'g1',
  clientId: 'app7',
  workspaceId: 'w1',
  scopes: ['messaging.read', 'messaging.send'],
  connectionIds: ['c1', 'c2'],
  createdAt: at(),
  revokedAt: null as string | null,
  refreshes: 2,
  expiresAt: at(60),
  refreshTokens: [
    { expiresAt: at(60), usedAt: null },
    { expiresAt: at(30), usedAt: at(10) },
  ],
};

/** The keys of a workspace, which calls change. */
function keys(...given: (typeof KEY)[]): Answers {
  let all = given;
  const replace = (id: string, change: Partial<typeof KEY>) => {
    all = all.map((key) => (key.id === id ? { ...key, ...change } : key));
    return { id, scopes: ALL, ipAllowlist: null, connectionIds: null, ...change };
  };
  return {
    'GET /sandbox/v1/workspaces': () => ({ entries: [workspace(...all)] }),
    'GET /sandbox/v1/oauth-apps': { entries: [APP] },
    'GET /sandbox/v1/grants': { entries: [GRANT] },
    'PATCH /sandbox/v1/api-keys/{id}': ({ path, body }: Sent) =>
      replace(path.split('/').at(-1) ?? '', body as object),
    'DELETE /sandbox/v1/api-keys/{id}': ({ path }: Sent) => {
      replace(path.split('/').at(-1) ?? '', { revokedAt: at(60) });
      return { ok: true };
    },
  };
}

describe('the credentials', () => {
  it('are listed with what they may do, and are moved through with j and k', async () => {
    const page = await openPage(
      '/access',
      keys(
        { ...KEY, ipAllowlist: ['203.0.113.0/24', '::1'] },
        { ...KEY, id: 'k2', scopes: ALL.slice(1), connectionIds: ['c1'], revokedAt: at(1) },
      ),
    );
    await screen.findByRole('link', { name: /^k1/ });
    const rows = (await screen.findAllByRole('link')).filter(({ className }) => className.includes('row'));
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      'k1everythingall connections, 2 addressesvalid',
      'k2send, events, manage1 connectionrevoked',
      '<img src=x onerror=alert(1)>read, sendapp7no webhook',
      '<img src=x onerror=alert(1)>read, send2 connections, 2 refreshesvalid',
    ]);
    screen.getByRole('region', { name: 'API keys, Workspace w1 · 3 of 10 slots used' });
    await page.press('j', /^k1/);
    await page.user.keyboard('jjk{Enter}');
    await screen.findByRole('heading', { name: 'k2' });
    await page.user.keyboard('{Escape}');
    await waitFor(() => expect(location.pathname).toBe('/access'));
    await hasFocus(/^k2/);
    await page.press('k', /^k1/);
  });
});

describe('an API key', () => {
  it('is reduced to scopes, connections and addresses, and says when this takes effect', async () => {
    const page = await openPage('/access/key-k1', {
      ...keys(KEY),
      'GET /sandbox/v1/connections': ({ query }: Sent) => ({
        entries:
          query['q'] === 'workspace:w1'
            ? [
                { ...DESK, id: 'c1' },
                { ...DESK, id: 'c2', phoneNumber: '447700900102' },
              ]
            : [],
      }),
    });
    await page.user.click(await screen.findByLabelText(/^messaging\.read/));
    await page.user.click(screen.getByLabelText('Limit it to some connections'));
    await page.user.click(await screen.findByLabelText('c2 447700900102'));
    await page.user.type(screen.getByLabelText('Addresses'), '203.0.113.0/24,{Shift>}{Enter}{/Shift} ::1');
    await page.user.click(await button('Save'));
    await screen.findByText('Takes effect on the next call.');
    expect(page.writes).toMatchObject([
      {
        path: '/sandbox/v1/api-keys/k1',
        body: { scopes: ALL.slice(1), connectionIds: ['c2'], ipAllowlist: ['203.0.113.0/24', '::1'] },
      },
    ]);
    expect(screen.getByRole('link', { name: 'Calls of this key' }).getAttribute('href')).toBe(
      '/calls?q=credential%3Ak1',
    );
  });

  it('stays limited to what it was limited to, also if its connections cannot be read', async () => {
    const page = await openPage('/access/key-k1', {
      ...keys({ ...KEY, connectionIds: ['c7'], ipAllowlist: ['::1', '203.0.113.0/24'] }),
      'GET /sandbox/v1/connections': new Refusal(500, 'internal_error', 'It failed.'),
    });
    await page.user.click(await button('Save'));
    await screen.findByText('Takes effect on the next call.');
    await page.user.click(screen.getByLabelText(/^c7/));
    await page.user.click(await button('Save'));
    await waitFor(() => expect(page.writes).toHaveLength(2));
    expect(page.writes).toMatchObject([
      { body: { connectionIds: ['c7'], ipAllowlist: ['::1', '203.0.113.0/24'] } },
      { body: { connectionIds: [] } },
    ]);
  });

  it('is saved once, however fast its button is pressed', async () => {
    const page = await openPage('/access/key-k1', keys(KEY));
    const save = await button('Save');
    save.click();
    save.click();
    await screen.findByText('Takes effect on the next call.');
    expect(page.writes).toHaveLength(1);
  });

  it('shows a refused address at its field', async () => {
    const page = await openPage('/access/key-k1', {
      ...keys(KEY),
      'PATCH /sandbox/v1/api-keys/k1': invalid('ipAllowlist.1', 'is no address.'),
    });
    const field = await screen.findByLabelText('Addresses');
    await page.user.type(field, '203.0.113.0/24, 300.1.1.1');
    await page.user.click(await button('Save'));
    expect((await screen.findByRole('alert')).textContent).toBe('is no address.');
    expect(field.getAttribute('aria-invalid')).toBe('true');
    // The field of this one is not on display.
    page.answer({ 'PATCH /sandbox/v1/api-keys/k1': invalid('connectionIds.0', 'is unknown.') });
    await page.user.click(await button('Save'));
    await screen.findByText('is unknown.');
    expect(field.getAttribute('aria-invalid')).toBe('false');
  });

  it('tries an address', async () => {
    const page = await openPage('/access/key-k1', keys(KEY));
    const field = await screen.findByRole('textbox', { name: 'Try an address' });
    await page.user.type(field, '203.0.113.7');
    for (const [answer, words] of [
      [{ allowed: true, entry: '203.0.113.0/24' }, 'accepted Matches 203.0.113.0/24.'],
      [{ allowed: true, entry: null }, 'accepted The key has no allowlist.'],
      [{ allowed: false, entry: null }, 'refused No entry of the allowlist matches.'],
    ] as const) {
      page.answer({ 'POST /sandbox/v1/api-keys/k1/try': answer });
      await page.user.type(field, '{Enter}');
      await waitFor(() =>
        expect(screen.getAllByRole('status').map(({ textContent }) => textContent)).toContain(words),
      );
      expect(page.writes.at(-1)).toMatchObject({ body: { address: '203.0.113.7' } });
    }
    expect(page.writes).toHaveLength(3);
  });

  it.each([
    ['for everybody', '', {}],
    ['for some addresses', '203.0.113.7', { ipAllowlist: ['203.0.113.7'] }],
  ])('is created %s, and shown once with its value', async (_for, addresses, limits) => {
    const page = await openPage('/access', {
      ...keys(KEY),
      'POST /sandbox/v1/workspaces/w1/api-keys': { id: 'k1', key: 'msk_new' },
    });
    await page.user.click(await screen.findByRole('link', { name: 'Create key' }));
    const field = await screen.findByRole('textbox', { name: 'Addresses' });
    if (addresses !== '') await page.user.type(field, addresses);
    await page.user.click(await button('Create key'));
    const secrets = within(await screen.findByRole('region', { name: 'Secrets' }));
    expect(secrets.getByText('msk_new')).toBeDefined();
    await hasFocus('Copy');
    await page.user.click(secrets.getByRole('button', { name: 'Copy' }));
    await secrets.findByText('API key copied');
    expect(await navigator.clipboard.readText()).toBe('msk_new');
    expect(page.writes.map(({ body }) => body)).toEqual([{ scopes: ALL, ...limits }]);
    await page.user.click(screen.getByRole('link', { name: 'Open the key' }));
    await screen.findByRole('heading', { name: 'k1' });
    expect(page.text()).not.toContain('msk_new');
  });

  it('is revoked after a confirmation, and cannot be changed then', async () => {
    const page = await openPage('/access/key-k1', keys(KEY), { refreshes: false });
    await page.user.click(await button('Revoke'));
    await screen.findByText('Every later call with this key is refused. This cannot be undone.');
    expect(page.writes).toEqual([]);
    await page.user.click(screen.getAllByRole('button', { name: 'Revoke' }).at(-1) as HTMLElement);
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Revoke' })).toBeNull());
    expect(page.writes).toMatchObject([{ method: 'DELETE', path: '/sandbox/v1/api-keys/k1' }]);
    expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
    expect(screen.getAllByText('revoked')).toHaveLength(2);
  });
});

describe('an OAuth app', () => {
  it('is registered, with what is refused at its field, and its secrets are shown once', async () => {
    const REGISTER = 'POST /sandbox/v1/oauth-apps';
    const page = await openPage('/access', {
      ...keys(KEY),
      'GET /sandbox/v1/grants': { entries: [GRANT, { ...GRANT, id: 'g2', revokedAt: at(1) }] },
      [REGISTER]: invalid('redirectUris.0', 'must be HTTPS.'),
    });
    await page.user.click(await screen.findByRole('link', { name: 'Register app' }));
    await hasFocus('Name');
    await page.user.keyboard('Desk');
    const uris = screen.getByLabelText('Redirect URIs');
    await page.user.type(uris, 'https://a.example/1 https://a.example/2');
    await page.user.click(screen.getByLabelText(/^messaging\.manage/));
    await page.user.selectOptions(screen.getByLabelText('Owner'), 'w1');
    await page.user.click(await button('Register'));
    expect((await screen.findByRole('alert')).textContent).toBe('must be HTTPS.');
    expect(uris.getAttribute('aria-invalid')).toBe('true');
    page.answer({
      [REGISTER]: { clientId: 'app7', clientSecret: 'secret of app', webhookSecret: 'whsec_0' },
    });
    await page.user.click(await button('Register'));
    await screen.findByText('secret of app');
    expect(page.writes[1]?.body).toEqual({
      name: 'Desk',
      redirectUris: ['https://a.example/1', 'https://a.example/2'],
      scopes: ALL.slice(0, 3),
      ownerWorkspaceId: 'w1',
    });
    screen.getByText('whsec_0');
    await page.user.click(screen.getByRole('link', { name: 'Open the app' }));
    await screen.findByRole('heading', { name: APP.name });
    await screen.findByText('of w1');
    screen.getByText('of w1, revoked');
    expect(screen.getByRole('link', { name: 'Calls of this app' }).getAttribute('href')).toBe(
      '/calls?q=credential%3Aapp7',
    );
  });

  it('gets a webhook, whose secret is shown once', async () => {
    const page = await openPage('/access/app-app7', {
      ...keys(KEY),
      'GET /sandbox/v1/grants': { entries: [{ ...GRANT, clientId: 'other' }] },
      'PUT /sandbox/v1/oauth-apps/app7/webhook': {
        webhookUrl: 'https://a.example/hook',
        webhookSecret: 'whsec_1',
      },
    });
    await page.user.type(await screen.findByLabelText('Set the webhook'), 'https://a.example/hook{Enter}');
    await screen.findByText('whsec_1');
    expect(page.writes.map(({ body }) => body)).toEqual([{ url: 'https://a.example/hook' }]);
    expect(screen.getByText('Nobody has granted access to this app.')).toBeDefined();
  });
});

describe('a grant', () => {
  it('is narrowed, shows its refresh tokens, and is ended after a confirmation', async () => {
    let revokedAt: string | null = null;
    const page = await openPage(
      '/access/grant-g1',
      {
        ...keys(KEY),
        'GET /sandbox/v1/grants': () => ({ entries: [{ ...GRANT, revokedAt }] }),
        'PATCH /sandbox/v1/grants/g1': ({ body }: Sent) => {
          const { refreshTokens: _, ...grant } = GRANT;
          return { ...grant, ...(body as object) };
        },
        'DELETE /sandbox/v1/grants/g1': () => {
          revokedAt = at(5);
          return { ok: true };
        },
      },
      { refreshes: false },
    );
    const tokens = within(await screen.findByRole('region', { name: 'Refresh tokens' }));
    expect(tokens.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
      'usableuntil 2026-01-15 12:01:00',
      'replacedat 2026-01-15 12:00:10',
    ]);
    await page.user.click(screen.getByLabelText(/^messaging\.send/));
    await page.user.click(screen.getByLabelText(/^c1/));
    await page.user.click(await button('Narrow'));
    await waitFor(() =>
      expect(page.writes).toMatchObject([{ body: { scopes: ['messaging.read'], connectionIds: ['c2'] } }]),
    );
    await page.user.click(await button('Revoke'));
    await page.user.click(screen.getAllByRole('button', { name: 'Revoke' }).at(-1) as HTMLElement);
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Narrow' })).toBeNull());
    expect(page.writes[1]?.method).toBe('DELETE');
  });

  it('says why an action is refused', async () => {
    const page = await openPage('/access/grant-g1', keys(KEY));
    await saysWhyRefused(page, [
      ['Narrow', 'PATCH /sandbox/v1/grants/g1'],
      ['Revoke', 'DELETE /sandbox/v1/grants/g1'],
    ]);
  });

  it.each([
    ['is revoked', { revokedAt: at(20) }, 0, 'revokedat 2026-01-15 12:00:20'],
    ['has expired', {}, 60, 'expiredat 2026-01-15 12:01:00'],
  ] as const)('of a grant that %s say that they cannot be used', async (_, changed, now, words) => {
    await openPage('/access/grant-g1', {
      ...keys(KEY),
      'GET /sandbox/v1/grants': { entries: [{ ...GRANT, ...changed }] },
      'GET /sandbox/v1/clock': { now: at(now), frozen: true },
    });
    const tokens = within(await screen.findByRole('region', { name: 'Refresh tokens' }));
    await waitFor(() => expect(tokens.getAllByRole('listitem')[0]?.textContent).toBe(words));
  });

  it.each([
    ['key-k9', 'There is no such key'],
    ['app-k9', 'There is no such app'],
    ['grant-k9', 'There is no such grant'],
    ['other-k9', 'There is no such credential'],
  ])('or a credential that does not exist is said to: %s', async (id, words) => {
    await openPage(`/access/${id}`, keys(KEY));
    await screen.findByRole('heading', { name: words });
  });
});
