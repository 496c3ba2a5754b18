// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { DELIVERY, DESK, KNOWN_DESK, letter, MESSAGE, pageOf, STORED } from './answers.tsx';
import {
  type Answers,
  hasFocus,
  openPage,
  PRODUCTION,
  Refusal,
  SANDBOX,
  type Sent,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const FIELD = 'Number, id or text';
const NUMBER = '447700900201';

/** What a list of the sandbox answers to a filter, and to nothing else. */
const only =
  (q: string, ...entries: readonly object[]) =>
  ({ query }: Sent) => ({ entries: query['q'] === q ? entries : [] });

/** The groups, each with its hits. */
async function found(): Promise<Readonly<Record<string, readonly (string | null)[]>>> {
  const groups = await within(screen.getByRole('dialog', { name: 'Search' })).findAllByRole('group');
  return Object.fromEntries(
    groups.map((group) => [
      group.getAttribute('aria-label'),
      within(group)
        .getAllByRole('option')
        .map((option) => option.querySelector('bdi')?.textContent ?? null),
    ]),
  );
}

async function search(path: string, text: string, given: Answers, mode = SANDBOX) {
  const page = await openPage(path, given, { mode, refreshes: false });
  await screen.findByText('live');
  await page.press('/', FIELD);
  await page.user.keyboard(text);
  return page;
}

describe('the search', () => {
  const answers: Answers = {
    'GET /sandbox/v1/connections': { entries: [DESK, { ...DESK, id: 'cz0y9wyvq9' }] },
    'GET /sandbox/v1/messages': only(NUMBER, STORED),
    'GET /sandbox/v1/deliveries': only(NUMBER, DELIVERY),
    'GET /connector/v1/dead-letters': pageOf('deadLetters', [letter('a', 7)]),
    // For the screens that a hit opens.
    'GET /connector/v1/messages/m1/trace': new Refusal(404, 'not_found', 'None.'),
    'GET /sandbox/v1/connections/cz0y9wyvq9': new Refusal(404, 'not_found', 'None.'),
  };

  it('is opened with / on any screen, finds by a number, and Enter opens the first hit', async () => {
    const page = await search('/calls', '+44 7700 900201', answers);
    expect(await found()).toEqual({
      Messages: ['Hello'],
      Deliveries: ['message.received delivered'],
      'Dead letters': ['7 message.created'],
    });
    const [first] = screen.getAllByRole('option');
    expect(first?.textContent).toBe('Hello+447700900201 · Front desk · 2026-01-15 12:00:00');
    await page.user.keyboard('{Enter}');
    await waitFor(() => expect(location.pathname).toBe('/journey/m1'));
    await hasFocus('Journey');
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('opens nothing with the Enter that ends the input of composed characters', async () => {
    await search('/calls', '+44 7700 900201', answers);
    await found();
    const enter = new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true });
    document.activeElement?.dispatchEvent(enter);
    expect(document.querySelector('dialog')?.open).toBe(true);
  });

  it('shows at most five hits of a kind', async () => {
    const entries = ['1', '2', '3', '4', '5', '6'].map((id) => ({ ...DESK, id, label: `Desk ${id}` }));
    await search('/calls', 'desk', { ...answers, 'GET /sandbox/v1/connections': { entries } });
    expect((await found())['Connections']).toEqual(['Desk 1', 'Desk 2', 'Desk 3', 'Desk 4', 'Desk 5']);
  });

  it('opens the hit that the arrow keys choose, and a dead letter at its row', async () => {
    const page = await search('/calls', NUMBER, answers);
    await found();
    await page.user.keyboard('{ArrowUp}');
    const input = screen.getByRole('combobox', { name: FIELD });
    const chosen = screen.getByRole('option', { selected: true });
    expect(chosen.textContent).toContain('7 message.created');
    expect(input.getAttribute('aria-activedescendant')).toBe(chosen.id);
    await page.user.keyboard('{Enter}');
    await waitFor(() => expect(location.pathname + location.hash).toBe('/sync#letter-a'));
    const letters = within(await screen.findByRole('list', { name: 'Dead letters' }));
    const rows = await letters.findAllByRole('listitem');
    expect(rows.map((row) => row.getAttribute('aria-current'))).toEqual(['true']);
  });

  it('finds by id what no page of the newest rows has, also when Enter comes before the answer', async () => {
    await search('/overview', 'cz0y9wyv{Enter}', answers);
    await waitFor(() => expect(location.pathname).toBe('/connections/cz0y9wyvq9'));
  });

  it('reads a delivery by its number', async () => {
    await search('/overview', '17', {
      'GET /sandbox/v1/deliveries/17': { ...DELIVERY, id: '17' },
      'GET /sandbox/v1/deliveries': only('17', { ...DELIVERY, id: '17' }),
    });
    expect(await found()).toEqual({ Deliveries: ['message.received delivered'] });
  });

  it('asks for a text as a whole, and says that nothing has it, and what could not be searched', async () => {
    const page = await search('/overview', 'Is it "late"?', {
      ...answers,
      'GET /sandbox/v1/deliveries': new Refusal(500, 'internal_error', 'It failed.'),
    });
    const status = within(screen.getByRole('dialog')).getByRole('status');
    await waitFor(() =>
      expect(status.textContent).toBe('Nothing has “Is it "late"?”. Could not be searched: Deliveries.'),
    );
    const asked = page.reads.filter(({ path }) => path === '/sandbox/v1/messages').at(-1);
    expect(asked?.query['q']).toBe('"Is it ""late""?"');
  });

  it('in production reads a message by id, connections by name, and leads to the screens that exist', async () => {
    const inProduction: Answers = {
      'GET /connector/v1/connections': pageOf('connections', [KNOWN_DESK]),
      'GET /connector/v1/messages/cz0y9wyv': { ...MESSAGE, id: 'cz0y9wyv' },
      'GET /connector/v1/deliveries': {
        deliveries: [
          {
            id: '1',
            at: MESSAGE.createdAt,
            ms: 3,
            status: 200,
            reason: null,
            says: null,
            subscriptionId: 's1',
            event: 'message.received',
            connectionId: 'c1',
            messageId: 'cz0y9wyv',
          },
        ],
      },
    };
    const page = await search('/overview', 'cz0y9wyv', inProduction, PRODUCTION);
    expect(await found()).toEqual({ Messages: ['Hello'], 'Received webhooks': ['message.received'] });
    const field = screen.getByRole('combobox', { name: FIELD });
    await page.user.clear(field);
    await page.user.type(field, 'DESK{Enter}');
    await waitFor(() => expect(location.pathname + location.hash).toBe('/sync#connection-c1'));
    expect(page.reads.filter(({ path }) => path.startsWith('/sandbox'))).toEqual([]);
  });
});
