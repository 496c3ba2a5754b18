// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { MessageTrace, TraceEntry } from '../../../src/contract/connector/trace.ts';
import { at, CALL, DELIVERY, DESK, KNOWN_DESK, MESSAGE, pageOf, STORED } from './answers.tsx';
import {
  type Answers,
  openPage,
  openProduction,
  PRODUCTION,
  Refusal,
  type Sent,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

describe('a call', () => {
  it('shows each check, which one refused it, and the bodies', async () => {
    await openPage('/calls/1', {
      'GET /sandbox/v1/calls/1': { ...CALL, faults: ['burst'], query: 'limit=1' },
    });
    const decision = within(await screen.findByRole('region', { name: 'Decision' }));
    decision.getByRole('heading', { name: 'Refused by the check credential' });
    expect(decision.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
      '✓route passed',
      '✕credential refusedNo key has this value.',
    ]);
    decision.getByText('Affected by the fault burst.');
    expect(screen.getByRole('figure', { name: 'Response body' }).textContent).toContain(
      '"error": "invalid_key"',
    );
    expect(screen.getByRole('figure', { name: 'Query' }).textContent).toContain('limit=1');
    expect(screen.getByRole('region', { name: 'About' }).textContent).toContain('Answer401 invalid_key');
  });

  it('that was refused by nothing passed every check, and a reset has no status', async () => {
    await openPage('/calls/1', {
      'GET /sandbox/v1/calls': {
        entries: [
          {
            ...CALL,
            status: null,
            code: null,
            messageIds: ['m1'],
            credential: 'c2pkvldvn1nephp7j4bd22jnu',
          },
        ],
      },
      'GET /sandbox/v1/calls/1': {
        ...CALL,
        status: null,
        code: null,
        trace: [{ check: 'route', passed: true }],
        messageIds: ['m1'],
      },
    });
    await screen.findByRole('heading', { name: 'Passed every check' });
    expect((await screen.findByText('c2pk…2jnu')).title).toBe('c2pkvldvn1nephp7j4bd22jnu');
    await screen.findByRole('link', { name: /^reset ?GET ?\/account/ });
    const list = within(screen.getByRole('list', { name: 'Calls' }));
    expect(list.getByRole('link', { name: 'Journey' }).getAttribute('href')).toBe('/journey/m1');
  });
});

const TRACE: MessageTrace = {
  messageId: 'm1',
  message: {
    connectionId: 'c1',
    accountId: 'default',
    direction: 'incoming',
    status: null,
    statusConflict: false,
    firstSeenBy: 'poll',
    firstSeenAt: at(5),
    createdAt: at(),
  },
  inbox: { keptSince: at(), complete: true, note: null },
  entries: [],
  truncated: false,
};

const REPAIR: TraceEntry = {
  at: at(5),
  source: 'poll',
  connectionId: 'c1',
  event: null,
  status: null,
  outcome: 'merged',
  reason: null,
  changed: ['created'],
  explanation: 'A poll found it.',
  seqs: [7],
  walk: 'coverage',
  delivery: null,
  send: null,
};

