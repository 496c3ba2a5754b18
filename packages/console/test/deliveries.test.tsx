// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../src/contract/sandbox/deliveries.ts';
import { at, DELIVERY } from './answers.tsx';
import {
  type Answers,
  button,
  openPage,
  type Sent,
  saysWhyRefused,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

const ONE = '/sandbox/v1/deliveries/d1';

let stored: Delivery;
/** An answer with what the delivery has become. It is also what is read afterwards. */
const becomes = (delivery: Delivery) => () => {
  stored = delivery;
  return delivery;
};

/** Opens a delivery in a list of its own. */
const open = (delivery: Delivery = DELIVERY, answers: Answers = {}) => {
  stored = delivery;
  const list = () => ({ entries: [stored] });
  return openPage('/deliveries/d1?q=Hello', {
    'GET /sandbox/v1/deliveries': list,
    [`GET ${ONE}`]: () => stored,
    ...answers,
  });
};

const attempt = (seconds: number, changed: Partial<Delivery['attempts'][number]> = {}) => ({
  at: at(seconds),
  ms: 20,
  status: 200,
  ...changed,
});

describe('a delivery', () => {
  it('shows each attempt: what the receiver answered, why it failed and which fault caused it', async () => {
    await open({
      ...DELIVERY,
      outcome: 'dropped',
      attempts: [
        attempt(0, { status: 500, response: { headers: { server: 'nginx' }, body: '{"error":"full"}' } }),
        { at: at(1), ms: 0, error: 'dropped', faults: ['lost'] },
        attempt(60, { response: { headers: {}, body: 'short… (31816 more bytes)' } }),
        ...[61, 62, 63].map((seconds) => attempt(seconds)),
        { at: at(64), ms: 0 },
      ],
    });
    const attempts = await screen.findByRole('region', { name: 'Attempts' });
    const shown = within(attempts);
    expect(attempts.textContent).toContain('500 · 20 ms');
    expect(attempts.textContent).toContain('no answer · 0.0 ms');
    expect(attempts.textContent).toContain('dropped by the fault lost');
    expect(attempts.textContent).toContain('in flight · 0.0 ms');
    // The last six in the list.
    const dots = [...document.querySelectorAll('.dots i')].map(({ className }) => className);
    expect(dots).toEqual(['bad', 'good', 'good', 'good', 'good', 'open']);
    expect(screen.getAllByTitle(/^Attempt 2 at/)[0]?.style.width).toBe('0%');
    expect(attempts.textContent).toMatch(/Sent again at .*200 · 20 ms/);
    expect(shown.getByText('nginx')).toBeDefined();
    const answer = shown.getAllByRole('figure', { name: 'Response body' })[0] as HTMLElement;
    expect(answer.textContent).toContain('"error": "full"');
    expect(answer.closest('details')?.open).toBe(true);
    expect(shown.getByText('Response body · 5 bytes of 31,821; the rest was not kept')).toBeDefined();
    expect(screen.getByText('· 7 attempts', { exact: false })).toBeDefined();
  });

  it('is resent with r and Enter, after a question, and shows the new attempt', async () => {
    const page = await open(DELIVERY, {
      [`POST ${ONE}/resend`]: becomes({ ...DELIVERY, attempts: [attempt(0), attempt(60)] }),
    });
    await button('Resend');
    await page.press('r', 'Resend now');
    expect(page.writes).toEqual([]);
    await page.user.keyboard('{Enter}');
    await screen.findByText('· 2 attempts', { exact: false });
    expect(page.writes).toMatchObject([{ path: `${ONE}/resend`, body: {} }]);
    expect(screen.queryByRole('button', { name: 'Resend now' })).toBeNull();
  });

  it('is resent in other ways', async () => {
    const page = await open(DELIVERY, { [`POST ${ONE}/resend`]: DELIVERY });
    for (const [name, body] of [
      ['Sign again and send', { resign: true }],
      ['Send 5 copies', { times: 5 }],
      ['Tamper with the body', { tamper: 'body' }],
      ['Tamper with the signature', { tamper: 'signature' }],
      ['Tamper with the timestamp', { tamper: 'timestamp' }],
    ] as const) {
      await waitFor(async () => expect((await button('Resend')).getAttribute('aria-disabled')).toBe('false'));
      await page.user.click(await button('Resend as …'));
      await page.user.click(await button(name));
      await waitFor(() => expect(page.writes.at(-1)).toMatchObject({ path: `${ONE}/resend`, body }));
    }
    expect(page.writes).toHaveLength(5);
  });

  it('is resent with all that its filter finds, oldest first', async () => {
    const [newest, middle, oldest] = ['d3', 'd2', 'd1'].map((id) => ({ ...DELIVERY, id }));
    const page = await openPage('/deliveries?q=status:dropped', {
      'GET /sandbox/v1/deliveries': ({ query }: Sent) =>
        query['cursor'] === undefined
          ? { entries: [newest, middle], nextCursor: '2' }
          : { entries: [oldest] },
      'GET /sandbox/v1/deliveries/counts': { pending: 0, held: 0, delivered: 0, dropped: 3 },
      'POST /sandbox/v1/deliveries/{id}/resend': DELIVERY,
    });
    await page.user.click(await button('Resend all 3'));
    await page.user.click(screen.getAllByRole('button', { name: 'Resend all 3' }).at(-1) as HTMLElement);
    await screen.findByText('Done: 3 of 3');
    expect(page.writes.map(({ path }) => path.split('/').at(-2))).toEqual(['d1', 'd2', 'd3']);
  });

  it('is held while it is pending, and released', async () => {
    const pending: Delivery = { ...DELIVERY, outcome: 'pending', attempts: [] };
    const page = await open(pending, {
      [`POST ${ONE}/hold`]: becomes({ ...pending, held: true }),
      [`POST ${ONE}/release`]: becomes(pending),
    });
    await page.user.click(await button('Hold'));
    await page.user.click(await button('Release'));
    await button('Hold');
    expect(page.writes.map(({ path }) => path)).toEqual([`${ONE}/hold`, `${ONE}/release`]);
  });

  it('is edited with e; the copy has the new body and headers, opens, and is marked', async () => {
    const copy: Delivery = { ...DELIVERY, id: 'd2', copyOf: 'd1', body: '{"changed":true}' };
    const page = await open(DELIVERY, {
      [`POST ${ONE}/copies`]: copy,
      'GET /sandbox/v1/deliveries/d2': copy,
    });
    await button('Edit and send');
    await page.press('e', 'Body');
    await page.user.keyboard('{Escape}');
    expect(screen.queryByRole('form', { name: 'Edit and send' })).toBeNull();
    await page.press('e', 'Body');
    await page.user.clear(screen.getByLabelText('Body', { selector: 'textarea' }));
    await page.user.paste('{"changed":true}');
    await page.user.click(screen.getByLabelText(/^Headers to add/));
    await page.user.paste('X-Trace-Id: a:b\n\nX-Two:2');
    await page.user.click(screen.getByLabelText('Body', { selector: 'textarea' }));
    await page.user.keyboard('{Control>}{Enter}{/Control}');
    await screen.findByRole('link', { name: 'copy of d1' });
    expect(location.pathname + location.search).toBe('/deliveries/d2?q=Hello');
    expect(screen.getByRole('link', { name: 'copy of d1' }).getAttribute('href')).toBe(
      '/deliveries/d1?q=Hello',
    );
    expect(page.writes).toMatchObject([
      {
        path: `${ONE}/copies`,
        body: { body: '{"changed":true}', headers: { 'X-Trace-Id': 'a:b', 'X-Two': '2' } },
      },
    ]);
    expect(screen.getByRole('figure', { name: 'Body' }).textContent).toContain('"changed": true');
  });

  it('says why an action is refused', async () => {
    const page = await open({ ...DELIVERY, outcome: 'pending', attempts: [] });
    await page.user.click(await button('Edit and send'));
    await saysWhyRefused(page, [
      ['Resend', `POST ${ONE}/resend`],
      ['Hold', `POST ${ONE}/hold`],
      ['Sign and send', `POST ${ONE}/copies`],
    ]);
  });

  it.each([
    ['no_webhook', 'No webhook was set when the event happened.', 'No webhook was set'],
    ['interrupted', 'The service stopped before the last attempt.', 'POST to the webhook URL at that time'],
  ] as const)('says why it was dropped before its attempts: %s', async (reason, words, request) => {
    await open({ ...DELIVERY, outcome: 'dropped', reason, url: null, headers: {}, attempts: [] });
    await screen.findByText(words, { exact: false });
    const sent = screen.getByRole('region', { name: 'Request' });
    expect(sent.textContent).toContain(request);
    expect(screen.queryByRole('region', { name: 'Signature' })).toBeNull();
  });

  it('shows its body formatted, as it was sent, and byte by byte', async () => {
    const page = await open({ ...DELIVERY, body: '{"a":"é"}' });
    const body = within(await screen.findByRole('figure', { name: 'Body' }));
    expect(body.getByText('Body · 10 bytes')).toBeDefined();
    const text = () => screen.getByRole('figure', { name: 'Body' }).querySelector('pre')?.textContent;
    expect(text()).toBe('{\n  "a": "é"\n}');
    await page.user.click(body.getByRole('button', { name: 'raw' }));
    expect(text()).toBe('{"a":"é"}');
    await page.user.click(body.getByRole('button', { name: 'bytes' }));
    expect(text()).toBe('000000  7b 22 61 22 3a 22 c3 a9 22 7d                    {"a":"··"}');
  });

  it('leads to everything of its message, connection and journey', async () => {
    await open();
    const about = within(await screen.findByRole('region', { name: 'About' }));
    const to = (name: string) => about.getByRole('link', { name }).getAttribute('href');
    expect([to('m1'), to('c1'), to('Journey')]).toEqual([
      '/deliveries?q=message%3Am1',
      '/deliveries?q=connection%3Ac1',
      '/journey/m1',
    ]);
  });
});

describe('the list of deliveries', () => {
  it('says what became of each, and what it is about', async () => {
    const from = '447700900201';
    const connection = { phone_number: '447700900101', label: 'Front desk', reason: 'AUTH_LOST' };
    const bodies = [
      JSON.stringify({ message: { from, text: null, media_type: 'image/png' } }),
      JSON.stringify({ message: { status: 'read' } }),
      JSON.stringify({ connection }),
      'no JSON',
    ];
    const entries = bodies.map((body, place) => ({
      ...DELIVERY,
      id: String(place),
      body,
      ...(place === 0 ? { outcome: 'pending', held: true } : {}),
    }));
    await openPage('/deliveries', { 'GET /sandbox/v1/deliveries': { entries } });
    const list = within(await screen.findByRole('list', { name: 'Deliveries' }));
    await list.findByRole('link', { name: /no JSON/ });
    expect(list.getAllByRole('link', { name: /received/ }).map(({ textContent }) => textContent)).toEqual([
      expect.stringContaining('heldmessage.received+447700900201  image/png'),
      expect.stringContaining('deliveredmessage.receivedread'),
      expect.stringContaining('+447700900101  Front desk  AUTH_LOST'),
      expect.stringContaining('no JSON'),
    ]);
  });
});

describe('the signature of a delivery', () => {
  const EXPLAIN = `POST ${ONE}/explain-signature`;
  const panel = async () => within(await screen.findByRole('region', { name: 'Signature' }));

  it('shows the base string, and marks where another one begins to differ', async () => {
    const page = await open(DELIVERY, {
      [EXPLAIN]: {
        matches: false,
        expected: 'sha256=aa11',
        firstDifference: { index: 9, expected: '1', actual: '2' },
        cause: 'secret_missing',
        furtherCauses: ['other_body'],
        explanation: 'A plain hash was computed, without the secret.',
      },
    });
    const base = (await panel()).getByRole('figure', { name: 'Base string' });
    expect(base.textContent).toBe(`1768478400000.${DELIVERY.body}`);
    await page.user.keyboard('s');
    await page.user.keyboard(' sha256=aa22 {Enter}');
    await screen.findByText('A plain hash was computed, without the secret.');
    expect(page.writes).toMatchObject([{ body: { signature: 'sha256=aa22' } }]);
    const result = (await panel()).getAllByRole('status').at(-1) as HTMLElement;
    expect(result.textContent).toMatch(/^differssecret missingother body/);
    expect([...result.querySelectorAll('mark')].map(({ textContent }) => textContent)).toEqual(['1', '2']);
    expect(within(result).getByText('They differ from character 10 on.')).toBeDefined();
  });

  it('sends the timestamp and body that a server used, and shows where the bodies differ', async () => {
    const page = await open(DELIVERY, {
      [EXPLAIN]: {
        matches: true,
        expected: 'sha256=aa11',
        bodyDifference: { index: 9, expected: '"m', actual: ' "' },
        cause: 'uppercase_hex',
        explanation: 'It is written in upper case.',
      },
    });
    const form = await panel();
    await page.user.type(form.getByLabelText('Signature that your server computed'), 'SHA256=AA11');
    await page.user.type(form.getByLabelText('Timestamp'), ' 12 ');
    await page.user.click(form.getByLabelText('Body, as text'));
    await page.user.paste('{"event": 1}\n');
    await page.user.click(form.getByRole('button', { name: 'Explain' }));
    await form.findByText('matches');
    expect(page.writes).toMatchObject([
      { body: { signature: 'SHA256=AA11', timestamp: '12', body: '{"event": 1}\n' } },
    ]);
    expect(form.getByText('The bodies differ from byte 10 on:')).toBeDefined();
    expect(screen.queryByText(/verify a signature, and the mistakes/)).toBeNull();
  });
});
