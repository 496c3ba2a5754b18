// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { RegisteredWebhook } from '../../../src/contract/sandbox/deliveries.ts';
import { at, CALL, DESK, EMPTY } from './answers.tsx';
import {
  type Answers,
  button,
  hasFocus,
  invalid,
  openPage,
  Refusal,
  saysWhyRefused,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const OWN = 'https://my-program.example.com/webhooks';
const CONNECTORS = 'https://connector.example.com/webhooks/messaging';
const EVENTS = ['message.received', 'message.status', 'connection.disconnected', 'connection.connected'];
const workspace = (id: string) => ({
  id,
  kind: 'standalone',
  createdAt: at(),
  slots: { total: 10, used: 1, available: 9, nextExpiry: null },
  apiKeys: [],
});
const registered = (url: string): RegisteredWebhook => ({
  subscription: { kind: 'workspace', id: 'w1' },
  url,
  changedAt: at(),
  lastDeliveries: [],
});

const PUT = 'PUT /service/webhook';
const address = () => screen.findByRole('textbox', { name: 'Address' });
const listens = () => screen.getByRole('textbox', { name: 'Where your program listens' });
const facts = async () => (await screen.findByText('Leads to')).closest('dl')?.textContent;

/** Opens the webhook of the first of two workspaces, besides that of the self-check. */
const open = (url: string | null, more: Answers = {}) =>
  openPage('/deliveries/webhook', {
    'GET /sandbox/v1/info': { ...EMPTY['GET /sandbox/v1/info'], webhookUrl: CONNECTORS },
    'GET /sandbox/v1/workspaces': { entries: ['w1', 'w2', 'wcheck'].map(workspace) },
    'GET /sandbox/v1/webhooks': { entries: url === null ? [] : [registered(url)] },
    'GET /sandbox/v1/hosts': {
      entries: [{ host: 'my-program.example.com', target: 'http://127.0.0.1:3000' }],
    },
    ...more,
  });

describe('the webhook', () => {
  it('shows its address, where that leads, its events, and that a secret is set', async () => {
    const page = await open(OWN);
    const shown = await facts();
    for (const each of [OWN, 'http://127.0.0.1:3000', 'your program', ...EVENTS, 'set; last changed'])
      expect(shown).toContain(each);
    expect(page.reads.some(({ path }) => path.startsWith('/service'))).toBe(false);
  });

  it('is that of a chosen workspace, which may have none', async () => {
    const page = await open(OWN, { [PUT]: { url: OWN, events: EVENTS, secret: 'whsec_2' } });
    const chosen = await screen.findByRole('combobox', { name: 'of the workspace' });
    const options = within(chosen).getAllByRole('option');
    expect(options.map(({ textContent }) => textContent)).toEqual(['w1 (your .env)', 'w2']);
    await page.user.selectOptions(chosen, 'w2');
    await screen.findByText('No webhook is set');
    // The connector is that of the first one.
    expect(screen.queryByRole('button', { name: 'Return it to the connector' })).toBeNull();
    await page.user.type(await address(), `${OWN}{Enter}`);
    await screen.findByText('whsec_2');
    expect(page.writes).toMatchObject([{ headers: { 'x-workspace-id': 'w2' }, body: { url: OWN } }]);
    await page.user.selectOptions(chosen, 'w1');
    expect(screen.queryByText('whsec_2')).toBeNull();
  });

  it('is set by keyboard, with a tunnel to the program, and shows the new secret once', async () => {
    const page = await open(null, {
      'PUT /sandbox/v1/hosts/my-program.example.com': {
        host: 'my-program.example.com',
        target: 'http://127.0.0.1:3999',
      },
      [PUT]: { url: OWN, events: EVENTS, secret: 'whsec_1' },
    });
    (await address()).focus();
    await page.user.keyboard(OWN);
    await page.user.tab();
    await hasFocus('Where your program listens');
    await page.user.keyboard('http://127.0.0.1:3999{Enter}');
    await screen.findByText('whsec_1');
    await hasFocus('Copy');
    expect(page.writes).toMatchObject([
      { path: '/sandbox/v1/hosts/my-program.example.com', body: { target: 'http://127.0.0.1:3999' } },
      { path: '/service/webhook', headers: { 'x-workspace-id': 'w1' }, body: { url: OWN } },
    ]);
  });

  it('says at the field why the service refuses an address, as the record of the call does', async () => {
    const trace = [{ check: 'shape', passed: false, why: 'the host is a private address' }];
    const page = await open(OWN, {
      [PUT]: new Refusal(400, { error: 'invalid_webhook' }),
      'GET /sandbox/v1/calls': { entries: [{ ...CALL, method: 'PUT', path: '/webhook', trace }] },
    });
    await page.user.type(await address(), 'https://10.0.0.1/x{Enter}');
    await screen.findByText('invalid_webhook: the host is a private address.');
    expect((await address()).getAttribute('aria-invalid')).toBe('true');
    expect(page.reads.find(({ path }) => path === '/sandbox/v1/calls')?.query).toEqual({
      q: 'code:invalid_webhook workspace:w1',
      limit: '1',
    });
  });

  it('says at the field why a tunnel is refused, and then changes nothing', async () => {
    const page = await open(OWN, {
      'PUT /sandbox/v1/hosts/{host}': ({ body }) =>
        (body as { target: string }).target === 'bad'
          ? invalid('target', "'target': must be an address of this machine.")
          : invalid('host', "'host': must be the name of a public host."),
    });
    await page.user.type(await address(), 'https://printer.local/x');
    await page.user.type(listens(), 'bad{Enter}');
    await screen.findByText(/must be an address of this machine/);
    expect(listens().getAttribute('aria-invalid')).toBe('true');
    await page.user.clear(listens());
    await page.user.type(listens(), 'http://127.0.0.1:1{Enter}');
    await screen.findByText(/must be the name of a public host/);
    expect((await address()).getAttribute('aria-invalid')).toBe('true');
    expect(page.writes.filter(({ path }) => path === '/service/webhook')).toEqual([]);
  });

  it('rotates its secret after a question, and shows it once', async () => {
    const page = await open(OWN, { 'POST /service/webhook/rotate': { secret: 'whsec_3' } });
    await page.user.click(await button('Rotate secret'));
    await screen.findByText(/becomes invalid at once/);
    expect(page.writes).toEqual([]);
    await page.user.click(screen.getAllByRole('button', { name: 'Rotate secret' })[1] as HTMLElement);
    await screen.findByText('whsec_3');
    expect(page.writes).toMatchObject([{ headers: { 'x-workspace-id': 'w1' } }]);
  });

  it('sends a test message to a number that can receive one', async () => {
    const page = await open(OWN, {
      'GET /sandbox/v1/connections': {
        entries: [
          { ...DESK, id: 'c0', status: 'disconnected' },
          { ...DESK, id: 'c3', licenseStatus: 'expired' },
          DESK,
        ],
      },
      'POST /sandbox/v1/contacts/447700900201/messages': { messageId: 'm7' },
    });
    await page.user.click(await button('Send a test message'));
    const link = await screen.findByRole('link', { name: 'Its deliveries' });
    expect(link.getAttribute('href')).toBe('/deliveries/webhook?q=message%3Am7');
    expect(page.writes).toMatchObject([{ body: { connectionId: 'c1' } }]);
  });

  it('lists the tunnels, and closes one', async () => {
    const page = await open(OWN, { 'DELETE /sandbox/v1/hosts/{host}': { ok: true } });
    await page.user.click(await button('Close the tunnel of my-program.example.com'));
    await waitFor(() =>
      expect(page.writes).toMatchObject([
        { method: 'DELETE', path: '/sandbox/v1/hosts/my-program.example.com' },
      ]),
    );
  });

  it('says why an action is refused', async () => {
    const page = await open(OWN, { 'GET /sandbox/v1/connections': { entries: [DESK] } });
    await saysWhyRefused(page, [
      [/^Close the tunnel of/, 'DELETE /sandbox/v1/hosts/{host}'],
      ['Send a test message', 'POST /sandbox/v1/contacts/{phone}/messages'],
    ]);
  });
});

describe('the webhook of the attached connector', () => {
  const ROTATE = 'POST /connector/v1/webhook/rotate';
  const ROTATED = { rotatedAt: at(), previousAcceptedUntil: null };

  it('rotates its secret through the connector, which keeps it', async () => {
    const page = await open(CONNECTORS, { [ROTATE]: ROTATED });
    expect(await facts()).toContain('the attached connector');
    await page.user.click(await button('Rotate secret'));
    await screen.findByText(/No event is lost/);
    await page.user.click(screen.getAllByRole('button', { name: 'Rotate secret' })[1] as HTMLElement);
    await screen.findByText('The connector has a new secret.');
    expect(page.writes).toMatchObject([
      { path: '/connector/v1/webhook/rotate', body: { compromised: false } },
    ]);
  });

  it('is returned to the connector, with a secret that only the connector knows', async () => {
    const page = await open(OWN, {
      [PUT]: { url: CONNECTORS, events: EVENTS, secret: 'whsec_4' },
      [ROTATE]: ROTATED,
    });
    await page.user.click(await button('Return it to the connector'));
    await waitFor(() =>
      expect(page.writes.map(({ path, body }) => [path, body])).toEqual([
        ['/service/webhook', { url: CONNECTORS }],
        ['/connector/v1/webhook/rotate', { compromised: true }],
      ]),
    );
    expect(screen.queryByText('whsec_4')).toBeNull();
  });
});
