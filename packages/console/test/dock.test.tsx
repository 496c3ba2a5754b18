// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../../src/contract/sandbox/faults.ts';
import { mergeDue } from '../src/screens/dock/due.ts';
import { PRESETS, readRule } from '../src/screens/dock/rules.ts';
import { at, DELIVERY, DESK, EMPTY } from './answers.tsx';
import {
  type Answers,
  button,
  hasFocus,
  invalid,
  openPage,
  openProduction,
  Refusal,
  region,
  type Sent,
  saysWhyRefused,
  screen,
  waitFor,
  within,
} from './open-page.tsx';

/** The faults of a sandbox, which calls arm and remove. */
function faults(...armed: readonly FaultRule[]): Answers & { readonly rules: () => readonly FaultRule[] } {
  let rules = armed;
  const answer = () => ({ seed: 1, rules });
  const answers = {
    'GET /sandbox/v1/faults': answer,
    'POST /sandbox/v1/faults': ({ body }: Sent) => {
      rules = [...rules, { ...(body as FaultRule), hits: 0 }];
      return answer();
    },
    'DELETE /sandbox/v1/faults': () => {
      rules = [];
      return answer();
    },
    'DELETE /sandbox/v1/faults/{id}': ({ path }: Sent) => {
      rules = rules.filter(({ id }) => !path.endsWith(`/${encodeURIComponent(id)}`));
      return answer();
    },
  };
  return Object.assign(answers, { rules: () => rules });
}
const HOSTILE = '<img src="x" onerror=alert(1)>';

