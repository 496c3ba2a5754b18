// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { ShownConnection } from '../../../src/contract/sandbox/connections.ts';
import { at, DESK, SHOWN_DESK, unpaired } from './answers.tsx';
import { type Answers, button, openPage, Refusal, region, screen, waitFor, within } from './open-page.tsx';

const open = (connection: ShownConnection = SHOWN_DESK, answers: Answers = {}) =>
  openPage('/connections/c1?q=Front', {
    'GET /sandbox/v1/connections': { entries: [DESK] },
    'GET /sandbox/v1/connections/c1': connection,
    ...answers,
  });
/** What the page says of a refusal of the service, which says no more than its code. */
const WHY = 'The server failed. Its log says why.';
const DETAIL = unpaired();
const SHOWN_TRIAL: ShownConnection = {
  ...SHOWN_DESK,
  license: { status: 'trial', expiresAt: at(7 * 86_400) },
};
const connecting: ShownConnection = { ...SHOWN_DESK, status: 'connecting', phoneNumber: null, phone: null };

describe('the connections', () => {
  it('are asked for newest first, and show their state in one word', async () => {
    const page = await openPage('/connections', {
      'GET /sandbox/v1/connections': {
        entries: [
          { ...DESK, id: '1', label: 'A', outage: 'zombie', licenseExpires: at(2 * 86_400 + 1_800) },
          { ...DESK, id: '2', label: 'B', status: 'disconnected', needsReconnect: true },
          { ...DESK, id: '3', label: 'C', status: 'disconnected' },
          { ...DESK, id: '4', label: 'D', status: 'connecting', phoneNumber: null, licenseStatus: 'none' },
          { ...DESK, id: '5', label: 'E', licenseStatus: 'trial', licenseExpires: at(7 * 86_400 + 1_800) },
        ],
      },
    });
    const list = within(await screen.findByRole('list', { name: 'Connections' }));
    await list.findByText('trial 7 d');
    expect(list.getAllByRole('link').map(({ textContent }) => textContent)).toEqual([
      'brokenA+447700900101qractive 2 d',
      'reconnectB+447700900101qractive',
      'disconnectedC+447700900101qractive',
      'connectingD–qrnone',
      'connectedE+447700900101qrtrial 7 d',
    ]);
    expect(list.getByText('active 2 d').className).toBe('warn');
    expect(list.getByText('trial 7 d').className).toBe('soft');
    expect(page.reads.some(({ query }) => query['order'] === 'newest' && query['limit'] === '500')).toBe(
      true,
    );
  });
});

describe('creating a connection', () => {
  const CREATE = 'POST /service/connections';
  const refused = new Refusal(400, {
    error: 'invalid_request',
    field: 'label',
    hint: 'has more than 255 characters',
  });

  it('shows a refused label at its field, repeats with the same key, and opens what it created', async () => {
    const page = await openPage('/connections', {
      [CREATE]: refused,
      'GET /sandbox/v1/connections/c1': connecting,
      'GET /service/connections/c1': DETAIL,
    });
    await button('New connection');
    await page.press('c', 'Label');
    await page.press('{Escape}', 'New connection');
    await page.press('{Enter}', 'Label');
    await page.user.keyboard('Warehouse{Enter}');
    expect((await screen.findByRole('alert')).textContent).toBe('has more than 255 characters');
    const label = screen.getByLabelText('Label');
    expect(label.getAttribute('aria-invalid')).toBe('true');
    expect(document.getElementById(label.getAttribute('aria-describedby') ?? '')?.textContent).toBe(
      'has more than 255 characters',
    );
    page.answer({ [CREATE]: { connection: { id: 'c1', status: 'connecting', qr: DETAIL.connection.qr } } });
    await page.user.click(await button('Create'));
    await screen.findByRole('heading', { name: 'Front desk' });
    expect(location.pathname).toBe('/connections/c1');
    expect(screen.queryByRole('button', { name: 'Create' })).toBeNull();
    expect(page.writes.map(({ body }) => body)).toEqual([{ label: 'Warehouse' }, { label: 'Warehouse' }]);
    const [first, second] = page.writes.map(({ headers }) => headers['idempotency-key']);
    expect([first?.length ?? 0, second]).toEqual([expect.any(Number), first]);
    expect(first).toMatch(/.{16}/);
  });

  it('uses another key for another label, because the first answer may have been lost', async () => {
    const page = await openPage('/connections', { [CREATE]: refused });
    await button('New connection');
    await page.press('c', 'Label');
    await page.user.keyboard('One{Enter}');
    await screen.findByRole('alert');
    await page.user.keyboard(' more{Enter}');
    await waitFor(() => expect(page.writes).toHaveLength(2));
    const [first, second] = page.writes.map(({ headers }) => headers['idempotency-key']);
    expect(second).not.toBe(first);
  });

  it('offers the workspaces if there are several', async () => {
    const slots = { total: 10, used: 1, available: 9, nextExpiry: null };
    const workspace = (id: string) => ({ id, kind: 'standalone', createdAt: at(), slots, apiKeys: [] });
    const page = await openPage('/connections', {
      'GET /sandbox/v1/workspaces': { entries: [workspace('w1'), workspace('w2')] },
      [CREATE]: refused,
    });
    await page.user.click(await button('New connection'));
    await page.user.selectOptions(await screen.findByLabelText('Workspace'), 'w2');
    await page.user.click(await button('Create'));
    await screen.findByRole('alert');
    expect(page.writes).toMatchObject([{ body: {}, headers: { 'x-workspace-id': 'w2' } }]);
  });
});