describe('a journey', () => {
  const rows = async (count: number) => {
    const list = within(await screen.findByRole('list', { name: 'Messages' }));
    await waitFor(() => expect(list.getAllByRole('link')).toHaveLength(count));
    return list.getAllByRole('link').map(({ textContent }) => textContent);
  };
  const NOBODY = 'GET /connector/v1/messages/nobody00/trace';

  it('begins with the newest messages, each with its contact and the name of its connection', async () => {
    const page = await openPage('/journey', {
      'GET /sandbox/v1/connections': { entries: [DESK] },
      'GET /sandbox/v1/messages': ({ query }: Sent) => ({
        entries:
          query['q'] === '!workspace:wcheck'
            ? [STORED, { ...STORED, id: 'm2', text: null, mediaType: 'image/png', direction: 'outgoing' }]
            : [],
      }),
      [NOBODY]: new Refusal(404, 'not_found', 'There is none.'),
    });
    expect(await rows(2)).toEqual([
      '+447700900201Front desk Hello12:00:00',
      '+447700900201Front desk✓✓ image/png12:00:00',
    ]);
    await page.press('q', 'Filter');
    await page.user.keyboard('nobody00{Enter}');
    await screen.findByRole('heading', { name: 'No message matches' });
    history.pushState(null, '', '/journey/nobody00');
    await screen.findByRole('heading', { name: 'Nothing is known about this message' });
    await page.user.click(screen.getByRole('link', { name: 'Follow another message' }));
    await rows(2);
  });

  it.each([
    ['+44 7700 900201', ['447700900201']],
    ['late reply', ['late reply']],
    ['cz0y9wyv', ['cz0y9wyv', 'message:cz0y9wyv*']],
  ])('is found in the sandbox by %s', async (written, asked) => {
    const page = await openPage(
      `/journey?q=${encodeURIComponent(written)}`,
      {
        'GET /sandbox/v1/messages': ({ query }: Sent) => ({
          entries: asked.includes(query['q'] ?? '') ? [{ ...STORED, id: 'cz0y9wyvq9' }] : [],
        }),
      },
      { refreshes: false },
    );
    await rows(1);
    const reads = page.reads.filter(({ path }) => path === '/sandbox/v1/messages');
    expect(reads.map(({ query }) => query['q'])).toEqual(asked);
  });

  it('is found in production by number and id, and by text among the newest 1,000 without an index of texts', async () => {
    const known = [MESSAGE, { ...MESSAGE, id: 'm2', text: 'Where do I park?' }];
    const page = await openPage(
      '/journey',
      {
        'GET /connector/v1/connections': pageOf('connections', [KNOWN_DESK]),
        'GET /connector/v1/messages': ({ query: { person = '', text } }: Sent) => {
          if (text === 'PARK') return new Refusal(409, 'search_off', 'It needs an index.');
          if (text === 'Do') return new Refusal(400, 'invalid_request', 'text: is too short.');
          const found = text === undefined ? 'From one' : 'Found by the index';
          return pageOf(
            'messages',
            person === '' && text === undefined ? known : [{ ...MESSAGE, text: found }],
          );
        },
        'GET /connector/v1/messages/cz0y9wyv': { ...MESSAGE, id: 'cz0y9wyv', text: 'Old' },
      },
      { mode: PRODUCTION, refreshes: false },
    );
    expect(await rows(2)).toEqual([
      '+447700900201Front desk Hello12:00:00webhook',
      '+447700900201Front desk Where do I park?12:00:00webhook',
    ]);
    const filter = await screen.findByRole('combobox', { name: 'Filter' });
    for (const [written, found] of [
      ['+44 7700 900201', 'From one'],
      ['PARK', 'Where do I park?'],
      ['index', 'Found by the index'],
      ['Do', 'Where do I park?'],
      ['cz0y9wyv', 'Old'],
    ] as const) {
      await page.user.clear(filter);
      await page.user.type(filter, `${written}{Enter}`);
      await screen.findByRole('link', { name: new RegExp(found.replace('?', '\\?')) });
      await rows(1);
    }
    const lists = page.reads.filter(({ path }) => path === '/connector/v1/messages');
    expect(lists.map(({ query }) => query)).toEqual([
      { limit: '100' },
      { person: '447700900201', limit: '100' },
      { text: 'PARK', limit: '100' },
      { limit: '1000' },
      { text: 'index', limit: '100' },
      { text: 'Do', limit: '100' },
      { limit: '1000' },
    ]);
  });

  const DROPPED = { at: at(0), ms: 0, error: 'dropped', faults: ['lost'] };
  const lost: Answers = {
    'GET /sandbox/v1/deliveries': {
      entries: [{ ...DELIVERY, outcome: 'dropped', attempts: [DROPPED, DROPPED, DROPPED] }],
    },
    'GET /sandbox/v1/messages': { entries: [STORED] },
    'GET /connector/v1/messages/m1/trace': new Refusal(404, 'not_found', 'There is none.'),
  };
  const findings = async () =>
    within(await screen.findByRole('region', { name: 'Summary' }))
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent);
  const steps = () => within(screen.getByRole('region', { name: 'Steps' })).getAllByRole('listitem');

  it('shows that a webhook was dropped, step by step, and leads to what each is about', async () => {
    const page = await openPage('/journey/m1', lost);
    expect(await findings()).toEqual([
      'Its webhook was dropped, and the connector does not know it yet. The next poll repairs that.',
    ]);
    expect(
      steps().map(
        ({ textContent }) =>
          /(Phone|Service|Attempts|Connector|CRM) [^·]*?(?=Virtual|Real|Attempt 1|dropped by)/.exec(
            textContent ?? '',
          )?.[0],
      ),
    ).toEqual([
      'Phone +447700900201 wrote a text',
      'Service The service stored it',
      'Attempts message.received: dropped after 3 attempts',
    ]);
    expect(document.querySelectorAll('.journey-step[data-tone="bad"]')).toHaveLength(1);
    expect(steps()[2]?.textContent).toContain('Attempt 3dropped by the fault lost · 0 ms');
    await page.press('jjj', /dropped after 3 attempts/);
    const hrefs = ['Show the phone', 'Show the connection', 'Show the delivery'].map((name) =>
      screen.getByRole('link', { name }).getAttribute('href'),
    );
    expect(hrefs).toEqual(['/phone/447700900201?with=c1', '/connections/c1', '/deliveries/d1']);
  });

  it('follows the message live: the poll that repaired it', async () => {
    const page = await openPage('/journey/m1', lost, { refreshes: false });
    await findings();
    page.answer({
      'GET /connector/v1/messages/m1/trace': { ...TRACE, entries: [REPAIR] },
      'GET /connector/v1/messages/m1': { ...MESSAGE, firstSeenBy: 'poll' },
    });
    page.hear({ type: 'changed', what: 'connector' });
    await screen.findByText('Its webhook was dropped. Polling repaired it.');
    expect(steps().at(-2)?.querySelector('summary')?.textContent).toContain('Connector A poll found it');
    expect(steps().at(-2)?.querySelector('.journey-step')?.getAttribute('data-tone')).toBe('warn');
    const inbox = within(screen.getByRole('main')).getByRole('link', { name: 'Inbox' });
    expect(inbox.getAttribute('href')).toBe('/inbox/c1~447700900201');
  });

  it('in production shows only what the connector knows', async () => {
    await openProduction('/journey/m1', {
      'GET /connector/v1/messages/m1/trace': TRACE,
      'GET /connector/v1/messages/m1': { ...MESSAGE, firstSeenBy: 'poll' },
    });
    expect(await findings()).toEqual(['Polling found it: its webhook was late, lost or never sent.']);
    expect(steps()[0]?.textContent).toContain('The service created it');
    expect(screen.queryByText('At the service')).toBeNull();
    expect(within(screen.getByRole('main')).queryByRole('link', { name: 'Deliveries' })).toBeNull();
    await waitFor(() =>
      expect(document.querySelector('.journey-head')?.textContent).toBe('TimeServiceConnectorCRM'),
    );
  });
});
