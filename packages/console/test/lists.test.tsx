// @vitest-environment happy-dom
import { fireEvent } from '@testing-library/dom';
import { describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../../src/contract/sandbox/deliveries.ts';
import { at, CALL, DELIVERY, DESK, STORED } from './answers.tsx';
import { hasFocus, invalid, openPage, type Page, type Sent, screen, waitFor, within } from './open-page.tsx';

/** A delivery of a message with this text. */
const row = (id: number, text = `Text ${id}`): Delivery => ({
  ...DELIVERY,
  id: String(id),
  createdAt: at(id),
  messageId: `m${id}`,
  body: JSON.stringify({ message: { from: '447700900201', text } }),
});
const rows = (from: number, to: number): readonly Delivery[] =>
  Array.from({ length: from - to + 1 }, (_, place) => row(from - place));

const CONTACT = {
  phone: '447700900201',
  onNetwork: true,
  deliverAfterMs: 300,
  readAfterMs: null,
  failAfterMs: null,
  autoReply: null,
};

const LIST = 'GET /sandbox/v1/deliveries';
const link = (text: string | RegExp) => screen.findByRole('link', { name: new RegExp(text) });
const filter = () => screen.findByRole<HTMLInputElement>('combobox', { name: 'Filter' });
const scroller = () =>
  screen.getByRole('region', { name: 'Deliveries' }).querySelector('.table-body') as Element;
const listReads = (page: Page): readonly Sent['query'][] =>
  page.reads.filter(({ path }) => path === '/sandbox/v1/deliveries').map(({ query }) => query);

describe('a list', () => {
  /** 250 rows in pages of 100. */
  const paged = ({ query }: Sent) => {
    const newest = Number(query['cursor'] ?? 250);
    return {
      entries: rows(newest, Math.max(1, newest - 99)),
      ...(newest > 100 ? { nextCursor: String(newest - 100) } : {}),
    };
  };

  it('reads older rows as it is scrolled, to the last one, and draws only those in view', async () => {
    const page = await openPage('/deliveries', { [LIST]: paged });
    await link('Text 250');
    expect(screen.queryByRole('link', { name: /Text 160/ })).toBeNull();
    const cursors = () => listReads(page).flatMap(({ cursor }) => cursor ?? []);
    expect(cursors()).toEqual([]);
    for (const [top, text] of [
      [2_900, 'Text 165'],
      [6_300, 'Text 65'],
      [8_300, 'Text 6'],
    ] as const) {
      fireEvent.scroll(scroller(), { target: { scrollTop: top } });
      await link(`${text} `);
    }
    expect(cursors()).toEqual(['150', '50']);
    expect(screen.getAllByRole('listitem').length).toBeLessThan(60);
    // The lists of the last six filters are kept, each where it was scrolled to.
    for (const q of ['a', 'b', 'c', 'd', 'e', '', 'f']) {
      history.pushState(null, '', `/deliveries?q=${q}`);
      await waitFor(() => expect(listReads(page).at(-1)?.['q'] ?? '').toBe(q));
    }
    history.pushState(null, '', '/calls');
    await screen.findByRole('region', { name: 'Calls' });
    history.pushState(null, '', '/deliveries');
    await link('Text 6 ');
  });

  it.each([
    ['/connections?', 'connections', DESK],
    ['/calls?', 'calls', CALL],
    ['/phone?', 'connections', DESK],
    ['/phone?list=contacts&', 'contacts', CONTACT],
    ['/journey?', 'messages', STORED],
  ] as const)('is read on where its page ends, with its filter: %s', async (path, name, row) => {
    const api = `/sandbox/v1/${name}`;
    // A list that begins again and again would have no end.
    let left = 9;
    const page = await openPage(`${path}q=late`, {
      [`GET ${api}`]: ({ query }: Sent) => {
        if (query['q'] !== 'late') return { entries: [] };
        left -= 1;
        return left > 0 && query['cursor'] === undefined
          ? { entries: [row], nextCursor: '2' }
          : { entries: [row] };
      },
    });
    const asked = { q: 'late', cursor: '2', limit: expect.any(String) };
    await waitFor(() =>
      expect(page.reads.filter((each) => each.path === api).map(({ query }) => query)).toContainEqual(
        expect.objectContaining(asked),
      ),
    );
  });

  it('takes over a row that an event carries, without reading the list again', async () => {
    const answers = { [LIST]: { entries: [row(1)] } };
    const page = await openPage('/deliveries', answers, { refreshes: false });
    await link('delivered.*Text 1');
    // When the stream opens, a list that was read before is read again, at most twice.
    await screen.findByText('live');
    const counts: number[] = [];
    await vi.waitUntil(() => counts.push(listReads(page).length) > 1 && counts.at(-1) === counts.at(-2), {
      interval: 500,
      timeout: 10_000,
    });
    page.hear({ type: 'delivery', entry: row(2) });
    await link('Text 2');
    page.hear({ type: 'delivery', entry: { ...row(1), outcome: 'dropped' } });
    await link('dropped.*Text 1');
    const shown = within(screen.getByRole('list', { name: 'Deliveries' })).getAllByRole('link', {
      name: /Text/,
    });
    expect(shown.map((each) => /Text \d/.exec(each.textContent ?? '')?.[0])).toEqual(['Text 2', 'Text 1']);
    expect(listReads(page)).toHaveLength(counts.at(-1) ?? 0);
  });

  it('asks the server whether a row matches the filter, and again when everything may have changed', async () => {
    const page = await openPage('/deliveries?q=status:dropped', { [LIST]: { entries: [row(1)] } });
    await link('Text 1');
    page.hear({ type: 'delivery', entry: row(2) });
    await waitFor(() => expect(listReads(page)).toHaveLength(2));
    expect(screen.queryByRole('link', { name: /Text 2/ })).toBeNull();
    page.answer({ [LIST]: { entries: [row(3)] } });
    page.hear({ type: 'changed', what: 'everything' });
    await link('Text 3');
    expect(screen.queryByRole('link', { name: /Text 1/ })).toBeNull();
    expect(listReads(page).every(({ q }) => q === 'status:dropped')).toBe(true);
  });

  it('is paused by scrolling: new rows wait until they are asked for', async () => {
    let newest = 50;
    const page = await openPage('/deliveries', { [LIST]: () => ({ entries: rows(newest, 1) }) });
    const add = (): void => {
      newest += 1;
      page.hear({ type: 'delivery', entry: row(newest) });
    };
    await link('Text 50');
    fireEvent.scroll(scroller(), { target: { scrollTop: 20 } });
    add();
    await link('Text 51');
    fireEvent.scroll(scroller(), { target: { scrollTop: 100 } });
    add();
    const pill = await screen.findByRole('button', { name: /1 new/ });
    expect(screen.queryByRole('link', { name: /Text 52/ })).toBeNull();
    await page.user.click(pill);
    await link('Text 52');
    expect(screen.queryByRole('button', { name: /new/ })).toBeNull();
  });

  it('is paused and continued with n, and by an open row', async () => {
    const page = await openPage('/deliveries', {
      [LIST]: { entries: [row(1)] },
      'GET /sandbox/v1/deliveries/1': row(1),
    });
    await link('Text 1');
    await page.user.keyboard('n');
    page.hear({ type: 'delivery', entry: row(2) });
    await screen.findByRole('button', { name: /1 new/ });
    await page.user.keyboard('n');
    await page.user.click(await link('Text 1'));
    page.hear({ type: 'delivery', entry: row(3) });
    await screen.findByRole('button', { name: /1 new/ });
  });

  it('is moved through with j and k; Enter opens a row, and Esc returns to it', async () => {
    const page = await openPage('/deliveries', {
      [LIST]: { entries: rows(3, 1) },
      'GET /sandbox/v1/deliveries/2': row(2),
    });
    await link('Text 3');
    await page.press('j', /Text 3/);
    await page.press('jjj', /Text 1/);
    await page.user.keyboard('k{Enter}');
    await screen.findByRole('heading', { name: 'message.received' });
    expect(location.pathname).toBe('/deliveries/2');
    expect((await link('Text 2')).getAttribute('aria-current')).toBe('page');
    screen.getByRole('button', { name: 'Resend' }).focus();
    await page.user.keyboard('{Escape}');
    await waitFor(() => expect(location.pathname).toBe('/deliveries'));
    await hasFocus(/Text 2/);
  });

  it('says how many rows there are to a screen reader once that is known', async () => {
    await openPage('/deliveries', { [LIST]: paged });
    const [first] = await within(await screen.findByRole('list', { name: 'Deliveries' })).findAllByRole(
      'listitem',
    );
    expect(['aria-setsize', 'aria-posinset'].map((name) => first?.getAttribute(name))).toEqual(['-1', '1']);
  });

  it('says what to do if it is empty, and what to change if nothing matches', async () => {
    const page = await openPage('/deliveries');
    await screen.findByRole('heading', { name: 'Nothing was delivered yet' });
    await page.user.type(await filter(), 'nothing{Enter}');
    await screen.findByRole('heading', { name: 'No delivery matches' });
  });
});

describe('the filter of a list', () => {
  it('is reached with q, and is applied without the spaces around it', async () => {
    const page = await openPage('/deliveries');
    const input = await filter();
    await page.press('q', 'Filter');
    await page.user.keyboard('  late reply  {Enter}');
    await waitFor(() => expect(location.search).toBe('?q=late+reply'));
    await waitFor(() => expect(listReads(page).at(-1)).toMatchObject({ q: 'late reply' }));
    expect(input.value).toBe('late reply');
    await page.user.clear(input);
    await page.user.keyboard('   {Enter}');
    await waitFor(() => expect(location.search).toBe(''));
  });

  it('completes a negated key and its value, and keeps the sign', async () => {
    const page = await openPage('/deliveries');
    const input = await filter();
    await page.user.type(input, 'hello !sta');
    expect(screen.getAllByRole('option').map(({ textContent }) => textContent)).toEqual(['!status:outcome']);
    await page.user.keyboard('{ArrowDown}{Tab}');
    expect(input.value).toBe('hello !status:');
    await hasFocus('Filter');
    expect(location.search).toBe('');
    await page.user.keyboard('d{ArrowDown}{ArrowDown}{Enter}');
    await waitFor(() => expect(new URLSearchParams(location.search).get('q')).toBe('hello !status:dropped'));
  });

  it('offers keys and values as they are typed, and takes the one that is chosen with the pointer', async () => {
    const page = await openPage('/deliveries');
    const input = await filter();
    await page.user.click(input);
    expect(screen.getAllByRole('option').map(({ textContent }) => textContent)).toContain(
      'message:id of a message',
    );
    await page.user.keyboard('reason:');
    const options = screen.getAllByRole('option');
    expect(options.map(({ textContent }) => textContent)).toEqual([
      'reason:no_webhook',
      'reason:interrupted',
    ]);
    expect(input.getAttribute('aria-expanded')).toBe('true');
    await page.user.keyboard('{ArrowUp}');
    expect(input.getAttribute('aria-activedescendant')).toBe(options[1]?.id);
    expect(options[1]?.getAttribute('aria-selected')).toBe('true');
    await page.user.click(options[0] as HTMLElement);
    await waitFor(() => expect(location.search).toBe('?q=reason%3Ano_webhook'));
    expect(input.getAttribute('aria-expanded')).toBe('false');
  });

  it('closes its hints with Esc, then restores what is applied, then is left', async () => {
    const page = await openPage('/deliveries?q=status:dropped');
    const input = await filter();
    await page.user.clear(input);
    await page.user.type(input, 'ty');
    await page.user.keyboard('{Escape}');
    expect([input.value, input.getAttribute('aria-expanded')]).toEqual(['ty', 'false']);
    await page.user.keyboard('{Escape}');
    expect(input.value).toBe('status:dropped');
    await page.user.keyboard('{Escape}');
    expect(document.activeElement?.tagName).toBe('BODY');
    await page.user.click(screen.getByRole('button', { name: 'Clear the filter' }));
    await waitFor(() => expect(location.search).toBe(''));
  });

  it('shows in its place, once, why the server refuses it', async () => {
    const words = '`colour:red` has an unknown key; the keys are status, type';
    const page = await openPage('/deliveries?q=colour:red', { [LIST]: () => invalid('q', words) });
    const input = await filter();
    expect((await screen.findByRole('alert')).textContent).toBe(words);
    expect(input.getAttribute('aria-invalid')).toBe('true');
    expect(page.text().split(words)).toHaveLength(2);
  });

  it('keeps a number of the address as text', async () => {
    const page = await openPage('/calls?q=401');
    expect((await filter()).value).toBe('401');
    await waitFor(() =>
      expect(page.reads.find(({ path }) => path === '/sandbox/v1/calls')?.query).toEqual({
        q: '401',
        limit: '100',
      }),
    );
  });
});