describe('faults in the dock', () => {
  it('arm and remove each preset with the same button', async () => {
    const world = faults();
    const page = await openPage('/calls', world);
    await screen.findByText('live');
    await page.press('f', 'Lossy 10 %');
    const presets = await region('Presets');
    for (const { label, rules } of PRESETS) {
      const attribute = (name: string) => presets.getByRole('button', { name: label }).getAttribute(name);
      for (const ids of [rules.map(({ id }) => id), []]) {
        await page.user.click(presets.getByRole('button', { name: label }));
        await waitFor(() => expect(attribute('aria-pressed')).toBe(String(ids.length > 0)));
        expect(world.rules().map(({ id }) => id)).toEqual(ids);
        await waitFor(() => expect(attribute('aria-disabled')).toBe('false'));
      }
    }
  });

  it('show their hits, lead to what they hit, and are turned off one by one or together', async () => {
    const rule = (id: string, hits: number): FaultRule => ({
      id,
      match: { surface: 'webhook' },
      action: { type: 'drop' },
      hits,
    });
    const world = faults(rule('one', 1), rule(HOSTILE, 0), {
      ...rule('burst', 2),
      match: { surface: 'api', path: '/messages' },
      action: { type: 'status', code: 429 },
      first: 5,
      probability: 0.07,
    });
    const page = await openPage('/calls', world);
    await screen.findByText('3 armed');
    await page.user.keyboard('f');
    const armed = await region('Armed rules');
    // The preset has another rule of this name.
    expect((await button('429 burst')).getAttribute('aria-pressed')).toBe('false');
    const items = armed.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(items[0]).toBe('one1 hitShowOffWebhooks · drop');
    expect(items[2]).toBe(
      'burst2 hitsShowOffCalls to the API · /messages · status, code 429 · first 5 · 7 %',
    );
    const hrefs = armed.getAllByRole('link').map((each) => each.getAttribute('href'));
    expect(hrefs[0]).toBe('/deliveries?q=fault%3Aone');
    expect(new URLSearchParams(hrefs[1]?.split('?')[1]).get('q')).toBe(
      'fault:"<img src=""x"" onerror=alert(1)>"',
    );
    expect(hrefs[2]).toBe('/calls?q=fault%3Aburst');
    await page.user.click(armed.getByRole('button', { name: `Turn ${HOSTILE} off` }));
    await waitFor(() => expect(world.rules().map(({ id }) => id)).toEqual(['one', 'burst']));
    await page.user.click(await armed.findByRole('button', { name: 'All off' }));
    await armed.findByText(/^Nothing goes wrong\./);
    await hasFocus('Armed rules');
  });

  it('say why they could not be changed', async () => {
    const rule: FaultRule = { id: 'one', match: { surface: 'webhook' }, action: { type: 'drop' }, hits: 0 };
    const page = await openPage('/calls', faults(rule));
    await page.user.click(await button(/^Faults/));
    await saysWhyRefused(page, [
      ['Lossy 10 %', 'POST /sandbox/v1/faults'],
      ['All off', 'DELETE /sandbox/v1/faults'],
      ['Turn one off', 'DELETE /sandbox/v1/faults/{id}'],
    ]);
  });

  it('lose one event of ten by the preset that says so, with all of its attempts', async () => {
    const page = await openPage('/calls', faults());
    await page.user.click(await button(/^Faults/));
    await page.user.click(await button('Lossy 10 %'));
    await waitFor(() => expect(page.writes).toHaveLength(1));
    expect(page.writes[0]?.body).toMatchObject({
      match: { surface: 'webhook' },
      action: { type: 'drop' },
      probability: 0.1,
      per: 'event',
    });
  });

  it('take a rule of your own, with what is refused at its field, and give the focus back', async () => {
    const answers = faults();
    const page = await openPage('/deliveries', {
      ...answers,
      'GET /sandbox/v1/deliveries': { entries: [DELIVERY] },
      'POST /sandbox/v1/faults': invalid('match.connectionId', 'does not exist.'),
    });
    await screen.findByRole('link', { name: /Hello/ });
    await page.press('jf', 'Lossy 10 %');
    const form = within(screen.getByRole('form', { name: 'A rule of your own' }));
    await page.user.clear(form.getByLabelText('Id'));
    await page.user.type(form.getByLabelText('Id'), '7');
    await page.user.type(form.getByLabelText('Connection'), "o'body");
    await page.user.click(form.getByRole('button', { name: 'Copy as' }));
    await page.user.click(await form.findByRole('button', { name: 'curl' }));
    await form.findByText('curl copied');
    expect(await navigator.clipboard.readText()).toBe(
      String.raw`curl -s -X POST 'http://console.test/sandbox/v1/faults' \
  -H 'content-type: application/json' \
  -d '{"match":{"surface":"webhook","connectionId":"o'\''body"},"action":{"type":"drop"},"id":"7","per":"attempt"}'`,
    );
    await page.user.type(form.getByLabelText('Connection'), '{Enter}');
    const wrong = form.getByLabelText('Connection');
    await waitFor(() => expect(wrong.getAttribute('aria-invalid')).toBe('true'));
    expect(form.getByRole('alert').textContent).toBe('does not exist.');
    page.answer(answers);
    await page.user.clear(wrong);
    await page.user.selectOptions(form.getByLabelText('What happens'), 'duplicate');
    await page.user.type(form.getByLabelText('Extra copies'), '3');
    await page.user.selectOptions(form.getByLabelText('Drawn for each'), 'event');
    await page.user.type(form.getByLabelText('Only the first'), '1{Enter}');
    await screen.findByText('Webhooks · duplicate, times 3 · first 1 · all attempts of an event');
    expect(page.writes.map(({ body }) => body)).toEqual([
      {
        id: '7',
        match: { surface: 'webhook', connectionId: "o'body" },
        action: { type: 'drop' },
        per: 'attempt',
      },
      {
        id: '7',
        match: { surface: 'webhook' },
        action: { type: 'duplicate', times: 3 },
        first: 1,
        per: 'event',
      },
    ]);
    await page.press('{Escape}', /Hello/);
    expect(screen.queryByRole('region', { name: 'Presets' })).toBeNull();
    // It takes no focus that it does not have.
    await page.press('f', 'Lossy 10 %');
    screen.getByRole('button', { name: 'Help' }).focus();
    await page.press('f', 'Help');
  });

  it('have other fields for another surface', async () => {
    const page = await openPage('/calls', faults());
    await screen.findByText('live');
    await page.user.keyboard('f');
    const form = within(await screen.findByRole('form', { name: 'A rule of your own' }));
    await page.user.selectOptions(form.getByLabelText('Applies to'), 'Calls to the API');
    expect(form.queryByLabelText('Drawn for each')).toBeNull();
    await page.user.selectOptions(form.getByLabelText('What happens'), 'status');
    await page.user.type(form.getByLabelText('Status'), '503');
    await page.user.selectOptions(form.getByLabelText('Method'), 'POST');
    await page.user.click(form.getByRole('button', { name: 'Arm' }));
    await waitFor(() =>
      expect(page.writes.map(({ body }) => body)).toEqual([
        { id: 'my-rule', match: { surface: 'api', method: 'POST' }, action: { type: 'status', code: 503 } },
      ]),
    );
  });

  it('send no field that the form shows no more', async () => {
    const answers = { ...faults(), 'POST /sandbox/v1/faults': invalid('action.code', 'is required.') };
    const page = await openPage('/calls', answers);
    await screen.findByText('live');
    await page.user.keyboard('f');
    const form = within(await screen.findByRole('form', { name: 'A rule of your own' }));
    await page.user.selectOptions(form.getByLabelText('Applies to'), 'Calls to the API');
    await page.user.click(form.getByRole('button', { name: 'Arm' }));
    await screen.findByText('is required.');
    expect(page.writes.map(({ body }) => body)).toEqual([
      { id: 'my-rule', match: { surface: 'api' }, action: { type: 'status' } },
    ]);
  });

  it('are read from a form as the API expects them', () => {
    expect(
      readRule([
        ['id', '7'],
        ['match.surface', 'api'],
        ['match.path', '/messages'],
        ['match.method', ''],
        ['action.type', 'status'],
        ['action.code', '429'],
        ['action.error', 'rate_limited'],
        ['probability', '0.5'],
        ['first', 'two'],
      ]),
    ).toEqual({
      id: '7',
      match: { surface: 'api', path: '/messages' },
      action: { type: 'status', code: 429, error: 'rate_limited' },
      probability: 0.5,
      first: 'two',
    });
  });
});

