// @vitest-environment happy-dom
import { fireEvent } from '@testing-library/dom';
import { describe, expect, it, vi } from 'vitest';
import type { ConnectorMessage } from '../../../src/contract/connector/messages.ts';
import type { Outbound } from '../../../src/contract/connector/outbound.ts';
import { at, KNOWN_DESK, MESSAGE, pageOf, SEND, STORED } from './answers.tsx';
import {
  type Answers,
  openPage,
  openProduction,
  Refusal,
  type Sent,
  saysWhyRefused,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const said = (id: string, seconds: number, changed: Partial<ConnectorMessage> = {}): ConnectorMessage => ({
  ...MESSAGE,
  id,
  text: `Text ${id}`,
  createdAt: at(seconds),
  ...changed,
});
/** The world of a conversation with a contact, newest message first. */
const world = (messages: readonly ConnectorMessage[], sends: readonly Outbound[] = []): Answers => ({
  'GET /connector/v1/messages': pageOf('messages', messages),
  'GET /connector/v1/outbound': ({ query }: Sent) =>
    pageOf(
      'outbound',
      sends.filter(({ to }) => to === query['to']),
    ),
  'GET /connector/v1/connections': pageOf('connections', [KNOWN_DESK]),
});
const openWorld = (path: string, ...given: Parameters<typeof world>) => openPage(path, world(...given));
/** A new message, as the page hears of it. */
const created = (id: string, seconds: number, changed: Partial<ConnectorMessage> = {}) => {
  const { customerRef: _, ...data } = said(id, seconds, changed);
  const head = { seq: 3, at: at(seconds), accountId: 'default', connectionId: 'c1', messageId: id };
  return { type: 'change', change: { ...head, type: 'message.created', data } } as const;
};
const CHAT = '/inbox/c1~447700900201';
const log = () => screen.findByRole('log');
const bubbles = async () =>
  within(await log())
    .getAllByRole('listitem')
    .map(({ textContent }) => textContent ?? '');
const answer = () => screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Answer to +447700900201' });

describe('the inbox', () => {
  it('lists conversations by their newest message, and takes over a change', async () => {
    const page = await openWorld('/inbox', [said('2', 20, { peer: '447700900202' }), said('1', 10)]);
    const texts = async () =>
      (await within(await screen.findByRole('list', { name: 'Conversations' })).findAllByRole('link')).map(
        (each) => /Text \d/.exec(each.textContent ?? '')?.[0],
      );
    await screen.findByRole('link', { name: /Front desk.*Text 1/ });
    expect(document.querySelector('.row-day')).toBeNull();
    expect(await texts()).toEqual(['Text 2', 'Text 1']);
    page.hear(created('3', 30));
    await screen.findByRole('link', { name: /447700900201.*Text 3/ });
    expect(await texts()).toEqual(['Text 3', 'Text 2']);
  });

  it('shows the conversations with a number however it is written, and offers connections to write first', async () => {
    const page = await openWorld('/inbox', []);
    await page.user.type(await screen.findByLabelText('Number of the contact'), '+44 (7700) 900-205{Enter}');
    await screen.findByText('No messages with +447700900205 yet');
    expect(location.search).toBe('?peer=447700900205');
    expect(page.reads.some(({ query }) => query['peer'] === '447700900205')).toBe(true);
    await page.user.click(await screen.findByRole('link', { name: 'Front desk' }));
    await screen.findByRole('textbox', { name: 'Answer to +447700900205' });
    await screen.findByText('Write the first one below.');
    page.hear(created('8', 30));
    page.hear(created('9', 31, { peer: '447700900205' }));
    await within(await log()).findByText('Text 9');
    expect(page.text()).not.toContain('Text 8');
    await page.user.click(screen.getByRole('button', { name: 'Show all' }));
    await waitFor(() => expect(location.search).toBe(''));
  });

  it('reads on until there is one more conversation', async () => {
    const pages: Record<string, object> = {
      '': pageOf('messages', [said('3', 30)], 'p2'),
      p2: pageOf('messages', [said('2', 20)], 'p1'),
      p1: pageOf('messages', [said('1', 10, { peer: '447700900202' })]),
    };
    await openPage('/inbox', {
      ...world([]),
      'GET /connector/v1/messages': ({ query }: Sent) => pages[query['cursor'] ?? ''] ?? {},
    });
    await screen.findByRole('link', { name: /447700900202.*Text 1/ });
  });

  it('names the day where it changes between two rows', async () => {
    await openWorld('/inbox', [said('2', 86_400, { peer: '447700900202' }), said('1', 10)]);
    await screen.findByRole('link', { name: /Front desk.*Text 1/ });
    const days = [...document.querySelectorAll('.row-day')];
    expect(days.map((each) => each.textContent)).toEqual(['2026-01-15']);
    expect(days[0]?.closest('li')?.textContent).toContain('Text 1');
  });

  it('searches another address as it is', async () => {
    const page = await openWorld('/inbox', []);
    await page.user.type(await screen.findByLabelText('Number of the contact'), ' 1609@lid {Enter}');
    await waitFor(() => expect(location.search).toBe('?peer=1609%40lid'));
  });
});

describe('a conversation', () => {
  it('shows the oldest message first, who reported each, and where it leads', async () => {
    await openWorld(CHAT, [
      said('3', 86_400, {
        direction: 'outgoing',
        status: 'failed',
        errorMessage: 'Blocked.',
        firstSeenBy: 'send',
      }),
      said('2', 20, {
        firstSeenBy: 'poll',
        mediaUrl: 'https://files/1',
        mediaType: 'image/png',
        text: null,
      }),
      said('1', 10),
    ]);
    await within(await log()).findByText('Text 1');
    const [first = '', second = '', third = ''] = await bubbles();
    expect(first).toMatch(/^2026-01-15Text 1JourneyDeliveries.*webhook/);
    expect(second).toMatch(/^image\/pngDownloadJourneyDeliveries.*poll/);
    expect(third).toMatch(/^2026-01-16Text 3.*!Blocked\. Writing it again sends a new message\.$/);
    const chat = within(await log());
    const hrefs = ['Journey', 'Deliveries'].map((name) =>
      chat.getAllByRole('link', { name })[0]?.getAttribute('href'),
    );
    expect(hrefs).toEqual(['/journey/1', '/deliveries?q=message%3A1']);
    expect(chat.getByTitle(/^Polling found it first/).textContent).toBe('poll');
    expect(chat.getByRole('img', { name: 'failed' })).toBeDefined();
    expect(chat.getByRole('link', { name: 'Download' }).getAttribute('href')).toBe(
      '/connector/v1/messages/2/media',
    );
  });

  it('reads older messages when it is scrolled to its beginning, and by a button', async () => {
    const pages: Record<string, object> = {
      '': pageOf('messages', [said('3', 30)], 'p2'),
      p2: pageOf('messages', [said('2', 20)], 'p1'),
      p1: pageOf('messages', [said('1', 10)]),
    };
    const page = await openPage(CHAT, {
      ...world([], [{ ...SEND, text: 'Text 0', state: 'rejected', createdAt: new Date().toISOString() }]),
      'GET /sandbox/v1/clock': { now: at(15), frozen: true },
      'GET /connector/v1/messages': ({ query }: Sent) =>
        query['connectionId'] === 'c1' ? (pages[query['cursor'] ?? ''] ?? {}) : pageOf('messages', []),
    });
    await within(await log()).findByText('Text 3');
    expect(screen.queryByText(/Text [02]/)).toBeNull();
    fireEvent.scroll(await log(), { target: { scrollTop: 20 } });
    await within(await log()).findByText('Text 2');
    await page.user.click(await screen.findByRole('button', { name: 'Show older messages' }));
    await within(await log()).findByText('Text 1');
    expect((await bubbles()).map((text) => /Text \d/.exec(text)?.[0])).toEqual([
      'Text 1',
      'Text 0',
      'Text 2',
      'Text 3',
    ]);
    expect(screen.queryByRole('button', { name: 'Show older messages' })).toBeNull();
  });

  it('queues an answer with Enter; the same text after a lost response has the same reference', async () => {
    let isDown = true;
    const page = await openPage(CHAT, {
      ...world([said('1', 10)]),
      'POST /connector/v1/messages': () =>
        isDown ? new Refusal(503, 'unavailable', 'The database is away.') : { outboundId: 'o1' },
    });
    const field = await answer();
    await page.user.type(field, '  Yes.{Shift>}{Enter}{/Shift}Today. {Enter}');
    await screen.findByText('The database is away.');
    expect(field.value).toBe('  Yes.\nToday. ');
    isDown = false;
    await page.user.click(screen.getByRole('button', { name: 'Send' }));
    await waitFor(() => expect(field.value).toBe(''));
    expect(screen.queryByText('The database is away.')).toBeNull();
    await page.user.type(field, 'Yes.\nToday.');
    await page.user.click(screen.getByRole('button', { name: 'Send' }));
    await waitFor(() => expect(field.value).toBe(''));
    const [first, second, third] = page.writes.map(({ body }) => body as Record<string, string>);
    expect(first).toEqual({
      connectionId: 'c1',
      to: '447700900201',
      text: 'Yes.\nToday.',
      reference: expect.any(String),
    });
    expect(second).toEqual(first);
    expect(third?.['reference']).not.toBe(first?.['reference']);
  });

  it('keeps what is written, and the file that is chosen, while a send is on its way', async () => {
    const sent = Promise.withResolvers<object>();
    const page = await openPage(CHAT, {
      ...world([said('1', 10)]),
      'POST /connector/v1/messages': () => sent.promise,
    });
    const field = await answer();
    await page.user.type(field, 'One{Enter}, and two');
    await page.user.upload(screen.getByLabelText('File'), new File(['abc'], 'note.txt'));
    sent.resolve({ outboundId: 'o1' });
    await waitFor(() => expect(field.value).toBe(', and two'));
    expect(screen.queryByText('note.txt')).not.toBeNull();
  });

  it('does not send with the Enter that ends the input of composed characters', async () => {
    const page = await openPage(CHAT, {
      ...world([said('1', 10)]),
      'POST /connector/v1/messages': { outboundId: 'o1' },
    });
    const field = await answer();
    await page.user.type(field, 'kon');
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true }));
    await page.user.type(field, 'nichiwa{Enter}');
    await waitFor(() => expect(field.value).toBe(''));
    expect(page.writes).toMatchObject([{ body: { text: 'konnichiwa' } }]);
  });

  it('sends a file with a caption, which can be removed again', async () => {
    const page = await openPage(CHAT, {
      ...world([said('1', 10)]),
      'POST /connector/v1/messages': { outboundId: 'o1' },
    });
    await answer();
    const picker = screen.getByLabelText('File');
    const note = new File(['abc'], 'note.txt', { type: 'text/plain' });
    await page.user.upload(picker, note);
    await page.user.click(await screen.findByRole('button', { name: 'Remove' }));
    expect(screen.queryByText('note.txt')).toBeNull();
    // A browser tells nothing of a file that is chosen while it is the chosen one.
    await page.user.upload(picker, note);
    await page.user.type(await answer(), 'See this{Enter}');
    await waitFor(() => expect(page.writes).toHaveLength(1));
    expect(page.writes[0]?.body).toMatchObject({
      media: { filename: 'note.txt', mimetype: 'text/plain', data: 'YWJj', caption: 'See this' },
    });
    expect(page.writes[0]?.body).not.toHaveProperty('text');
    await waitFor(() => expect(screen.queryByText('note.txt')).toBeNull());
    await page.user.type(await answer(), 'And this{Enter}');
    await waitFor(() => expect(page.writes[1]?.body).toMatchObject({ text: 'And this' }));
  });

  it('says what is certain about each send, the open ones last, and what can be done', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const page = await openPage(CHAT, {
      ...world(
        [said('2', 3_600), said('1', -10)],
        [
          {
            ...SEND,
            id: 'o3',
            text: 'Waits',
            lastError: 'warmup_limited',
            nextAttemptAt: inAnHour,
            attempts: 2,
          },
          {
            ...SEND,
            id: 'o2',
            text: 'Refused',
            state: 'rejected',
            lastError: 'recipient_not_on_whatsapp',
            createdAt: new Date().toISOString(),
          },
          { ...SEND, id: 'o1', text: 'Done', state: 'sent', messageId: 'm9' },
          { ...SEND, id: 'o0', text: 'To another', to: '447700900299' },
        ],
      ),
      'DELETE /connector/v1/outbound/o3': { ...SEND, id: 'o3', state: 'cancelled' },
      'POST /connector/v1/outbound/o2/retry': { ...SEND, id: 'o2' },
    });
    await within(await log()).findByText('Waits');
    const [, refused = '', later, waiting = '', ...more] = await bubbles();
    expect(later).toContain('Text 2');
    expect(refused).toContain(
      'rejected Certain: nothing was sent. recipient_not_on_whatsapp: The number has no account on the network. Check it.',
    );
    expect(waiting).toMatch(
      /Waits.*queued Not sent yet\. warmup_limited: .* 2 attempts\. Next attempt in 60 min\./,
    );
    expect(more).toEqual([]);
    await page.user.click(screen.getByRole('button', { name: 'Cancel' }));
    await page.user.click(screen.getByRole('button', { name: 'Retry' }));
    await waitFor(() =>
      expect(page.writes.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'DELETE /connector/v1/outbound/o3',
        'POST /connector/v1/outbound/o2/retry',
      ]),
    );
  });

  it('says why an action is refused', async () => {
    const page = await openPage(
      CHAT,
      world([said('1', 10)], [SEND, { ...SEND, id: 'o2', state: 'rejected' }]),
    );
    await saysWhyRefused(page, [
      ['Cancel', 'DELETE /connector/v1/outbound/o1'],
      ['Retry', 'POST /connector/v1/outbound/o2/retry'],
      ['Mark as read', 'POST /connector/v1/read-receipts'],
    ]);
  });

  it('marks as read, and names the customer and what is wrong with the connection', async () => {
    const page = await openPage(CHAT, {
      ...world([said('1', 10, { customerRef: 'crm-7' })]),
      'GET /connector/v1/connections': pageOf('connections', [{ ...KNOWN_DESK, health: 'needs_reconnect' }]),
      'POST /connector/v1/read-receipts': { ok: true, marked: 2 },
    });
    await page.user.click(await screen.findByRole('button', { name: 'Mark as read' }));
    await screen.findByText('2 marked');
    expect(page.writes).toMatchObject([{ body: { connectionId: 'c1', phone: '447700900201' } }]);
    expect(page.text()).toContain('needs reconnect');
    expect(page.text()).toContain('Customer crm-7');
  });

  it('stands beside the phone of its contact where a window is wide, each with its own messages', async () => {
    vi.stubGlobal('matchMedia', () => ({ matches: true, addEventListener() {}, removeEventListener() {} }));
    await openPage(CHAT, {
      ...world([said('1', 10)]),
      'GET /sandbox/v1/messages': { entries: [STORED] },
      'GET /sandbox/v1/contacts/447700900201/messages': { entries: [] },
    });
    const phone = within(await screen.findByRole('region', { name: '+447700900201' }));
    await phone.findByText('Hello');
    await phone.findByRole('textbox', { name: /^Message to Front desk/ });
    await answer();
    expect(phone.queryByText('Text 1')).toBeNull();
    const ofAgent = await screen.findByRole('log', { name: 'Messages with +447700900201' });
    await within(ofAgent).findByText('Text 1');
  });

  it('of an unknown contact cannot be answered, and says why', async () => {
    const found = said('1', 10, { peer: null, firstSeenBy: 'poll' });
    const page = await openPage('/inbox/c1~', world([found]), { refreshes: false });
    await within(await log()).findByText('Text 1');
    await screen.findByText(/whose list does not name the contact/);
    expect(screen.queryByRole('textbox', { name: /^Answer/ })).toBeNull();
    const { change } = created('1', 10);
    page.hear({ type: 'change', change: { ...change, type: 'message.updated' } });
    await waitFor(async () => expect((await log()).textContent).not.toContain('Text 1'));
  });

  it('of an unknown connection does not exist', async () => {
    await openWorld('/inbox/nope', []);
    await screen.findByRole('heading', { name: 'There is no such conversation' });
    expect(screen.queryByRole('textbox', { name: /^Answer/ })).toBeNull();
  });

  it('is only read without --write', async () => {
    await openProduction(CHAT, world([said('1', 10)], [SEND]));
    await within(await log()).findByText('Good morning');
    for (const name of ['Send', 'Mark as read', 'Cancel', 'Deliveries'])
      expect(
        within(screen.getByRole('main')).queryByRole(name === 'Deliveries' ? 'link' : 'button', { name }),
      ).toBeNull();
  });
});
