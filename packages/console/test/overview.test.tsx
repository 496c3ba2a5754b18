// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ACCOUNT_SYNC, at, DELIVERY, DESK, EMPTY, POINT } from './answers.tsx';
import {
  type Answers,
  button,
  openPage,
  openProduction,
  Refusal,
  region,
  type Sent,
  saysWhyRefused,
  screen,
  waitFor,
} from './open-page.tsx';

const WEBHOOK = {
  subscription: { kind: 'workspace', id: 'w1' },
  url: 'https://crm.example.com/hook',
  changedAt: at(),
  lastDeliveries: [
    { id: 'd2', event: 'message.received', createdAt: at(), outcome: 'dropped', status: 401 },
    { id: 'd1', event: 'message.received', createdAt: at(), outcome: 'delivered', status: 200 },
  ],
};

afterEach(() => void vi.useRealTimers());

describe('the overview', () => {
  it('is where the console begins, and says if nothing needs attention, with the age of that', async () => {
    await openPage('/', { 'GET /sandbox/v1/webhooks': { entries: [{ ...WEBHOOK, lastDeliveries: [] }] } });
    const attention = await region('Needs attention');
    const polite = (await attention.findByText(/^Nothing\. Every number works/)).closest(
      '[aria-live="polite"]',
    );
    expect(polite).not.toBeNull();
    expect(polite?.textContent).not.toContain('as of');
    expect(attention.getByText(/^as of \d\d:\d\d:\d\d$/)).toBeDefined();
    expect(location.pathname).toBe('/overview');
  });

  it('ticks first steps off, leads to what they made, and hides them for good', async () => {
    let made: readonly string[] = [];
    const page = await openPage('/overview', {
      'GET /sandbox/v1/connections': ({ query }: Sent) => ({
        entries: query['q']?.startsWith('provider:qr') ? [DESK] : [],
      }),
      'GET /sandbox/v1/deliveries': ({ query }: Sent) => ({
        entries: made.some((event) => query['q'] === `type:${event} !workspace:wcheck`) ? [DELIVERY] : [],
      }),
      'POST /sandbox/v1/contacts/447700900201/messages': { messageId: 'm1' },
    });
    const steps = await region('First steps');
    steps.getByText('0 of 6 done');
    expect(steps.getByText(/^npm run sandbox -- say 447700900101 447700900201 Hello$/)).toBeDefined();
    const inbox = () => steps.getByRole('link', { name: 'Inbox' }).getAttribute('href');
    expect(inbox()).toBe('/inbox/c1~447700900201');
    await page.user.click(steps.getByRole('button', { name: 'Say hello' }));
    await waitFor(() => expect(page.writes).toMatchObject([{ body: { connectionId: 'c1', text: 'Hello' } }]));
    made = ['message.received', 'message.status'];
    page.hear({ type: 'delivery', entry: DELIVERY });
    await steps.findByText('2 of 6 done');
    const hrefs = steps.getAllByRole('link').map((each) => each.getAttribute('href'));
    expect(hrefs).toEqual(['/deliveries/d1', '/journey/m1', '/inbox/c1~447700900201', '/deliveries/webhook']);
    await page.user.click(steps.getByRole('button', { name: 'Hide' }));
    expect(screen.queryByRole('region', { name: 'First steps' })).toBeNull();
    expect(localStorage.getItem('console-first-steps')).not.toBeNull();
    await page.user.click(screen.getByRole('button', { name: 'Help' }));
    await page.user.click(await screen.findByRole('button', { name: 'First steps' }));
    for (const [href, done] of [
      ['/deliveries/d1', '3 of 6 done'],
      ['/journey/m1', '4 of 6 done'],
    ] as const) {
      const again = await region('First steps');
      const link = again.getAllByRole('link').find((each) => each.getAttribute('href') === href);
      await page.user.click(link as HTMLElement);
      await waitFor(() => expect(location.pathname).toBe(href));
      await page.user.click(screen.getByRole('link', { name: /^Overview/ }));
      await screen.findByText(done);
    }
  });

  it('ticks off that polling repaired something', async () => {
    const none = { repaired: { messages: 0, statuses: 0 } };
    const page = await openPage('/overview');
    const steps = await region('First steps');
    for (const [account, count] of [
      [{ repaired: { messages: 1, statuses: 0 } }, 1],
      [none, 0],
      [{ repaired: { messages: 0, statuses: 1 } }, 1],
      [none, 0],
      [{ ...none, undecidedRepairs: 1 }, 1],
    ] as const) {
      const accounts = [{ ...ACCOUNT_SYNC, ...account }];
      page.answer({ 'GET /connector/v1/sync': { ...EMPTY['GET /connector/v1/sync'], accounts } });
      page.hear({ type: 'changed', what: 'connector' });
      await steps.findByText(`${count} of 6 done`);
    }
  });

  it('shows how webhooks fare without the self-check, and leads to each part', async () => {
    await openPage('/overview', {
      'GET /sandbox/v1/deliveries/counts': ({ query }: Sent) =>
        query['q'] === '!workspace:wcheck'
          ? { pending: 1, held: 1, delivered: 1_200, dropped: 2 }
          : { pending: 9, held: 9, delivered: 9, dropped: 9 },
      'GET /sandbox/v1/webhooks': {
        entries: [
          WEBHOOK,
          { ...WEBHOOK, subscription: { kind: 'workspace', id: 'wcheck' }, url: 'https://self.example' },
        ],
      },
    });
    const lane = await region('Webhooks');
    const dropped = await lane.findByRole('link', { name: '2 dropped' });
    expect(dropped.getAttribute('href')).toBe('/deliveries?q=status%3Adropped+%21workspace%3Awcheck');
    lane.getByRole('link', { name: '1,200 delivered' });
    const marks = lane.getAllByRole('link', { name: /^message\.received/ });
    expect(marks.map((each) => [each.getAttribute('aria-label'), each.getAttribute('href')])).toEqual([
      ['message.received delivered', '/deliveries/d1'],
      ['message.received dropped', '/deliveries/d2'],
    ]);
    expect(lane.queryByText('https://self.example')).toBeNull();
    const attention = await region('Needs attention');
    await attention.findByRole('link', { name: 'A webhook refuses the signature: 401' });
    await attention.findByText(/1 delivery held/);
  });

  it('draws the flow with what the connector counted, and leads from each station to its screen', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(at(90)) });
    const page = await openPage('/overview', {
      'GET /sandbox/v1/deliveries/counts': { pending: 0, held: 0, delivered: 99_999, dropped: 1 },
      'GET /sandbox/v1/connections': {
        entries: [
          DESK,
          { ...DESK, id: 'c2', status: 'disconnected', needsReconnect: true },
          { ...DESK, id: 'c3', workspaceId: 'wcheck' },
        ],
      },
      'GET /connector/v1/statistics': ({ query }: Sent) =>
        query['range'] === 'day'
          ? { at: at(), stepSeconds: 900, from: at(-95 * 900), points: [POINT, { ...POINT, at: at(-900) }] }
          : { at: at(), stepSeconds: 60, from: at(-59 * 60), points: [POINT] },
      'GET /connector/v1/sync': {
        accounts: [ACCOUNT_SYNC],
        sends: { waiting: 0, oldestAt: null },
        dispatch: { waiting: 3, oldestAt: at(), deadLetters: 2 },
      },
    });
    const flow = await region('Flow');
    await flow.findByText('3 of 8 refused');
    const parts = () => flow.getAllByRole('listitem').map(({ textContent }) => textContent);
    await waitFor(() =>
      expect(parts()).toEqual([
        'Phones 1 of 2 connected',
        '',
        'Service 100,000 events',
        '3 of 8 refused',
        'Webhooks 99.9 % delivered',
        '4 new',
        'Connector 1 min since the last poll',
        '1 call of the CRM failed',
        'CRM 250 ms 2 dead letters',
        '3 repaired by polling',
      ]),
    );
    const stopped = document.querySelectorAll('.station[data-bad="true"]');
    expect([...stopped].map(({ textContent }) => textContent?.split(' ')[0])).toEqual(['Phones', 'CRM']);
    expect(flow.getAllByRole('link').map((each) => each.getAttribute('href'))).toEqual([
      '/phone',
      '/calls',
      '/deliveries',
      '/sync',
      '/sync',
      '/sync',
    ]);
    await page.user.click(flow.getByRole('button', { name: 'The last day' }));
    await flow.findByText('6 of 16 refused');
    flow.getByRole('heading', { name: 'The last day, by the quarter of an hour' });
    expect(location.search).toBe('?range=day');
  });

  it('shows what consumers other than a handler do, and has room for large numbers', async () => {
    const statistics = (changed: Partial<typeof POINT>): Answers => ({
      'GET /connector/v1/statistics': {
        ...{ at: at(), stepSeconds: 60, from: at(-59 * 60) },
        points: [{ ...POINT, ...changed }],
      },
    });
    const consumers = { ...POINT.consumers, deadLetters: 0 };
    const page = await openProduction('/overview', statistics({ consumers }));
    const flow = await region('Flow');
    const has = (shown: string) =>
      waitFor(() =>
        expect(flow.getAllByRole('listitem').map(({ textContent }) => textContent)).toContain(shown),
      );
    await has('CRM 250 ms to be handled, 7 waiting');
    const webhooks = { ...POINT.webhooks, received: 158_651, unchanged: 0, refused: {} };
    page.answer(
      statistics({ webhooks, consumers: { ...consumers, deadLetters: 2, failed: 0 }, changes: 99_999 }),
    );
    page.hear({ type: 'changed', what: 'everything' });
    await has('CRM 250 ms 2 dead letters');
    for (const words of ['159K received', '159K new', '99,999 changes']) await flow.findByText(words);
  });

  it('shows the figures of a connector in production, and says if they are not current', async () => {
    let isAway = false;
    await openProduction('/overview', {
      'GET /connector/v1/statistics': () =>
        isAway
          ? new Refusal(503, 'unavailable', 'The database does not respond.')
          : { at: at(), stepSeconds: 60, from: at(-59 * 60), points: [POINT] },
    });
    const figures = await region('Figures');
    await figures.findByText('received, 3 refused: 2 wrong signature, 1 stale timestamp');
    expect(figures.getAllByRole('link').map(({ textContent }) => textContent)).toEqual([
      'Webhooks 5 received, 3 refused: 2 wrong signature, 1 stale timestamp',
      'Polls 2 succeeded, 1 failed',
      'Repaired 3 found by polling, lost by webhooks',
      'Sends 4 accepted, 1 failed, 2 waiting',
      'Handled 4 calls taken after 250 ms, 1 failed',
      'Lag 2 min the longest wait of a change, 1 parked',
      'Dead letters 2 set aside',
    ]);
    const flow = await region('Flow');
    flow.getByText('3 of 8 refused');
    isAway = true;
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    await figures.findByText(/^stale: as of/);
    figures.getByText('received, 3 refused: 2 wrong signature, 1 stale timestamp');
  });

  it('does not show a level that nobody has read for half an hour', async () => {
    const points = [{ ...POINT, at: at(-30 * 60) }];
    await openProduction('/overview', {
      'GET /connector/v1/statistics': { at: at(), stepSeconds: 60, from: at(-59 * 60), points },
    });
    const figures = await region('Figures');
    await figures.findByText('the longest wait of a change, unknown parked');
    figures.getByRole('link', { name: /^Lag unknown/ });
    figures.getByRole('link', { name: /^Dead letters unknown/ });
    figures.getByText('accepted, 1 failed, unknown waiting');
  });

  it('shows no level of consumers if there are none', async () => {
    const { consumers } = POINT;
    const none = { ...consumers, waiting: null, lagSeconds: null, parked: null, deadLetters: null };
    const points = [{ ...POINT, consumers: none }];
    // The present slot of a day began 14 minutes ago.
    const day = { at: at(14 * 60), stepSeconds: 900, from: at(-95 * 900), points };
    await openProduction('/overview?range=day', { 'GET /connector/v1/statistics': day });
    const figures = await region('Figures');
    await figures.findByText('the longest wait of a change, none parked');
    figures.getByRole('link', { name: /^Lag none/ });
  });

  it('loses a message on purpose, shows its journey, and takes the fault back', async () => {
    let end: (value: object) => void = () => undefined;
    const over = new Promise<object>((resolve) => {
      end = resolve;
    });
    const page = await openPage('/overview', {
      'GET /sandbox/v1/connections': { entries: [DESK] },
      'POST /sandbox/v1/faults': { seed: 1, rules: [] },
      'POST /sandbox/v1/contacts/447700900201/messages': { messageId: 'm7' },
      'POST /sandbox/v1/wait': () => over,
      'DELETE /sandbox/v1/faults/lose-one': { seed: 1, rules: [] },
      'GET /connector/v1/messages/m7/trace': new Refusal(404, 'not_found', 'None.'),
    });
    await page.user.click((await region('First steps')).getByRole('button', { name: 'Lose one' }));
    await waitFor(() => expect(location.pathname).toBe('/journey/m7'));
    expect(page.writes[0]?.body).toEqual({
      id: 'lose-one',
      match: { surface: 'webhook', event: 'message.received', connectionId: 'c1' },
      action: { type: 'drop' },
      first: 3,
    });
    expect(page.writes.map(({ method }) => method)).not.toContain('DELETE');
    end({ list: 'deliveries', holds: true, waitedMs: 0, explanation: 'Found.', entries: [] });
    await waitFor(() => expect(page.writes.at(-1)?.method).toBe('DELETE'));
  });

  it('shows live what needs attention, the gravest first, and removes all faults', async () => {
    let rules: object[] = [{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, hits: 0 }];
    const page = await openPage('/overview', {
      'GET /sandbox/v1/faults': () => ({ seed: 1, rules }),
      'DELETE /sandbox/v1/faults': () => {
        rules = [];
        return { seed: 1, rules };
      },
      'GET /sandbox/v1/webhooks': { entries: [{ ...WEBHOOK, lastDeliveries: [] }] },
      'GET /sandbox/v1/connections': ({ query }: Sent) => ({
        entries:
          query['q'] === 'reconnect:yes' ? [{ ...DESK, status: 'disconnected', needsReconnect: true }] : [],
      }),
    });
    const attention = await region('Needs attention');
    await attention.findByText('lost (0 hits)');
    const titles = () => attention.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(titles()).toEqual([
      '1 number must be paired againFront desk. Restart it and scan a new QR code.',
      '1 fault rule armedlost (0 hits)Remove all',
    ]);
    expect(attention.getByRole('link', { name: /must be paired/ }).getAttribute('href')).toBe(
      '/connections?q=reconnect%3Ayes',
    );
    await waitFor(() => expect(document.title).toBe('(2) Overview · Local sandbox'));
    await page.user.click(attention.getByRole('button', { name: 'Remove all' }));
    page.hear({ type: 'changed', what: 'faults' });
    await waitFor(() => expect(titles()).toHaveLength(1));
    await waitFor(() => expect(document.title).toBe('(1) Overview · Local sandbox'));
  });

  it('says why an action is refused', async () => {
    const rules = [{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, hits: 0 }];
    const page = await openPage(
      '/overview',
      {
        'GET /sandbox/v1/connections': { entries: [DESK] },
        'GET /sandbox/v1/faults': { seed: 1, rules },
      },
      { refreshes: false },
    );
    await button('Copy');
    await screen.findByText('live');
    await saysWhyRefused(page, [
      ['Lose one', 'POST /sandbox/v1/faults'],
      ['Say hello', 'POST /sandbox/v1/contacts/447700900201/messages'],
      ['Remove all', 'DELETE /sandbox/v1/faults'],
      ['Copy', 'GET /sandbox/v1/info'],
    ]);
  });

  it('copies the .env with its secrets, which the page never shows', async () => {
    const page = await openPage('/overview');
    const application = await region('Your application');
    await page.user.click(application.getByRole('button', { name: 'Copy' }));
    await screen.findByText('Copied with its secrets');
    await (await region('First steps')).findByText('1 of 6 done');
    const { baseUrl, apiKey, connectorUrl, connectorToken } = EMPTY['GET /sandbox/v1/info'];
    expect(await navigator.clipboard.readText()).toBe(
      `SERVICE_BASE_URL=${baseUrl}\nSERVICE_API_KEY=${apiKey}\nCONNECTOR_URL=${connectorUrl}\nCONNECTOR_API_TOKEN=${connectorToken}\n`,
    );
    const shown = document.documentElement.innerHTML;
    expect(shown).toContain(baseUrl);
    expect([apiKey, connectorToken].filter((secret) => shown.includes(secret))).toEqual([]);
  });

  it('names each address, and those of a connector if there is one', async () => {
    const info = {
      ...EMPTY['GET /sandbox/v1/info'],
      connectorUrl: null,
      connectorToken: null,
      webhookUrl: null,
    };
    const service = [
      'Service http://127.0.0.1:4010/api/v1',
      'Legacy address http://127.0.0.1:4011/api/v1',
      'OAuth http://127.0.0.1:4010',
      'Tools http://127.0.0.1:4010/api/mcp',
      'Control API http://127.0.0.1:4000/sandbox/v1',
    ];
    const connector = ['Connector http://127.0.0.1:4020', 'Webhook http://127.0.0.1:4020/webhooks/messaging'];
    for (const [answers, expected] of [
      [{}, [...service, ...connector, 'OpenAPI servicesandboxconnector']],
      [{ 'GET /sandbox/v1/info': info }, [...service, 'OpenAPI servicesandbox']],
    ] as const) {
      await openPage('/overview', answers);
      const application = await region('Your application');
      const names = application.getAllByRole('term');
      expect(names.map((name) => `${name.textContent} ${name.nextElementSibling?.textContent}`)).toEqual(
        expected,
      );
      expect(application.queryByText(/CONNECTOR/) === null).toBe(expected.length < 8);
    }
  });
});