describe('time in the dock', () => {
  const ADVANCE = 'POST /sandbox/v1/clock/advance';
  const SAVE = 'POST /sandbox/v1/snapshots';
  const BEFORE = 'before the last advance';
  const saved = { path: '/sandbox/v1/snapshots', body: { label: BEFORE } };
  const world = (more: Answers = {}): Answers => ({
    'GET /sandbox/v1/clock': { now: at(), frozen: true },
    'GET /sandbox/v1/connections': { entries: [{ ...DESK, licenseExpires: at(86_400) }] },
    'GET /sandbox/v1/clock/due': ({ query }: Sent) => {
      const entries = [{ at: at(1_800), what: 'receipt.read', id: 'm1' }].filter(
        ({ at: due }) => due <= (query['until'] ?? '9'),
      );
      return { entries, total: entries.length };
    },
    [ADVANCE]: { now: at(60), fired: [] },
    [SAVE]: { id: 's1', label: BEFORE, now: at() },
    ...more,
  });
  const open = async (more: Answers = {}, refreshes = true) => {
    const page = await openPage('/calls', world(more), { refreshes });
    await screen.findByText('live');
    await page.press('t', 'Run');
    return page;
  };
  const ahead = () => region('What happens');

  it('is frozen and runs', async () => {
    const page = await open({ 'POST /sandbox/v1/clock/run': { now: at(), frozen: false } }, false);
    await ahead();
    const before = page.reads.length;
    page.hear({ type: 'clock', now: at(), frozen: true });
    await waitFor(() =>
      expect(page.reads.slice(before).map(({ path }) => path)).toContain('/sandbox/v1/clock/due'),
    );
    page.answer({ 'GET /sandbox/v1/clock': { now: at(), frozen: false } });
    await page.user.click(await button('Run'));
    await button('Freeze');
    await screen.findByText('Time runs as fast as real time.');
    expect(page.writes).toMatchObject([{ path: '/sandbox/v1/clock/run' }]);
  });

  it('is advanced by each of the steps', async () => {
    const page = await open();
    for (const [name, ms] of [
      ['20 s', 20_000],
      ['15 min', 900_000],
      ['1 h', 3_600_000],
      ['72 h', 259_200_000],
      ['7 d', 604_800_000],
      ['30 d', 2_592_000_000],
    ] as const) {
      await page.user.click(await button(name));
      await waitFor(() => expect(page.writes.slice(-2)).toMatchObject([saved, { body: { ms } }]));
      await screen.findByText(/^It is 2026-01-15 12:01:00 now\. No timer was due\.$/);
      await waitFor(async () => expect((await button(name)).getAttribute('aria-disabled')).toBe('false'));
    }
    // Before each, the state is saved.
    expect(page.writes).toHaveLength(12);
  });

  it('shows the first eight things that happen, and counts the rest, ends of licenses too', async () => {
    const entries = Array.from({ length: 8 }, () => ({ at: at(60), what: 'receipt.read', id: 'm1' }));
    await open({ 'GET /sandbox/v1/clock/due': { entries, total: 20 } });
    await (await ahead()).findByText('and 13 more');
  });

  it('shows what an advance would fire while it is aimed at, and what it has fired', async () => {
    const held = Promise.withResolvers<object>();
    const page = await open({ [ADVANCE]: () => held.promise });
    await (await ahead()).findByText('The license of +447700900101 ends');
    await page.user.hover(await button('15 min'));
    await (await ahead()).findByText('Nothing is due by then.');
    await page.user.hover(await button('1 h'));
    await (await ahead()).findByText('A message is read');
    expect((await ahead()).queryByText(/The license/)).toBeNull();
    await page.user.hover(await button('Run'));
    await (await ahead()).findByRole('heading', { name: 'What happens next' });
    (await button('72 h')).focus();
    await (await ahead()).findByText('The license of +447700900101 ends');
    await page.user.keyboard('{Enter}');
    await screen.findByRole('progressbar', { name: 'Advancing' });
    const fired = [{ at: at(), what: 'receipt.read', id: 'm1' }];
    held.resolve({ now: at(60), fired: [...fired, ...fired, { at: at(), what: 'contact.reply', id: 'x' }] });
    await screen.findByText(/now\. 2 × A message is read, A contact replies\.$/);
    expect(screen.queryByRole('progressbar')).toBeNull();
  });

  it.each([
    [1_800, { to: at(1_800) }],
    // The server takes no time of the past.
    [-5, { ms: 0 }],
  ])('is advanced to the next event, which is due at %i s', async (seconds, body) => {
    const entries = [{ at: at(seconds), what: 'receipt.read', id: 'm1' }];
    const page = await open({ 'GET /sandbox/v1/clock/due': { entries, total: 1 } });
    const next = await button('To the next event');
    await waitFor(() => expect(next.getAttribute('aria-disabled')).toBe('false'));
    await page.user.click(next);
    await waitFor(() => expect(page.writes).toMatchObject([saved, { body }]));
  });

  it('is advanced by a time of your own, and says at its field what is wrong with one', async () => {
    const page = await open({ [ADVANCE]: invalid('to', "'to' is in the past.") });
    const field = screen.getByLabelText('Another duration, or the time to advance to');
    await page.user.type(field, 'soon{Enter}');
    expect((await screen.findByRole('alert')).textContent).toMatch(
      /^This is not a time: write 500ms, 30s, 5m/,
    );
    expect(page.writes).toEqual([]);
    await page.user.clear(field);
    expect(screen.queryByRole('alert')).toBeNull();
    // Later than any date that there is.
    await page.user.type(field, '99999999d');
    await (await ahead()).findByRole('heading', { name: 'What happens next' });
    await page.user.clear(field);
    await page.user.type(field, '2020-01-01T00:00:00Z{Enter}');
    await screen.findByText("'to' is in the past.");
    expect(field.getAttribute('aria-invalid')).toBe('true');
    page.answer({ [ADVANCE]: { now: at(60), fired: [] } });
    await page.user.clear(field);
    await page.user.type(field, '2d{Enter}');
    await screen.findByText(/No timer was due/);
    expect(page.writes.at(-1)?.body).toEqual({ ms: 172_800_000 });
    expect((field as HTMLInputElement).value).toBe('');
    await page.user.keyboard('{Escape}');
    await waitFor(() => expect(screen.queryByRole('region', { name: 'Virtual time' })).toBeNull());
  });

  it('is taken back after a question: what was saved before the advance is restored and removed', async () => {
    const [old, last] = ['s0', 's1'].map((id) => ({ id, label: BEFORE, now: at() }));
    const other = { id: 's2', label: 'Clean', now: at() };
    let entries = [other, old];
    const page = await open({
      'GET /sandbox/v1/snapshots': () => ({ entries }),
      'DELETE /sandbox/v1/snapshots/{id}': ({ path }: Sent) => {
        entries = entries.filter((each) => !path.endsWith(`/${each?.id}`));
        return { ok: true };
      },
      [SAVE]: () => {
        entries = [...entries, last];
        return last as object;
      },
      'POST /sandbox/v1/snapshots/s1/restore': last as object,
    });
    await page.user.click(await button('1 h'));
    await screen.findByText(/No timer was due/);
    expect(entries).toEqual([other, last]);
    await page.user.click(await button('Undo'));
    await screen.findByText(
      /^It is 2026-01-15 12:00:00 virtual time again\. .* is lost: messages, deliveries/,
    );
    await page.user.click(screen.getAllByRole('button', { name: 'Undo' })[1] as HTMLElement);
    await screen.findByText('Undone. It is 2026-01-15 12:00:00 again.');
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull());
    expect(entries).toEqual([other]);
    page.answer({
      'POST /sandbox/v1/snapshots/s1/restore': new Refusal(500, 'internal_error', 'It failed.'),
    });
    await page.user.click(await button('1 h'));
    await screen.findByText(/No timer was due/);
    await page.user.click(await button('Undo'));
    await page.user.click(screen.getAllByRole('button', { name: 'Undo' })[1] as HTMLElement);
    expect((await screen.findByRole('alert')).textContent).toContain('It failed.');
  });

  it('is not advanced while what it would lose cannot be saved, unless that is not wanted', async () => {
    const page = await open({
      [SAVE]: new Refusal(409, 'wrong_state', 'A delivery is held: release it first.'),
    });
    await page.user.click(await button('1 h'));
    await screen.findByText('A delivery is held: release it first.');
    await page.user.click(screen.getByRole('checkbox', { name: /to undo an advance/ }));
    await page.user.click(await button('1 h'));
    await screen.findByText(/No timer was due/);
    expect(page.writes).toMatchObject([saved, { path: '/sandbox/v1/clock/advance' }]);
  });

  it('lists timers and license expiries in order', () => {
    const hour = (of: number): string => `2026-01-15T${String(of).padStart(2, '0')}:00:00.000Z`;
    const connections = [
      { ...DESK, licenseExpires: hour(11) },
      { ...DESK, licenseExpires: hour(9), phoneNumber: '447700900102' },
      { ...DESK, licenseExpires: null, phoneNumber: '447700900103' },
      { ...DESK, licenseExpires: hour(20), phoneNumber: '447700900104' },
      { ...DESK, licenseExpires: hour(13), phoneNumber: null },
    ];
    const timers = [{ at: hour(12), what: 'receipt.read', id: '1' }];
    expect(mergeDue(timers, connections, Date.parse(hour(10)), Date.parse(hour(13)))).toEqual([
      { at: Date.parse(hour(11)), what: 'The license of +447700900101 ends' },
      { at: Date.parse(hour(12)), what: 'A message is read' },
      // It has not been paired.
      { at: Date.parse(hour(13)), what: 'The license of Front desk ends' },
    ]);
  });
});

