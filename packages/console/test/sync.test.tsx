// @vitest-environment happy-dom
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DeadLetter } from '../../../src/contract/connector/changes.ts';
import type { PairingEvent } from '../../../src/contract/connector/pairing.ts';
import { REFRESH_MS } from '../src/data/reading.ts';
import {
  ACCOUNT,
  ACCOUNT_SYNC,
  at,
  CONSUMER,
  DESK,
  EMPTY,
  KNOWN_DESK,
  letter,
  POINT,
  pageOf,
  SEND,
} from './answers.tsx';
import {
  type Answers,
  button,
  openPage,
  openProduction,
  PRODUCTION,
  Refusal,
  type Sent,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const SYNC = { ...EMPTY['GET /connector/v1/sync'], accounts: [ACCOUNT_SYNC] };
const OF_DESK = {
  connectionId: 'c1',
  coveredUntil: at(),
  oldestOpenStatus: null,
  repaired: { messages: 1, statuses: 0 },
  webhookHealth: 'lossy' as const,
  lastWebhookAt: null,
};
const rows = (name: string) => within(screen.getByRole('list', { name })).getAllByRole('listitem');
const consumers = (changed: object = {}) => pageOf('consumers', [{ ...CONSUMER, ...changed }]);

describe('dead letters', () => {
  /** A connector that takes back what is replayed. */
  function letters(...all: readonly DeadLetter[]): Answers {
    let left = all;
    return {
      'GET /connector/v1/dead-letters': () => pageOf('deadLetters', left),
      'POST /connector/v1/dead-letters/{id}/replay': ({ path }: Sent) => {
        left = left.filter(({ id }) => !path.includes(`/${id}/`));
        return { ok: true };
      },
    };
  }
  const replayed = (writes: readonly Sent[]) => writes.map(({ path }) => path.split('/').at(-2));

  it('are replayed one by one, and all of them, oldest first, after one confirmation', async () => {
    const page = await openPage('/sync', letters(letter('c', 3), letter('b', 2), letter('a', 1)));
    await screen.findByText('RangeError: no room for c', { selector: 'bdi' });
    expect(rows('Dead letters').map(({ textContent }) => textContent)).toEqual([
      expect.stringMatching(/^3 message\.created.*1 call · 2026-01-15 12:00:00ReplayJourney$/),
      expect.stringMatching(/^2 /),
      expect.stringMatching(/^1 /),
    ]);
    await page.user.click(
      within(rows('Dead letters')[1] as HTMLElement).getByRole('button', { name: 'Replay' }),
    );
    await waitFor(() => expect(rows('Dead letters')).toHaveLength(2));
    await page.user.click(await button('Replay all 2'));
    expect(replayed(page.writes)).toEqual(['b']);
    await screen.findByText('The handler is called again with 2 changes, oldest first.');
    await page.user.click(screen.getAllByRole('button', { name: 'Replay all 2' }).at(-1) as HTMLElement);
    await screen.findByText('None. A change that the handler fails to process is set aside here.');
    expect(replayed(page.writes)).toEqual(['b', 'a', 'c']);
    screen.getByText('Done: 2 of 2');
  });

  it('are replayed by consumer, connection and error, and a replay can be stopped and begun again', async () => {
    const crm = { ...letter('d', 4), consumer: 'crm' };
    const same = [letter('c', 3), letter('b', 2), letter('a', 1)].map((each) => ({
      ...each,
      lastError: 'RangeError: no room',
    }));
    const first = Promise.withResolvers<object>();
    const page = await openPage(
      '/sync',
      {
        ...letters(crm, ...same),
        'POST /connector/v1/dead-letters/a/replay': () => first.promise,
      },
      { refreshes: false },
    );
    await page.user.selectOptions(await screen.findByLabelText('error'), 'RangeError: no room');
    expect(rows('Dead letters')).toHaveLength(3);
    await page.user.selectOptions(screen.getByLabelText('consumer'), 'handler');
    await page.user.click(await button('Replay all 3'));
    await page.user.click(screen.getAllByRole('button', { name: 'Replay all 3' }).at(-1) as HTMLElement);
    await screen.findByText('0 of 3');
    await page.user.click(await button('Stop'));
    page.answer(letters(crm, ...same.slice(0, 2)));
    first.resolve({ ok: true });
    await screen.findByText('Stopped: 1 of 3');
    expect(replayed(page.writes)).toEqual(['a']);
    await page.user.click(await button('Replay all 2'));
    await page.user.click(screen.getAllByRole('button', { name: 'Replay all 2' }).at(-1) as HTMLElement);
    await screen.findByText('Done: 2 of 2');
    expect(replayed(page.writes)).toEqual(['a', 'b', 'c']);
    // What is left has neither value of the filter.
    await waitFor(() => expect(rows('Dead letters')[0]?.textContent).toMatch(/^4 /));
  });

  it('keep a question open, and its button disabled, until the replay before it has ended', async () => {
    const first = Promise.withResolvers<object>();
    const page = await openPage('/sync', {
      ...letters(letter('b', 2), letter('a', 1)),
      'POST /connector/v1/dead-letters/b/replay': () => first.promise,
    });
    await screen.findByText('RangeError: no room for b', { selector: 'bdi' });
    await page.user.click(
      within(rows('Dead letters')[0] as HTMLElement).getByRole('button', { name: 'Replay' }),
    );
    await page.user.click(await button('Replay all 2'));
    const confirm = screen.getAllByRole('button', { name: 'Replay all 2' }).at(-1) as HTMLElement;
    await waitFor(() => expect(confirm.getAttribute('aria-disabled')).toBe('true'));
    await page.user.click(confirm);
    expect(replayed(page.writes)).toEqual(['b']);
    expect(confirm.closest('[popover]')?.hasAttribute('data-shown')).toBe(true);
    first.resolve({ ok: true });
    await waitFor(() => expect(confirm.getAttribute('aria-disabled')).toBe('false'));
    await page.user.click(confirm);
    await waitFor(() => expect(replayed(page.writes)).toEqual(['b', 'a', 'b']));
  });

  it('show why a replay failed', async () => {
    const page = await openPage('/sync', {
      ...letters(letter('a', 1)),
      'POST /connector/v1/dead-letters/a/replay': new Refusal(503, 'unavailable', 'Retry later.'),
    });
    await page.user.click(await button('Replay it'));
    await page.user.click(screen.getAllByRole('button', { name: 'Replay it' }).at(-1) as HTMLElement);
    await screen.findByText('Done: 0 of 1, 1 failed: Retry later.');
    expect(screen.queryByRole('alert')).toBeNull();
    await page.user.click(screen.getAllByRole('button', { name: 'Replay' }).at(-1) as HTMLElement);
    expect((await screen.findByRole('alert')).textContent).toContain('Retry later.');
  });
});

describe('what the connector says of itself', () => {
  const finding = {
    check: 'signatures',
    title: 'signatures of deliveries',
    accountId: 'default',
    verdict: 'problem',
    code: 'wrong_secret',
    says: 'Deliveries are refused.',
    evidence: ['3 in the last hour.'],
    advice: ['Rotate the secret.'],
  } as const;

  it('is the findings of the doctor, with evidence and advice, and when it was examined', async () => {
    const fine = { ...finding, check: 'feed', verdict: 'ok', code: null, says: 'No delay.' };
    const page = await openPage('/sync', {
      'GET /connector/v1/sync': SYNC,
      'GET /connector/v1/doctor': { at: at(), findings: [fine, finding] },
    });
    const findings = within(await screen.findByRole('region', { name: 'Findings' }));
    const [first] = await findings.findAllByRole('listitem');
    expect(first?.textContent).toBe(
      'Deliveries are refused. wrong_secret default3 in the last hour.Rotate the secret.',
    );
    findings.getByText('1 check fine, 0 not possible · examined at 12:00:00');
    expect(findings.queryByText(/^Nothing is wrong/)).toBeNull();
    page.answer({ 'GET /connector/v1/doctor': { at: at(30), findings: [fine] } });
    await findings.findByText('Nothing is wrong, as far as the database shows.');
    page.answer({
      'GET /connector/v1/doctor': new Refusal(503, 'unavailable', 'Retry.'),
    });
    page.hear({ type: 'changed', what: 'everything' });
    await findings.findByText('Not known now.');
  });

  it('leads from a finding to what resolves it on this page, in place of the calls of the API', async () => {
    const ofPage = {
      ...finding,
      verdict: 'warning',
      advice: ['Call POST /v1/outbound/{id}/retry.'],
      evidence: [],
    } as const;
    const unknown = { ...SEND, state: 'unknown', lastError: 'network' } as const;
    let found = [
      { ...ofPage, code: 'must_pair', says: '1 connection needs to be paired again.' },
      { ...ofPage, code: 'dead_letters', says: '2 changes were set aside.' },
      { ...ofPage, code: 'sends_unknown', says: '1 send ended as unknown.' },
      { ...ofPage, code: 'no_worker', says: 'No process polls or sends.' },
    ];
    const page = await openPage('/sync', {
      'GET /connector/v1/sync': SYNC,
      'GET /connector/v1/doctor': () => ({ at: at(), findings: found }),
      'GET /connector/v1/outbound': ({ query }: Sent) =>
        pageOf('outbound', query['state'] === 'unknown' ? [unknown] : []),
      'POST /connector/v1/outbound/{id}/retry': { ...unknown, state: 'queued' },
    });
    const findings = within(await screen.findByRole('region', { name: 'Findings' }));
    const shown = await findings.findAllByRole('listitem');
    expect(shown.map(({ textContent }) => /POST/.test(textContent ?? ''))).toEqual([
      false,
      false,
      false,
      true,
    ]);
    const links = findings.getAllByRole('link').map((link) => [link.textContent, link.getAttribute('href')]);
    expect(links).toEqual([
      ['Pair again', '/sync#pair-again'],
      ['Replay them', '/sync#letters'],
      ['Show and retry them', '/sync?state=unknown#sends'],
    ]);
    await page.user.click(findings.getByRole('link', { name: 'Show and retry them' }));
    await page.user.click(await button('Retry'));
    await screen.findByText(/^Uncertain: it may have been sent\./, { selector: '.menu p' });
    found = [];
    await page.user.click(screen.getAllByRole('button', { name: 'Retry' }).at(-1) as HTMLElement);
    await waitFor(() =>
      expect(page.writes.map(({ path }) => path)).toEqual(['/connector/v1/outbound/o1/retry']),
    );
    // Sooner than it is read again by itself.
    const nothing = 'Nothing is wrong, as far as the database shows.';
    await findings.findByText(nothing, {}, { timeout: REFRESH_MS / 2 });
  });

  it('is how much is covered, repaired and late, in one line', async () => {
    const OTHER = { ...ACCOUNT_SYNC, accountId: 'other', repaired: { messages: 0, statuses: 0 } };
    await openPage('/sync', {
      'GET /connector/v1/sync': {
        ...SYNC,
        accounts: [{ ...ACCOUNT_SYNC, openGaps: 1, coveredUntil: null }, OTHER],
        dispatch: { waiting: 1, oldestAt: null, deadLetters: 0 },
      },
      // Not of the handler alone.
      'GET /connector/v1/consumers': pageOf('consumers', [
        { ...CONSUMER, lag: { changes: 1, seconds: 2 } },
        { ...CONSUMER, name: 'crm', lag: { changes: 7, seconds: 301 } },
      ]),
    });
    const tiles = within(await screen.findByRole('list', { name: 'Summary' })).getAllByRole('listitem');
    await waitFor(() => expect(tiles[2]?.textContent).toBe('Lag 5 min 7 changes and 0 sends wait'));
    expect(tiles.map((tile) => [tile.textContent?.split(' ')[0], tile.dataset['bad']])).toEqual([
      ['Coverage', 'true'],
      ['Repaired', 'false'],
      ['Lag', 'true'],
    ]);
    expect(tiles[0]?.textContent).toMatch(/no message polled yet$/);
    expect(tiles[1]?.textContent).toBe('Repaired 3 2 messages, 1 status that webhooks lost');
  });
});

describe('received webhooks in production', () => {
  it('are listed with their answers, and the refused ones by reason', async () => {
    const accepted = {
      id: '2',
      at: at(),
      ms: 12,
      status: 200,
      reason: null,
      says: null,
      subscriptionId: 'default',
      event: 'message.received',
      connectionId: 'c1',
      messageId: 'm1',
    };
    const refused = {
      ...accepted,
      id: '1',
      status: 401,
      reason: 'wrong_signature',
      says: 'X-Service-Signature does not match the body and the secret.',
      event: null,
      connectionId: null,
      messageId: null,
    };
    const unanswered = { ...accepted, id: '0', status: null };
    const page = await openProduction('/deliveries', {
      'GET /connector/v1/deliveries': ({ query }: Sent) => ({
        deliveries: query['result'] === 'refused' ? [refused] : [accepted, refused, unanswered],
      }),
      'GET /connector/v1/statistics': ({ query }: Sent) => ({
        ...{ at: at(), stepSeconds: 900, from: at() },
        points: query['range'] === 'day' ? [POINT] : [],
      }),
    });
    await screen.findByText('Refused in 24 hours: 2 wrong signature, 1 stale timestamp');
    await waitFor(() => expect(rows('Received webhooks')).toHaveLength(3));
    expect(within(rows('Received webhooks')[2] as HTMLElement).getByText('no answer').className).toBe(
      'chip bad',
    );
    expect(rows('Received webhooks')[0]?.textContent).toBe(
      '200message.receivedc12026-01-15 12:00:00 · 12 msJourney',
    );
    await page.user.click(screen.getByRole('link', { name: 'refused' }));
    await waitFor(() => expect(rows('Received webhooks')).toHaveLength(1));
    expect(rows('Received webhooks')[0]?.textContent).toBe(
      '401wrong signatureX-Service-Signature does not match the body and the secret.2026-01-15 12:00:00 · 12 ms',
    );
    expect(location.search).toBe('?q=refused');
    page.answer({ 'GET /connector/v1/deliveries': { deliveries: [] } });
    await screen.findByText('None of the newest requests was refused');
  });
});

describe('consumers', () => {
  const LIST = 'GET /connector/v1/consumers';

  it('show how far each is, and are paused and resumed', async () => {
    let state = { state: 'running' };
    const page = await openPage('/sync', {
      [LIST]: () =>
        consumers({
          ...state,
          lag: { changes: 1, seconds: 90 },
          deadLetters: 1,
          parked: {
            count: 2,
            // The first one has not failed yet.
            first: [null, 'It was busy.'].map((lastError) => ({
              ...{ connectionId: 'c1', seq: 4, attempts: 1, nextAttemptAt: at(), since: at() },
              lastError,
            })),
          },
        }),
      'POST /connector/v1/consumers/handler/pause': () => {
        state = { state: 'paused' };
        return { ...CONSUMER, ...state };
      },
      'POST /connector/v1/consumers/handler/resume': () => {
        state = { state: 'running' };
        return { ...CONSUMER, ...state };
      },
    });
    const text = () => rows('Consumers')[0]?.textContent;
    await page.user.click(await button('Pause'));
    await button('Resume');
    expect(text()).toMatch(
      /^handler handler paused1 change behind, 1 min2 parked, 1 dead letter It was busy\.Resume/,
    );
    await page.user.click(await button('Resume'));
    await button('Pause');
    expect(text()).toContain('running');
    const failed = new Refusal(503, 'unavailable', 'Retry later.');
    page.answer({ 'POST /connector/v1/consumers/handler/pause': failed });
    await page.user.click(await button('Pause'));
    expect((await screen.findByRole('alert')).textContent).toContain('Retry later.');
  });

  it('are given changes again, from a number, a word or a time, and say what cannot be read', async () => {
    const REPLAY = 'POST /connector/v1/consumers/handler/replay';
    const page = await openPage('/sync', {
      [LIST]: consumers(),
      [REPLAY]: new Refusal(400, 'invalid_request', 'from: must be a time.'),
    });
    await page.user.click(await button('Replay'));
    const from = await screen.findByLabelText('Deliver changes to handler again, from');
    await page.user.type(from, 'yesterday{Enter}');
    await screen.findByText('from: must be a time.');
    page.answer({ [REPLAY]: CONSUMER });
    await page.user.clear(from);
    await page.user.type(from, ' 12 {Enter}');
    await waitFor(() => expect(from.closest('[popover]')?.hasAttribute('data-shown')).toBe(false));
    expect(page.writes.map(({ body }) => body)).toEqual([{ from: 'yesterday' }, { from: 12 }]);
  });
});

describe('an account', () => {
  const world = (changed: object): Answers => ({
    'GET /connector/v1/sync': { ...SYNC, accounts: [{ ...ACCOUNT_SYNC, ...changed }] },
    'GET /connector/v1/accounts': pageOf('accounts', [ACCOUNT]),
    'GET /sandbox/v1/connections': {
      entries: [DESK, { ...DESK, id: 'c2', label: '', phoneNumber: '447700900102' }],
    },
  });
  const facts = async () =>
    (await screen.findByRole('region', { name: 'Account default' })).textContent ?? '';

  it('shows its credential, how far polling has come and what it repaired', async () => {
    const page = await openPage('/sync', {
      ...world({
        coveredUntil: at(60),
        oldestOpenStatus: { messageId: 'm9', connectionId: 'c1', createdAt: at() },
        undecidedRepairs: 3,
        openGaps: 1,
        connections: [OF_DESK, { ...OF_DESK, connectionId: 'c2' }],
      }),
      'GET /connector/v1/accounts': pageOf('accounts', [{ ...ACCOUNT, secretInDoubt: true }]),
      'POST /connector/v1/sync': new Refusal(502, 'service_unreachable', 'The service did not answer.'),
    });
    await screen.findByText('active');
    const text = await facts();
    for (const words of [
      'webhooks healthy',
      'Credentialactive API key Acme',
      'Servicehttps://service.example.com/api/v1',
      'https://connector.example.com/webhooks/messaging, secret in doubt',
      'Repaired by polling2 messages, 1 status; 3 more unless a webhook still arrives',
      'Open gaps1',
      'succeeded',
      '+447700900102lossy',
      'Front desklossy1 message and 0 statuses repairedbehind: covered until 2026-01-15 12:00:00',
    ])
      expect(text).toContain(words);
    await page.user.click(await button('Poll now'));
    await screen.findByText('The service did not answer.');
    expect(page.writes).toMatchObject([{ path: '/connector/v1/sync', body: {} }]);
  });

  it('says what is the matter with it', async () => {
    const page = await openPage('/sync', world({}));
    await screen.findByText('active');
    for (const [changed, words] of [
      [{ lastPoll: null }, 'Last pollnone yet'],
      [
        { lastPoll: { startedAt: at(), ok: false, error: 'rate_limited', notBefore: at(60) } },
        /rate_limited.*not before 2026-01-15 12:01:00/,
      ],
      [{ pollOverdue: true }, 'the next one is late'],
      [{ reauthRequired: true }, 'new consent required'],
      [{ webhookHealth: 'silent' }, 'webhooks silent'],
      [{ coveredUntil: null }, 'Nothing missing untilno message polled yet'],
      [{ lastGoodPollAt: at(60) }, 'Nothing missing until2026-01-15 12:01:00'],
      [{ lastGoodPollAt: at(60), openGaps: 1 }, 'Nothing missing until2026-01-15 12:00:00'],
    ] as const) {
      page.answer(world(changed));
      page.hear({ type: 'changed', what: 'connector' });
      await waitFor(async () => expect(await facts()).toMatch(words));
    }
  });
});

describe('sends', () => {
  it('are filtered by what is certain about them', async () => {
    const page = await openPage('/sync?state=unknown');
    await screen.findByText(/^Uncertain: it may have been sent\./);
    await screen.findByText('There are no such sends.');
    page.answer({
      'GET /connector/v1/outbound': pageOf(
        'outbound',
        // The last ones are not sent, so they have no latency.
        [63, 69, 61, 300, 300].map((sentAt, place) => ({
          ...SEND,
          id: `o${place}`,
          state: place < 3 ? 'sent' : place === 3 ? 'queued' : 'rejected',
          messageId: 'm1',
          lastError: 'rate_limited',
          attempts: 2,
          updatedAt: at(sentAt),
        })),
      ),
    });
    await page.user.click(screen.getByRole('link', { name: 'sent' }));
    await screen.findAllByText('+447700900201 Good morning');
    expect(location.search).toBe('?state=sent');
    expect(rows('Latest sends')[0]?.textContent).toMatch(
      /^sent.*2 attempts, rate_limited · 3\.00 s · 2026-01-15 12:01:03Journey$/,
    );
    screen.getByText('median 3.00 s, at most 9.00 s, of the latest 3');
    expect(
      page.reads.filter(({ path }) => path.endsWith('/outbound')).map(({ query }) => query['state']),
    ).toEqual(expect.arrayContaining(['unknown', 'sent']));
  });
});

describe('a send that was not sent', () => {
  it('is listed again once it is retried, and says why it cannot be', async () => {
    let state = 'rejected';
    const RETRY = 'POST /connector/v1/outbound/o1/retry';
    const page = await openPage(
      '/sync',
      {
        'GET /connector/v1/sync': SYNC,
        'GET /connector/v1/outbound': () => pageOf('outbound', [{ ...SEND, state }]),
        [RETRY]: new Refusal(503, 'unavailable', 'Retry later.'),
      },
      { refreshes: false },
    );
    const retry = async () => {
      await page.user.click(await button('Retry'));
      await page.user.click(screen.getAllByRole('button', { name: 'Retry' }).at(-1) as HTMLElement);
    };
    await retry();
    expect((await screen.findByRole('alert')).textContent).toContain('Retry later.');
    page.answer({
      [RETRY]: () => {
        state = 'queued';
        return { ...SEND, state };
      },
    });
    await retry();
    await waitFor(() => expect(rows('Latest sends')[0]?.textContent).toMatch(/^queued/));
  });
});

describe('beside a connector in production', () => {
  it('nothing can be changed without --write, and the page says so', async () => {
    await openProduction('/sync', {
      'GET /connector/v1/sync': {
        ...SYNC,
        accounts: [{ ...ACCOUNT_SYNC, connections: [OF_DESK] }],
      },
      'GET /connector/v1/dead-letters': pageOf('deadLetters', [letter('a', 1)]),
      'GET /connector/v1/consumers': consumers(),
      'GET /connector/v1/outbound': pageOf('outbound', [{ ...SEND, state: 'rejected' }]),
    });
    await screen.findByText('RangeError: no room for a');
    // Its screen of connections is that of a sandbox.
    expect(within(rows('Connections')[0] as HTMLElement).queryByRole('link')).toBeNull();
    for (const name of ['Poll now', 'Pause', 'Replay it', 'Retry'])
      expect([name, (await button(name)).hasAttribute('disabled')]).toEqual([name, true]);
    for (const each of screen.getAllByRole('button', { name: 'Replay' }))
      expect(each.hasAttribute('disabled')).toBe(true);
    expect(screen.getAllByText('Read only. Start the console with --write to change anything.')).toHaveLength(
      2,
    );
  });

  it('the overview begins with whether the connector keeps up', async () => {
    const page = await openProduction('/', {
      'GET /connector/v1/sync': {
        ...SYNC,
        sends: { waiting: 4, oldestAt: at() },
        dispatch: { waiting: 7, oldestAt: at(), deadLetters: 0 },
      },
    });
    const summary = within(await screen.findByRole('region', { name: 'Connector' }));
    expect(summary.getByText('7 waiting')).toBeDefined();
    expect(summary.getByText('4 waiting')).toBeDefined();
    expect(summary.getByRole('region', { name: 'Account default' }).textContent).toContain('succeeded');
    await screen.findByText('Nothing. Polls succeed, credentials are accepted, and no change was set aside.');
    expect(screen.queryByRole('region', { name: 'First steps' })).toBeNull();
    expect(page.reads.filter(({ path }) => path.startsWith('/sandbox'))).toEqual([]);
  });
});

describe('numbers that must be paired again', () => {
  const broken = {
    ...KNOWN_DESK,
    health: 'needs_reconnect' as const,
    needsReconnect: true,
    reason: 'AUTH_LOST',
  };
  afterEach(() => {
    Source.all = [];
  });
  const answers: Answers = {
    'GET /connector/v1/sync': SYNC,
    'GET /connector/v1/connections': ({ query }: Sent) =>
      pageOf('connections', query['health'] === 'needs_reconnect' ? [broken] : []),
    'POST /connector/v1/connections/{id}/restart': { ok: true, recreated: false },
  };
  /** The streams that the page opened. */
  class Source {
    static readonly CLOSED = 2;
    static all: Source[] = [];
    onmessage: ((message: { data: string }) => void) | undefined;
    onerror: (() => void) | undefined;
    readyState = 1;
    isClosed = false;
    readonly url: string;
    constructor(url: string) {
      this.url = url;
      Source.all.push(this);
    }
    close() {
      this.isClosed = true;
    }
    say(event: PairingEvent) {
      this.onmessage?.({ data: JSON.stringify(event) });
    }
  }

  it('are restarted, and show each new QR code until they are paired', async () => {
    vi.stubGlobal('EventSource', Source);
    onTestFinished(() => void vi.unstubAllGlobals());
    const page = await openPage('/sync', answers, { mode: { ...PRODUCTION, write: true } });
    const numbers = within(await screen.findByRole('region', { name: 'Numbers to pair' }));
    numbers.getByText('AUTH_LOST');
    await page.user.click(numbers.getByRole('button', { name: 'Restart and show QR code' }));
    const open = () => Source.all.filter(({ isClosed }) => !isClosed);
    await waitFor(() => expect(open()).toHaveLength(1));
    expect(page.writes.map(({ path }) => path)).toEqual(['/connector/v1/connections/c1/restart']);
    const [source] = open();
    expect(source?.url).toBe('/connector/v1/connections/c1/pairing');
    const code = () => numbers.getByRole('img', { name: 'QR code for pairing' }).getAttribute('src');
    for (const qr of ['data:image/png;base64,AA', 'data:image/png;base64,BB']) {
      source?.say({ type: 'qr', status: 'connecting', qr });
      await waitFor(() => expect(code()).toBe(qr));
    }
    source?.say({ type: 'waiting', reason: 'no_picture', message: 'The service shows none now.' });
    await numbers.findByText('The service shows none now.');
    expect([numbers.queryByRole('img'), source?.isClosed]).toEqual([null, false]);
    // The browser opens a stream that broke again.
    source?.onerror?.();
    await numbers.findByText('Waiting for the QR code.');
    source?.say({ type: 'connected', status: 'connected' });
    await numbers.findByText('Paired.');
    expect(source?.isClosed).toBe(true);
  });

  it('say why one was not restarted', async () => {
    const page = await openPage(
      '/sync',
      {
        ...answers,
        'POST /connector/v1/connections/{id}/restart': new Refusal(502, 'service_unreachable', 'No answer.'),
      },
      { mode: { ...PRODUCTION, write: true } },
    );
    await page.user.click(await button('Restart and show QR code'));
    expect((await screen.findByRole('alert')).textContent).toContain('No answer.');
  });

  it('show one code at a time: a browser has six connections to a server', async () => {
    vi.stubGlobal('EventSource', Source);
    onTestFinished(() => void vi.unstubAllGlobals());
    const numbers = ['c1', 'c2', 'c3'].map((id) => ({ ...broken, id }));
    const page = await openPage(
      '/sync',
      { ...answers, 'GET /connector/v1/connections': pageOf('connections', numbers) },
      { mode: { ...PRODUCTION, write: true } },
    );
    const open = () => Source.all.filter(({ isClosed }) => !isClosed).map(({ url }) => url);
    for (const [place, { id }] of numbers.entries()) {
      const restart = screen.findAllByRole('button', { name: 'Restart and show QR code' });
      await page.user.click((await restart)[place] as HTMLElement);
      await waitFor(() => expect(open()).toEqual([`/connector/v1/connections/${id}/pairing`]));
    }
  });

  async function openCode(): Promise<Source> {
    vi.stubGlobal('EventSource', Source);
    onTestFinished(() => void vi.unstubAllGlobals());
    const page = await openPage('/sync', answers, { mode: { ...PRODUCTION, write: true } });
    await page.user.click(await button('Restart and show QR code'));
    return await waitFor(() => {
      const [found] = Source.all.filter(({ isClosed }) => !isClosed);
      if (found === undefined) throw new Error('no stream is open');
      return found;
    });
  }

  it('say why a pairing has ended, and its stream is not opened again', async () => {
    const source = await openCode();
    source.say({ type: 'ended', reason: 'not_found', message: 'The connection was deleted.' });
    await screen.findByText('The connection was deleted.');
    expect(source.isClosed).toBe(true);
  });

  it('show no code that may be old once its stream has ended', async () => {
    const source = await openCode();
    source.say({ type: 'qr', status: 'connecting', qr: 'data:image/png;base64,AA' });
    await screen.findByRole('img', { name: 'QR code for pairing' });
    // It answered with a status other than 200, and is not opened again.
    source.readyState = Source.CLOSED;
    source.onerror?.();
    await screen.findByText('The connection to the connector broke. Restart it once more.');
    expect(screen.queryByRole('img', { name: 'QR code for pairing' })).toBeNull();
  });

  it('are only shown by a page that may not write, and none are shown if all work', async () => {
    await openProduction('/sync', answers);
    expect((await button('Restart and show QR code')).getAttribute('disabled')).not.toBeNull();
    await openProduction('/sync', { 'GET /connector/v1/sync': SYNC });
    await screen.findByRole('list', { name: 'Summary' });
    expect(screen.queryByRole('region', { name: 'Numbers to pair' })).toBeNull();
  });
});
