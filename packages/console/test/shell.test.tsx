// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ACCOUNT_SYNC, at, CALL, EMPTY, letter, pageOf } from './answers.tsx';
import {
  type Answers,
  hasFocus,
  ofProxy,
  openPage,
  openProduction,
  PRODUCTION,
  Refusal,
  SANDBOX,
  screen,
  silence,
  waitFor,
  within,
} from './open-page.tsx';

describe('the shell', () => {
  it('names the screen in the title, and the focus is on its heading after g and a letter', async () => {
    const page = await openPage('/calls');
    await waitFor(() => expect(document.title).toMatch(/^(\(1\) )?Calls · Local sandbox$/));
    for (const [keys, name] of [
      ['gs', 'Sync'],
      ['gd', 'Deliveries'],
      ['gi', 'Inbox'],
    ] as const) {
      await page.user.keyboard(keys);
      await waitFor(() => expect(location.pathname).toBe(`/${name.toLowerCase()}`));
      await hasFocus(name);
      expect(document.activeElement?.tagName).toBe('H1');
    }
    expect(screen.getByRole('link', { current: 'page' }).textContent).toContain('Inbox');
  });

  it('lists its keys, and remembers that letters are switched off', async () => {
    const page = await openPage('/calls');
    await screen.findByText('live');
    await page.user.keyboard('?');
    const dialog = within(await screen.findByRole('dialog', { name: 'Keys' }));
    await dialog.findByText('Filter the list');
    // The page behind it has no keys now.
    await page.user.keyboard('gs');
    expect(location.pathname).toBe('/calls');
    await page.user.click(dialog.getByRole('checkbox', { name: 'Letters and signs are keys of the page' }));
    await page.user.keyboard('{Escape}');
    await page.user.keyboard('gs?t');
    expect(location.pathname).toBe('/calls');
    expect(localStorage.getItem('console-letter-keys')).toBe('off');
    await page.user.click(screen.getByRole('button', { name: 'Help' }));
    await page.user.click(await screen.findByRole('button', { name: 'Keys' }));
    await page.user.click(
      await screen.findByRole('checkbox', { name: 'Letters and signs are keys of the page' }),
    );
    expect(localStorage.getItem('console-letter-keys')).toBeNull();
  });

  it('turns the theme from that of the system to light and dark', async () => {
    const page = await openPage('/calls');
    const theme = await screen.findByTitle('Theme');
    const seen = [theme.textContent];
    for (let turn = 0; turn < 3; turn += 1) {
      await page.user.click(theme);
      seen.push(theme.textContent);
    }
    expect(seen).toEqual(['◐ Auto', '○ Light', '● Dark', '◐ Auto']);
    expect(localStorage.getItem('console-theme')).toBeNull();
  });

  it('says that an address does not exist', async () => {
    await openPage('/nope');
    await screen.findByRole('heading', { name: 'There is no such page' });
  });

  it('shows the virtual time, whether it stands, and how many faults are armed', async () => {
    const page = await openPage(
      '/calls',
      {
        'GET /sandbox/v1/clock': { now: at(7), frozen: true },
        'GET /sandbox/v1/faults': {
          seed: 42,
          rules: [{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, hits: 0 }],
        },
      },
      { refreshes: false },
    );
    await screen.findByText('1 armed');
    for (const words of ['Local sandbox', '2026-01-15 12:00:07frozen', 'Seed42']) {
      expect(screen.getByRole('banner').textContent).toContain(words);
    }
    page.answer({ 'GET /sandbox/v1/clock': { now: at(60), frozen: false } });
    page.hear({ type: 'clock', now: at(60), frozen: false });
    await waitFor(() => expect(screen.queryByText('frozen')).toBeNull());
    page.answer({ 'GET /sandbox/v1/faults': { seed: 43, rules: [] } });
    page.hear({ type: 'call', entry: { ...CALL, faults: ['lost'] } });
    await waitFor(() => expect(screen.getByRole('banner').textContent).toContain('Seed43'));
  });

  it('in production has its own screens, and names the connector on each and in the title', async () => {
    const name = 'production · read-only · connector.example.com';
    const page = await openProduction('/', {});
    await waitFor(() => expect(document.title).toBe(`Overview · ${name}`));
    await screen.findByText('Everything between the phone of a contact and your CRM.');
    const links = within(screen.getByRole('navigation', { name: 'Screens' })).getAllByRole('link');
    expect(links.map(({ textContent }) => textContent?.split(' ')[0])).toEqual([
      'Overview',
      'Inbox',
      'Deliveries',
      'Sync',
      'Journey',
    ]);
    for (const link of links) {
      await page.user.click(link);
      await waitFor(() => expect(document.title).toBe(`${link.textContent?.split(' ')[0]} · ${name}`));
      expect(screen.getAllByRole('banner')[0]?.textContent).toContain(name);
    }
  });

  it('explains why it cannot determine what it is connected to, and starts when it can', async () => {
    const answers: (() => unknown)[] = [
      () => Promise.reject(new Error('refused')),
      () => undefined,
      () => new Refusal(401, 'session_required', 'Open the last URL.'),
      () => PRODUCTION,
    ];
    const reload = vi.spyOn(location, 'reload').mockReturnValue();
    const page = await openPage('/sync', {
      'GET /console.json': () => (answers.shift()?.() ?? undefined) as object,
    });
    const alert = within(await screen.findByRole('alert'));
    alert.getByRole('heading', { name: 'The console could not start' });
    alert.getByText(/^The server does not respond\. Check that the command/);
    await page.user.click(alert.getByRole('button', { name: 'Try again' }));
    await screen.findByText(/^The response of \/console\.json is not JSON\./);
    expect(reload).not.toHaveBeenCalled();
    await page.user.click(screen.getByRole('button', { name: 'Try again' }));
    await screen.findByText(/^Open the last URL\./);
    expect(reload).toHaveBeenCalledOnce();
    await page.user.click(screen.getByRole('button', { name: 'Try again' }));
    await screen.findByText('live');
  });

  it.each([
    ['/overview', '/sandbox/v1/faults'],
    ['/deliveries', '/sandbox/v1/deliveries'],
    ['/calls', '/sandbox/v1/calls'],
    ['/access', '/sandbox/v1/workspaces'],
    ['/sync', '/connector/v1/sync'],
    ['/journey', '/sandbox/v1/messages'],
  ])(
    'advises what to try on %s while the server fails, and tries again what failed',
    async (screenPath, path) => {
      const failing = new Refusal(500, 'internal_error', 'The server failed. Its log says why.');
      const page = await openPage(screenPath, { [`GET ${path}`]: failing });
      await screen.findAllByText('The server failed. Its log says why.');
      await screen.findAllByText(`GET ${path} · 500 internal_error`);
      page.answer({ [`GET ${path}`]: EMPTY[`GET ${path}` as keyof typeof EMPTY] });
      await page.user.click(screen.getAllByRole('button', { name: 'Try again' })[0] as HTMLElement);
      await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
    },
  );

  it('says of what does not exist that it does not, without a button', async () => {
    await openPage('/calls/999', {
      'GET /sandbox/v1/calls/999': new Refusal(404, 'not_found', 'No call has this id.'),
    });
    await screen.findByRole('heading', { name: 'No call has this id.' });
    expect(screen.queryByRole('button', { name: 'Try again' })).toBeNull();
  });
});