describe('a connection that waits for its owner', () => {
  it('shows its QR code, and a refused number for a pairing code at its field', async () => {
    const CODE = 'POST /service/connections/c1/pairing-code';
    const page = await open(connecting, {
      'GET /service/connections/c1': DETAIL,
      [CODE]: new Refusal(400, { error: 'invalid_phone_number' }),
    });
    expect((await screen.findByAltText('QR code for pairing')).getAttribute('src')).toBe(
      DETAIL.connection.qr,
    );
    const number = screen.getByLabelText('Phone number for a pairing code');
    await page.user.type(number, '+44{Enter}');
    expect((await screen.findByRole('alert')).textContent).toBe(
      'Enter international digits without a plus sign.',
    );
    expect(number.getAttribute('aria-invalid')).toBe('true');
    page.answer({ [CODE]: { code: 'ABCD-1234' } });
    await page.user.clear(number);
    await page.user.type(number, '447700900161{Enter}');
    await screen.findByText('ABCD-1234');
    expect(screen.queryByRole('alert')).toBeNull();
    expect(page.writes).toMatchObject([
      { body: { phoneNumber: '+44' }, headers: { 'x-workspace-id': 'w1' } },
      { body: { phoneNumber: '447700900161' } },
    ]);
  });

  it('shows the QR code of the new session once it has restarted', async () => {
    const { qr: _, ...none } = DETAIL.connection;
    const page = await open(
      { ...connecting, status: 'disconnected' },
      { 'GET /service/connections/c1': { connection: none } },
    );
    await screen.findByText(/^The service shows no QR code now/);
    page.answer({ 'GET /sandbox/v1/connections/c1': connecting, 'GET /service/connections/c1': DETAIL });
    page.hear({ type: 'changed', what: 'connections' });
    await screen.findByAltText('QR code for pairing');
  });
});

