// @vitest-environment happy-dom
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StoredMessage } from '../../../src/contract/sandbox/messages.ts';
import { at, DESK, SHOWN_DESK, STORED, unpaired } from './answers.tsx';
import {
  type Answers,
  button,
  invalid,
  openPage,
  type Page,
  Refusal,
  type Sent,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const CONTACT = '447700900201';
const stored = (id: string, seconds: number, changed: Partial<StoredMessage> = {}): StoredMessage => ({
  ...STORED,
  id,
  text: `Text ${id}`,
  createdAt: at(seconds),
  ...changed,
});
const world = (messages: readonly StoredMessage[] = [], more: Answers = {}): Answers => ({
  'GET /sandbox/v1/connections': {
    entries: [
      DESK,
      { ...DESK, id: 'c2', label: 'Sales', phoneNumber: '447700900102' },
      { ...DESK, id: 'c3', label: 'New', phoneNumber: null },
    ],
  },
  'GET /sandbox/v1/connections/c1': SHOWN_DESK,
  'GET /sandbox/v1/messages': { entries: messages },
  [`GET /sandbox/v1/contacts/${CONTACT}/messages`]: { entries: [] },
  'GET /sandbox/v1/contacts/{phone}': BEHAVIOR,
  ...more,
});
const openWorld = (path: string, ...given: Parameters<typeof world>) => openPage(path, world(...given));
const BEHAVIOR = {
  onNetwork: true,
  deliverAfterMs: 300,
  readAfterMs: 1_500,
  failAfterMs: null,
  autoReply: null,
};
const SILENT = { phone: CONTACT, ...BEHAVIOR, readAfterMs: null };
const chat = () => screen.findByRole('log');
const texts = async () =>
  within(await chat())
    .getAllByRole('listitem')
    .map(({ textContent }) => /Text [a-z]+/.exec(textContent ?? '')?.[0]);

describe('the phones', () => {
  it('are those of connections or of contacts, and of any number', async () => {
    const page = await openWorld('/phone', [], {
      'GET /sandbox/v1/contacts': ({ query }: Sent) => ({
        entries: query['q'] === undefined ? [SILENT] : [],
      }),
    });
    await screen.findByRole('link', { name: /^\+447700900101 ?Front desk ?connected$/ });
    await page.user.click(await button('Contacts'));
    await screen.findByRole('link', { name: /never reads/ });
    await page.user.type(screen.getByLabelText('Number of any contact'), '+44 7700 900299{Enter}');
    await screen.findByText(/reads after 1\.5 s/);
    expect([location.pathname, location.search]).toEqual(['/phone/447700900299', '?list=contacts']);
  });

  it('of contacts are filtered among contacts', async () => {
    const page = await openWorld('/phone?list=contacts', [], {
      'GET /sandbox/v1/contacts': ({ query }: Sent) => ({
        entries: query['q'] === 'network:no' ? [SILENT] : [],
      }),
    });
    await page.user.type(await screen.findByRole('combobox', { name: 'Filter' }), 'network:no{Enter}');
    await waitFor(() => expect(location.search).toBe('?list=contacts&q=network%3Ano'));
    const found = await screen.findByRole('link', { name: /never reads/ });
    expect(found.getAttribute('href')).toMatch(/^\/phone\/\d+\?list=contacts&q=network%3Ano$/);
    await page.user.click(await button('Clear the filter'));
    await waitFor(() => expect(location.search).toBe('?list=contacts'));
  });
});

describe('the phone of a contact', () => {
  it('lists its chats, the newest first, and then whom it has not written to, which opens a chat', async () => {
    const page = await openWorld(`/phone/${CONTACT}?list=contacts`, [
      stored('b', 20, { direction: 'outgoing' }),
      stored('a', 10),
    ]);
    const first = await screen.findByRole('link', { name: /Front desk \+447700900101.*Text b/ });
    expect(first.getAttribute('href')).toBe(`/phone/${CONTACT}?list=contacts&with=c1`);
    // Only what it has written itself has ticks.
    expect(within(first).queryByRole('img')).toBeNull();
    expect(screen.getAllByRole('link', { name: /^Front desk \+/ })).toEqual([first]);
    expect(screen.queryByRole('link', { name: /New.*Write the first message/ })).toBeNull();
    await page.user.click(
      await screen.findByRole('link', { name: /Sales \+447700900102 ?Write the first message/ }),
    );
    await screen.findByRole('textbox', { name: 'Message to Sales +447700900102' });
    expect(location.search).toBe('?list=contacts&with=c2');
    expect(page.reads.some(({ query }) => query['q'] === `contact:${CONTACT} connection:c2`)).toBe(true);
  });

  it('shows a chat in the order of time, and what the service has not recorded', async () => {
    await openWorld(
      `/phone/${CONTACT}?list=contacts&with=c1`,
      [stored('c', 30, { direction: 'outgoing', errorMessage: 'No account.' }), stored('a', 10)],
      {
        [`GET /sandbox/v1/contacts/${CONTACT}/messages`]: {
          entries: [{ messageId: 'b', connectionId: 'c1', from: '447700900101', text: 'Text b', at: at(20) }],
        },
      },
    );
    await within(await chat()).findByText('Text b');
    expect(await texts()).toEqual(['Text a', 'Text b', 'Text c']);
    await screen.findByText('Received, but the service has no record of it.');
    await screen.findByText('No account.');
    const own = within(await chat()).getAllByRole('img', { name: 'delivered' });
    expect(own).toHaveLength(1);
  });

  it('writes a message, which is shown until the service has it, and says why it may be missing', async () => {
    const page = await openWorld(`/phone/${CONTACT}?list=contacts&with=c1`, [], {
      [`POST /sandbox/v1/contacts/${CONTACT}/messages`]: () => ({ messageId: `m${page.writes.length}` }),
    });
    await screen.findByText('Nothing was written yet');
    await page.user.type(
      await screen.findByRole('textbox', { name: /^Message to Front desk/ }),
      'Text new{Enter}',
    );
    const why = 'Not delivered yet. Is the other phone off, or does it block this number?';
    await screen.findByText(why);
    await page.user.keyboard('Text more{Enter}');
    await waitFor(() => expect(screen.getAllByText(why)).toHaveLength(2));
    expect(page.writes).toMatchObject([{ body: { connectionId: 'c1', text: 'Text new' } }, {}]);
    page.answer({ 'GET /sandbox/v1/messages': { entries: [stored('m1', -10, { text: 'Text new' })] } });
    page.hear({ type: 'changed', what: 'messages' });
    await waitFor(() => expect(screen.getAllByText(why)).toHaveLength(1));
    expect(await texts()).toEqual(['Text new', 'Text more']);
  });

  it('does not show what it wrote before the sandbox was reset', async () => {
    const page = await openWorld(`/phone/${CONTACT}?list=contacts&with=c1`, [], {
      [`POST /sandbox/v1/contacts/${CONTACT}/messages`]: { messageId: 'm1' },
    });
    await page.user.type(
      await screen.findByRole('textbox', { name: /^Message to Front desk/ }),
      'Text new{Enter}',
    );
    await screen.findByText(/^Not delivered yet/);
    page.hear({ type: 'changed', what: 'everything' });
    await screen.findByText('Nothing was written yet');
  });

  it('is not written again because the clock could not be read', async () => {
    const page = await openWorld(`/phone/${CONTACT}?list=contacts&with=c1`, [], {
      [`POST /sandbox/v1/contacts/${CONTACT}/messages`]: { messageId: 'm1' },
    });
    const field = await screen.findByRole<HTMLTextAreaElement>('textbox', { name: /^Message to Front desk/ });
    page.answer({
      'GET /sandbox/v1/clock': new Refusal(500, 'internal_error', 'The server failed.'),
    });
    await page.user.type(field, 'Text new{Enter}');
    await screen.findByText(/The server failed/);
    expect([page.writes, field.value]).toEqual([[], 'Text new']);
  });

  it('reads what it has not read', async () => {
    const page = await openWorld(
      `/phone/${CONTACT}?list=contacts&with=c1`,
      [
        stored('d', 40, { direction: 'outgoing', status: 'delivered' }),
        stored('c', 30, { direction: 'outgoing', status: 'sent' }),
        stored('b', 20, { direction: 'outgoing', status: 'read' }),
        stored('a', 10),
      ],
      {
        'POST /sandbox/v1/messages/d/status': { changed: true, status: 'read' },
        'POST /sandbox/v1/messages/c/status': new Refusal(500, 'internal_error', 'It failed.'),
      },
    );
    await page.user.click(await button('Read 2'));
    expect((await screen.findByRole('alert')).textContent).toContain('It failed.');
    expect(page.writes).toMatchObject([
      { path: '/sandbox/v1/messages/d/status', body: { status: 'read' } },
      { path: '/sandbox/v1/messages/c/status', body: { status: 'read' } },
    ]);
  });
});

describe('the behavior of a contact', () => {
  const PUT = `PUT /sandbox/v1/contacts/${CONTACT}`;
  const open = async (more: Answers) => {
    const page = await openWorld(`/phone/${CONTACT}?list=contacts`, [], more);
    (await button('Change the behavior')).focus();
    await page.press('{Enter}', 'Has an account on the network');
    return page;
  };
  const fill = async (page: Page, label: string, text: string) => {
    await page.user.clear(screen.getByLabelText(label));
    await page.user.type(screen.getByLabelText(label), text);
  };

  it('is changed by keyboard: delays in seconds, nothing for never', async () => {
    const now = { ...BEHAVIOR, onNetwork: false };
    const page = await open({ [PUT]: now });
    await page.user.keyboard(' ');
    expect(screen.getByLabelText<HTMLInputElement>('Read after, in seconds').value).toBe('1.5');
    await page.user.clear(screen.getByLabelText('Read after, in seconds'));
    await fill(page, 'Delivered after, in seconds', '0');
    await fill(page, 'Fails after, in seconds', '0.25');
    await fill(page, 'Replies to each message', 'Thank you{Enter}');
    await screen.findByText('not on the network');
    expect(page.writes.map(({ body }) => body)).toEqual([
      { onNetwork: false, deliverAfterMs: 0, readAfterMs: null, failAfterMs: 250, autoReply: 'Thank you' },
    ]);
    expect(screen.queryByRole('form', { name: 'Behavior' })).toBeNull();
  });

  it('says at the field what the server refuses', async () => {
    const page = await open({ [PUT]: invalid('failAfterMs', "'failAfterMs': must be a number.") });
    await fill(page, 'Fails after, in seconds', 'soon{Enter}');
    await screen.findByText("'failAfterMs': must be a number.");
    expect(screen.getByLabelText('Fails after, in seconds').getAttribute('aria-invalid')).toBe('true');
    expect(page.writes[0]?.body).toMatchObject({ failAfterMs: 'soon', autoReply: null });
  });
});

describe('the phone of a connection', () => {
  const PHONE = 'POST /sandbox/v1/connections/c1/phone';

  it('lists chats by contact, and reads older ones', async () => {
    const page = await openWorld('/phone/c1', [], {
      'GET /sandbox/v1/messages': ({ query }: Sent) =>
        query['cursor'] === undefined
          ? { entries: [stored('b', 20)], nextCursor: 'p2' }
          : { entries: [stored('a', 10, { peer: '447700900202', text: null, filename: 'a.pdf' })] },
    });
    await screen.findByRole('link', { name: /\+447700900201.*Text b/ });
    await page.user.click(await button('Show older chats'));
    await screen.findByRole('link', { name: /\+447700900202.*a\.pdf/ });
    expect(screen.queryByRole('button', { name: 'Show older chats' })).toBeNull();
  });

  it('is switched off and on', async () => {
    let phone = { on: true, blocked: [] as string[] };
    const page = await openWorld('/phone/c1', [], {
      'GET /sandbox/v1/connections/c1': () => ({ ...SHOWN_DESK, phone }),
      [PHONE]: ({ body }: Sent) => (phone = { ...phone, ...(body as object) }),
    });
    await page.user.click(await button('Switch off'));
    await screen.findByText('This phone is off');
    await page.user.click(await button('Switch on'));
    await screen.findByText('No chats yet');
    expect(page.writes.map(({ body }) => body)).toEqual([{ on: false }, { on: true }]);
    page.answer({ [PHONE]: new Refusal(500, 'internal_error', 'It failed.') });
    await page.user.click(await button('Switch off'));
    expect((await screen.findByRole('alert')).textContent).toContain('It failed.');
  });

  it('of the business platform has chats, and no code to scan', async () => {
    const cloud = { ...SHOWN_DESK, provider: 'cloud_api', status: 'disconnected', phone: null };
    await openWorld('/phone/c1', [stored('a', 10)], { 'GET /sandbox/v1/connections/c1': cloud });
    await screen.findByRole('link', { name: /\+447700900201.*Text a/ });
  });

  it('blocks a contact beside those that are blocked, and unblocks it', async () => {
    let phone = { on: true, blocked: ['447700900299'] };
    const page = await openWorld(`/phone/c1?with=${CONTACT}`, [stored('a', 10)], {
      'GET /sandbox/v1/connections/c1': () => ({ ...SHOWN_DESK, phone }),
      [PHONE]: ({ body }: Sent) => (phone = { ...phone, ...(body as object) }),
    });
    await page.user.click(await button('Block'));
    await screen.findByText(/This contact is blocked/);
    await page.user.click(await button('Unblock'));
    await button('Block');
    expect(page.writes.map(({ body }) => body)).toEqual([
      { blocked: ['447700900299', CONTACT] },
      { blocked: ['447700900299'] },
    ]);
    const links = ['inbox', 'its own phone'].map((name) =>
      screen.getByRole('link', { name }).getAttribute('href'),
    );
    expect(links).toEqual([`/inbox/c1~${CONTACT}`, `/phone/${CONTACT}?list=contacts&with=c1`]);
  });
});

describe('a phone that is not linked', () => {
  const QR = 'data:image/png;base64,AAAA';
  const unlinked = { ...SHOWN_DESK, phoneNumber: null, status: 'connecting' as const, phone: null };
  const link = (more: Answers): Answers =>
    world([], {
      'GET /sandbox/v1/connections/c1': unlinked,
      'GET /service/connections/c1': unpaired(QR),
      'GET /sandbox/v1/clock': { now: at(), frozen: true },
      ...more,
    });

  it('scans the code with a number of its own, and shows why an old code is refused', async () => {
    const expired = new Refusal(409, 'qr_expired', 'The QR code has expired; scan the newest one.');
    const page = await openPage('/phone/c1', link({ 'POST /sandbox/v1/connections/c1/scan': expired }));
    await screen.findByText('valid for 20 s');
    await page.user.type(screen.getByLabelText('Number of this phone'), '+44 7700-900161');
    page.answer({ 'GET /sandbox/v1/clock': { now: at(25), frozen: true } });
    page.hear({ type: 'clock', now: at(25), frozen: true });
    await screen.findByText('too old');
    await page.user.click(await button('Scan it anyway'));
    expect((await screen.findByRole('alert')).textContent).toContain('409 qr_expired');
    expect(page.writes).toMatchObject([{ body: { qr: QR, phoneNumber: '447700900161' } }]);
    page.answer({ 'GET /service/connections/c1': unpaired(`${QR}BBBB`) });
    await page.user.click(await button('Show next code'));
    await screen.findByText('valid for 20 s');
    expect(screen.getByAltText('QR code for pairing').getAttribute('src')).toBe(`${QR}BBBB`);
  });

  it('says what is wrong with a picture of a code, each time it is chosen', async () => {
    const page = await openPage('/phone/c1', link({}));
    const read = vi.fn(() => Promise.reject(new Error('no picture')));
    vi.stubGlobal('createImageBitmap', read);
    onTestFinished(() => void vi.unstubAllGlobals());
    const picture = new File(['abc'], 'code.png', { type: 'image/png' });
    for (const times of [1, 2]) {
      await page.user.upload(await screen.findByLabelText('Picture of a QR code'), picture);
      await screen.findByText(/^The file is not a picture/);
      await waitFor(() => expect(read).toHaveBeenCalledTimes(times));
    }
  });

  it('keeps the number that it had', async () => {
    const page = await openPage(
      '/phone/c1',
      link({
        'GET /sandbox/v1/connections/c1': { ...unlinked, phoneNumber: '447700900101' },
        'POST /sandbox/v1/connections/c1/scan': { ok: true },
      }),
    );
    await page.user.click(await button('Scan'));
    await waitFor(() => expect(page.writes.map(({ body }) => body)).toEqual([{ qr: QR }]));
    expect(screen.queryByLabelText('Number of this phone')).toBeNull();
  });

  it('types a pairing code', async () => {
    const expired = new Refusal(409, 'code_expired', 'No connection has this pairing code.');
    const page = await openPage('/phone/c1', link({ 'POST /sandbox/v1/connections/c1/enter-code': expired }));
    await page.user.type(await screen.findByRole('textbox', { name: 'Pairing code' }), 'AAAA-AAAA');
    await page.user.click(await button('Link with code'));
    await screen.findByText('No connection has this pairing code.');
    expect(page.writes).toMatchObject([{ body: { code: 'AAAA-AAAA' } }]);
  });

  it('asks for a restart if its session has ended', async () => {
    const page = await openPage(
      '/phone/c1',
      link({
        'GET /sandbox/v1/connections/c1': { ...unlinked, status: 'disconnected' },
        'POST /service/connections/c1/restart': new Refusal(500, 'internal_error'),
      }),
    );
    await page.user.click(await button('Restart connection'));
    await screen.findByText('The server failed. Its log says why.');
    expect(page.writes).toMatchObject([{ headers: { 'x-workspace-id': 'w1' } }]);
  });
});