describe('what the page says of its age', () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  const SYNC = { ...EMPTY['GET /connector/v1/sync'], accounts: [ACCOUNT_SYNC] };
  const READS = ['sync', 'accounts', 'dead-letters', 'consumers', 'connections', 'outbound'].map(
    (name) => `GET /connector/v1/${name}`,
  );
  const all = (answer: Answers[string]): Answers => Object.fromEntries(READS.map((read) => [read, answer]));
  const refused = new Refusal(502, 'connector_unreachable', 'It does not respond.');
  const CLEAR = /^Nothing\. Polls succeed/;

  /** Opens the console, of a connector unless stated otherwise, in a time that the test moves. */
  async function open(path: string, shown: string | RegExp, answers: Answers = {}, mode = PRODUCTION) {
    // A limit of the browser itself would not move with the time of the test.
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const limit = new AbortController();
      setTimeout(() => limit.abort(), ms);
      return limit.signal;
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
    const page = await openPage(path, { 'GET /connector/v1/sync': SYNC, ...answers }, { mode });
    // Its parts are loaded in real time.
    await vi.waitFor(() => screen.getAllByText(shown), { timeout: 20_000 });
    return page;
  }
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) await vi.advanceTimersByTimeAsync(500);
  };

  it('takes over a new dead letter and failing polls by itself, without an event', async () => {
    const page = await open('/overview', CLEAR);
    page.answer({
      'GET /connector/v1/dead-letters': pageOf('deadLetters', [letter('a', 1)]),
      'GET /connector/v1/sync': {
        ...SYNC,
        accounts: [
          {
            ...ACCOUNT_SYNC,
            lastPoll: { startedAt: at(), ok: false, error: 'internal_error', notBefore: null },
          },
        ],
      },
    });
    await pass(5_000);
    screen.getByText('1 dead letter');
    screen.getByText('Polls fail: internal_error');
    screen.getByText('service fails');
    expect(document.title).toMatch(/^\(2\) Overview/);
  });

  it('is what does not respond, within ten seconds, and never that all is well', async () => {
    const CONNECTOR = ['The connector does not respond', 'no connector'] as const;
    const page = await open('/overview', CLEAR);
    for (const [reads, ready, [title, word]] of [
      [refused, new Refusal(502, {}), CONNECTOR],
      [silence, silence, CONNECTOR],
      [silence, new Refusal(503, {}), ['The database does not respond', 'no database']],
      // A proxy before it, which does not reach it or answers with pages.
      [ofProxy(503), ofProxy(503), CONNECTOR],
      [ofProxy(200), ofProxy(200), CONNECTOR],
      [silence, {}, ['Not everything can be read', 'not current']],
    ] as const) {
      page.answer({ ...all(reads), 'GET /connector/readyz': ready });
      await pass(10_000);
      const [alert] = screen.getAllByRole('alert');
      expect(alert?.textContent).toMatch(new RegExp(`^${title}.*What is shown is as of \\d\\d:`));
      screen.getByText(word);
      screen.getAllByText(/^stale: as of \d\d:\d\d:\d\d, \d+ s ago$/);
      expect(screen.queryByText(CLEAR)).toBeNull();
      expect(screen.queryByText('live')).toBeNull();
      expect(document.title).toMatch(/^\(1\) Overview/);
      // What was read before stays readable.
      within(screen.getByRole('region', { name: 'Account default' })).getByText('succeeded');
      page.answer({ ...all(silence), ...EMPTY, 'GET /connector/v1/sync': SYNC, 'GET /connector/readyz': {} });
      await pass(10_000);
      page.beat();
      await pass(500);
      screen.getByText(CLEAR);
      screen.getByText('live');
      expect(screen.queryByText(/^stale/)).toBeNull();
    }
  });

  it('is not that something cannot be read which does not exist', async () => {
    const gone = new Refusal(404, 'not_found', 'No call has this id.');
    await open('/calls/999', 'No call has this id.', { 'GET /sandbox/v1/calls/999': gone }, SANDBOX);
    await pass(5_000);
    screen.getByText('live');
  });

  it('is that the server of the page has stopped', async () => {
    const page = await open('/sync', 'There are no such sends.');
    page.answer({
      ...all(() => Promise.reject(new Error('refused'))),
      'GET /console.json': () => Promise.reject(new Error('refused')),
    });
    await pass(10_000);
    expect(screen.getByRole('alert').textContent).toMatch(/^The server does not respond/);
    expect(screen.getByText('no server').dataset['state']).toBe('out');
    screen.getAllByText(/^stale: as of /);
  });

  it('is that nothing is known on a page that could never read', async () => {
    await open('/overview', 'Not known until everything has been read.', {
      ...all(refused),
      'GET /connector/readyz': new Refusal(502, {}),
    });
    await pass(5_000);
    screen.getByText('no connector');
    expect(screen.queryByText(CLEAR)).toBeNull();
  });

  it('is read again while the page is visible, and as soon as it becomes visible', async () => {
    const page = await open('/overview', CLEAR);
    const show = (state: string): void => {
      Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    };
    show('hidden');
    await pass(1_000);
    const before = page.reads.length;
    await pass(9_000);
    expect(page.reads.length).toBe(before);
    show('visible');
    await pass(500);
    expect(page.reads.length).toBeGreaterThan(before + 3);
    await pass(4_000);
    expect(page.reads.length).toBeGreaterThan(before + 7);
  });
});