describe('a connection', () => {
  it('gets an outage', async () => {
    const page = await open(SHOWN_DESK, { 'POST /sandbox/v1/connections/c1/outage': { ok: true } });
    for (const [name, body] of [
      ['Session lost', { cause: 'session_lost', heals: false }],
      ['Zombie session', { cause: 'zombie', heals: false }],
      ['Session ageing, heals by itself', { cause: 'session_ageing', heals: true }],
    ] as const) {
      await page.user.click(await button('Cause an outage'));
      await page.user.click(await button(name));
      await waitFor(() =>
        expect(page.writes.at(-1)).toMatchObject({ path: '/sandbox/v1/connections/c1/outage', body }),
      );
      await waitFor(async () =>
        expect((await button('Restart')).getAttribute('aria-disabled')).toBe('false'),
      );
    }
    expect(page.writes).toHaveLength(3);
  });

  it('says when an outage is found, moves the time there, and is healed', async () => {
    const broken: ShownConnection = { ...SHOWN_DESK, outage: 'zombie' };
    const page = await open(broken, {
      'GET /service/connections/c1': DETAIL,
      'GET /sandbox/v1/clock/due': {
        entries: [
          { at: at(60), what: 'receipt.read', id: 'c1' },
          { at: at(300), what: 'outage.found', id: 'c9' },
          { at: at(600), what: 'outage.found', id: 'c1' },
        ],
        total: 3,
      },
      'POST /sandbox/v1/clock/advance': { now: at(900), fired: [] },
      'POST /sandbox/v1/connections/c1/recover': { ok: true },
    });
    await screen.findByText(/Outage: zombie session\. The service still shows the connection as connected/);
    await screen.findByText(/The probe runs at .*12:10:00\./);
    page.answer({
      'GET /sandbox/v1/clock/due': { entries: [{ at: at(900), what: 'outage.healed', id: 'c1' }], total: 1 },
    });
    page.hear({ type: 'changed', what: 'timers' });
    await screen.findByText(/It heals at .*12:15:00\./);
    await page.user.click(await button('Move the time to then'));
    await waitFor(() => expect(page.writes).toHaveLength(1));
    page.answer({
      'GET /sandbox/v1/connections/c1': { ...broken, status: 'disconnected', needsReconnect: true },
    });
    page.hear({ type: 'changed', what: 'connections' });
    await screen.findByText(/The service has found it and waits for the owner/);
    await page.user.click(await button('Heal'));
    await waitFor(() => expect(page.writes).toMatchObject([{ body: { to: at(900) } }, {}]));
    expect(page.writes[1]?.path).toBe('/sandbox/v1/connections/c1/recover');
  });

  it('shows every transition with its cause and the event that reported it', async () => {
    const step = { needsReconnect: false, reason: null, event: null };
    await open({
      ...SHOWN_DESK,
      transitions: [
        {
          ...step,
          at: at(30),
          from: 'disconnected',
          to: 'connected',
          cause: 'recovered',
          event: 'connection.connected',
        },
        {
          ...step,
          at: at(20),
          from: 'connected',
          to: 'disconnected',
          cause: 'outage_found',
          reason: 'AUTH_LOST',
          event: 'connection.disconnected',
        },
        { ...step, at: at(0), from: null, to: 'connecting', cause: 'created' },
      ],
    });
    const items = (await region('Transitions'))
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent);
    expect(items).toEqual([
      '2026-01-15 12:00:30disconnected → connectedRecovered, reported by connection.connected',
      '2026-01-15 12:00:20connected → disconnectedThe status probe found an outage (AUTH_LOST), reported by connection.disconnected',
      '2026-01-15 12:00:00connectingCreated',
    ]);
    expect(screen.getByRole('link', { name: 'connection.connected' }).getAttribute('href')).toBe(
      '/deliveries?q=connection%3Ac1+type%3Aconnection.connected',
    );
    const states = within(screen.getByRole('list', { name: 'States' })).getAllByRole('listitem');
    expect(states.map(({ textContent }) => textContent?.split(':')[0])).toEqual([
      'connecting',
      'connected (now)',
      'disconnected',
      'logged out',
      'removed',
    ]);
  });

  it('that was logged out is in the state "logged out"', async () => {
    await open(
      {
        ...SHOWN_DESK,
        status: 'disconnected',
        phone: null,
        transitions: [
          {
            at: at(),
            from: 'connected',
            to: 'disconnected',
            cause: 'logged_out',
            reason: null,
            needsReconnect: true,
            event: null,
          },
          {
            at: at(-60),
            from: 'connecting',
            to: 'connected',
            cause: 'paired',
            reason: null,
            needsReconnect: false,
            event: null,
          },
        ],
      },
      { 'GET /service/connections/c1': DETAIL },
    );
    expect((await screen.findByRole('list', { name: 'States' })).textContent).toContain('logged out (now)');
  });

  it('offers no other action while one runs, and keeps a question open until then', async () => {
    const restarting = Promise.withResolvers<object>();
    const page = await open(SHOWN_DESK, {
      'POST /service/connections/c1/restart': () => restarting.promise,
      'DELETE /service/connections/c1': { ok: true },
    });
    await page.user.click(await button('Restart'));
    await waitFor(async () => expect((await button('Log out')).getAttribute('aria-disabled')).toBe('true'));
    await page.user.click(await button('Delete'));
    await screen.findByText(/^Delete “Front desk”\? This cannot be undone/);
    const confirm = screen.getAllByRole('button', { name: 'Delete' }).at(-1) as HTMLElement;
    await page.user.click(confirm);
    expect(page.writes).toHaveLength(1);
    restarting.resolve({ ok: true, recreated: false });
    await waitFor(() => expect(confirm.getAttribute('aria-disabled')).toBe('false'));
    await page.user.click(confirm);
    await waitFor(() => expect(location.pathname + location.search).toBe('/connections?q=Front'));
    expect(page.writes[1]).toMatchObject({ method: 'DELETE', headers: { 'x-workspace-id': 'w1' } });
  });

  it('ends or renews its license, after a preview of what moving the time does', async () => {
    const trial = SHOWN_TRIAL;
    const page = await open(trial, {
      'GET /sandbox/v1/clock': { now: at(), frozen: true },
      'GET /sandbox/v1/connections': { entries: [{ ...DESK, licenseExpires: at(7 * 86_400) }] },
      'GET /sandbox/v1/clock/due': { entries: [{ at: at(60), what: 'receipt.read', id: 'm1' }], total: 1 },
      'POST /sandbox/v1/clock/advance': { now: at(7 * 86_400), fired: [] },
      'PUT /sandbox/v1/connections/c1/licence': { status: 'active', expiresAt: null },
    });
    const license = await region('License');
    await page.user.click(await license.findByRole('button', { name: 'Let it end …' }));
    await license.findByText('The license of +447700900101 ends');
    expect(license.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
      expect.stringContaining('A message is read'),
      '2026-01-22 12:00:00in 7 dThe license of +447700900101 ends',
    ]);
    await page.user.click(license.getByRole('button', { name: 'Move the time' }));
    await waitFor(() => expect(license.queryByRole('button', { name: 'Move the time' })).toBeNull());
    await page.user.click(license.getByRole('button', { name: 'Let it end …' }));
    await page.user.click(await license.findByRole('button', { name: 'End it now, keep the time' }));
    await waitFor(() => expect(license.queryByRole('button', { name: 'Move the time' })).toBeNull());
    const expired = { ...trial, license: { status: 'expired', expiresAt: at() } };
    page.answer({ 'GET /sandbox/v1/connections/c1': expired });
    page.hear({ type: 'changed', what: 'connections' });
    await page.user.click(await license.findByRole('button', { name: 'Renew' }));
    await waitFor(() =>
      expect(page.writes.map(({ body }) => body)).toEqual([
        { to: at(7 * 86_400) },
        { expiresAt: at() },
        { status: 'active' },
      ]),
    );
    page.answer({ 'GET /sandbox/v1/connections/c1': { ...expired, hasSlot: false } });
    page.hear({ type: 'changed', what: 'connections' });
    await license.findByText(/It occupies no slot\.$/);
    expect(license.queryByRole('button')).toBeNull();
  });

  it.each([
    ['Restart', SHOWN_DESK, 'POST /service/connections/c1/restart'],
    ['Move the time to then', { ...SHOWN_DESK, outage: 'zombie' }, 'POST /sandbox/v1/clock/advance'],
    ['Move the time', SHOWN_TRIAL, 'POST /sandbox/v1/clock/advance'],
    [
      'Renew',
      { ...SHOWN_DESK, license: { status: 'expired', expiresAt: at() } },
      'PUT /sandbox/v1/connections/c1/licence',
    ],
  ] as const)('says why an action is refused: %s', async (name, connection, call) => {
    const page = await open(connection, {
      'GET /sandbox/v1/clock/due': { entries: [{ at: at(600), what: 'outage.found', id: 'c1' }], total: 1 },
      [call]: new Refusal(500, 'internal_error', call.includes('/service/') ? undefined : WHY),
    });
    if (connection === SHOWN_TRIAL) await page.user.click(await button('Let it end …'));
    await page.user.click(await button(name));
    expect((await screen.findByRole('alert')).textContent).toContain(WHY);
  });

  it('of the business platform is neither paired nor broken', async () => {
    const page = await open({ ...SHOWN_DESK, provider: 'cloud_api', status: 'disconnected', phone: null });
    expect((await button('Cause an outage')).hasAttribute('disabled')).toBe(true);
    expect(screen.queryByRole('region', { name: 'Pairing' })).toBeNull();
    page.answer({ 'GET /sandbox/v1/connections/c1': { ...connecting, status: 'disconnected' } });
    page.answer({ 'GET /service/connections/c1': DETAIL });
    page.hear({ type: 'changed', what: 'connections' });
    await screen.findByRole('region', { name: 'Pairing' });
    expect((await button('Cause an outage')).hasAttribute('disabled')).toBe(true);
  });

  it('shows how much of its hourly limit is used', async () => {
    await open({
      ...SHOWN_DESK,
      warmup: { sentLastHour: 3, perHour: 30, stepEndsAt: at(60), endsAt: at(120) },
    });
    const bar = await screen.findByRole('progressbar', { name: '3 of 30 messages sent in the last hour' });
    expect([bar.getAttribute('value'), bar.getAttribute('max')]).toEqual(['3', '30']);
  });
});