describe('the state in the dock', () => {
  const CLEAN = { id: 's1', label: 'clean', now: at() };

  /** A sandbox that deletes its deliveries when it is reset, and has them again when it is restored. */
  const open = async (more: Answers = {}) => {
    let entries = [DELIVERY];
    const become = (next: typeof entries, answer: object) => () => {
      entries = next;
      return answer;
    };
    const page = await openPage(
      '/deliveries',
      {
        'GET /sandbox/v1/deliveries': () => ({ entries }),
        'GET /sandbox/v1/snapshots': { entries: [CLEAN] },
        'POST /sandbox/v1/reset': become([], EMPTY['GET /sandbox/v1/info']),
        'POST /sandbox/v1/snapshots/s1/restore': become([DELIVERY], CLEAN),
        ...more,
      },
      { refreshes: false },
    );
    await screen.findByRole('link', { name: /Hello/ });
    // A list through which one moves is paused, and keeps its rows.
    await page.press('jb', 'Name');
    return page;
  };

  it('is saved by keyboard under a name, and says at the field what is refused', async () => {
    const page = await open({ 'POST /sandbox/v1/snapshots': invalid('label', 'is too long.') });
    await page.user.keyboard('ready{Enter}');
    await screen.findByText('is too long.');
    page.answer({ 'POST /sandbox/v1/snapshots': CLEAN });
    await page.user.clear(screen.getByLabelText('Name'));
    await page.user.keyboard('{Enter}');
    await waitFor(() => expect(page.writes.map(({ body }) => body)).toEqual([{ label: 'ready' }, {}]));
  });

  it('is reset and restored, each after one question, and the list shows what is left', async () => {
    const page = await open();
    await page.user.click(await button('Reset the sandbox'));
    await screen.findByText(/^Everything but the saved states is lost: workspaces, keys/);
    expect(page.writes).toEqual([]);
    await page.user.click(screen.getAllByRole('button', { name: 'Reset the sandbox' })[1] as HTMLElement);
    await screen.findByText(/^Reset\. The API key is another one/);
    await screen.findByText('Nothing was delivered yet');
    await page.user.click(await button('Restore'));
    await screen.findByText(/^It is 2026-01-15 12:00:00 virtual time again\. Everything since then is lost/);
    await page.user.click(screen.getAllByRole('button', { name: 'Restore' })[1] as HTMLElement);
    await screen.findByText('Restored: clean. It is 2026-01-15 12:00:00 virtual time again.');
    await screen.findByRole('link', { name: /Hello/ });
    expect(page.text()).not.toContain('msk_secret');
  });

  it('is listed newest first, and removed by name', async () => {
    let entries = [CLEAN, { ...CLEAN, id: 's2', label: null }];
    const page = await open({
      'GET /sandbox/v1/snapshots': () => ({ entries }),
      'DELETE /sandbox/v1/snapshots/s1': new Refusal(500, 'internal_error', 'It failed.'),
    });
    const names = () =>
      screen.getAllByRole('button', { name: /^Remove/ }).map(({ textContent }) => textContent);
    const remove = await button('Remove clean');
    expect(names()).toEqual(['Remove s2', 'Remove clean']);
    await page.user.click(remove);
    expect((await screen.findByRole('alert')).textContent).toContain('It failed.');
    page.answer({
      'DELETE /sandbox/v1/snapshots/s1': () => {
        entries = entries.slice(1);
        return { ok: true };
      },
    });
    await page.user.click(await button('Remove clean'));
    await waitFor(() => expect(names()).toEqual(['Remove s2']));
    expect(page.writes.map(({ path }) => path)).toEqual(Array(2).fill('/sandbox/v1/snapshots/s1'));
  });
});

describe('the dock', () => {
  it('is missing in production, with its keys', async () => {
    const page = await openProduction('/sync', {});
    await screen.findByText('live');
    await page.user.keyboard('tfb');
    expect(screen.queryByRole('complementary')).toBeNull();
  });

  it('offers the run as a scenario', async () => {
    const page = await openPage('/calls', { 'GET /sandbox/v1/clock/due': { entries: [], total: 0 } });
    await page.user.click(await button(/^Time/));
    const link = await screen.findByRole('link', { name: 'Save a scenario' });
    expect([link.getAttribute('href'), link.hasAttribute('download')]).toEqual(['/scenario.jsonl', true]);
  });
});
