import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { mergeDue } from '../../src/console/screens/dock/due.ts';
import { readRule } from '../../src/console/screens/dock/rules.ts';
import { readScenario } from '../../src/scenario/scenario.ts';
import { expectAccessible, openPage } from '../support/chromium.ts';
import { KEYBOARD, tabTo } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

afterEach(async () => {
  await test.client.clearFaults();
  await test.sandbox('POST', '/clock/run');
});

const rules = async (): Promise<{ id: string; hits: number }[]> =>
  (await test.sandbox<{ rules: { id: string; hits: number }[] }>('GET', '/faults')).rules;

/** What the browser logs for a call that the server refuses. */
const REFUSED = 'Failed to load resource: the server responded with a status of 400 (Bad Request)';

/** An id that contains markup and must be quoted in a filter. */
const OWN = '<img src="x" onerror=alert(1)>';

const open = async (path: string, options: Parameters<typeof openPage>[1] = {}) => {
  const opened = await openPage(url(path), options);
  await opened.page.getByText('live', { exact: true }).waitFor();
  return opened;
};

describe('Faults in the dock', () => {
  it('arms a preset, whose hits link to the affected deliveries, by keyboard alone', async () => {
    const { page, complaints } = await open('/deliveries');
    await page.keyboard.press('f');
    const presets = page.getByRole('region', { name: 'Presets' });
    await KEYBOARD.press(presets.getByRole('button', { name: 'Duplicate storm' }));
    const armed = page.getByRole('region', { name: 'Armed rules' });
    await armed.getByText('0 hits').waitFor();
    await test.client.write(await test.client.qrConnection(), 'Six times');
    await armed.getByText('1 hit', { exact: true }).waitFor();
    expect(await presets.getByRole('button', { name: 'Duplicate storm' }).getAttribute('aria-pressed')).toBe(
      'true',
    );

    await KEYBOARD.press(armed.getByRole('link', { name: 'Show what duplicates has hit' }));
    await page.waitForURL('**/deliveries?q=fault%3Aduplicates');
    await page.getByRole('link', { name: /message\.received.*Six times/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByText('by the fault duplicates').first().waitFor();

    await KEYBOARD.press(presets.getByRole('button', { name: 'Outage' }));
    await armed.getByText('outage-webhooks').waitFor();
    await KEYBOARD.press(armed.getByRole('button', { name: 'Turn outage-calls off' }));
    await armed.getByText('outage-calls').waitFor({ state: 'detached' });
    expect((await rules()).map(({ id, hits }) => [id, hits])).toEqual([
      ['duplicates', 1],
      ['outage-webhooks', 0],
    ]);
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('Armed rules');
    await KEYBOARD.press(armed.getByRole('button', { name: 'All off' }));
    await armed.getByText('Nothing goes wrong.', { exact: false }).waitFor();
    expect(await rules()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('arms a custom rule, with errors at their fields, by keyboard alone', async () => {
    const { page, complaints } = await open('/deliveries');
    await test.client.write(await test.client.qrConnection(), 'Before the fault');
    await page.getByRole('link', { name: /Before the fault/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('f');
    await expect.poll(() => page.locator(':focus').textContent()).toBe('Lossy 10 %');

    const field = page.locator(':focus');
    await KEYBOARD.write(page.locator('[name="id"]'), OWN);
    await KEYBOARD.write(page.locator('[name="match.connectionId"]'), 'nobody');
    await page.keyboard.press('Enter');
    const wrong = page.getByRole('alert');
    await wrong.getByText("'match.connectionId': does not exist.").waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.press('Delete');
    await KEYBOARD.write(page.locator('[name="first"]'), '1');
    await page.keyboard.press('Enter');
    await page.getByText('Webhooks · drop · first 1').waitFor();

    await test.client.write(await test.client.qrConnection(), 'After the fault');
    await page.getByText('1 hit', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator(':focus').getAttribute('class')).toBe('row');
    expect(await page.getByRole('region', { name: 'Presets' }).count()).toBe(0);

    await page.keyboard.press('f');
    await KEYBOARD.press(page.getByRole('link', { name: `Show what ${OWN} has hit` }));
    await page.getByRole('link', { name: /After the fault/ }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: /Before the fault/ }).count()).toBe(0);
    await KEYBOARD.press(page.getByRole('button', { name: `Turn ${OWN} off` }));
    await page.getByText('Nothing goes wrong.', { exact: false }).waitFor();
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('Armed rules');
    expect(complaints).toEqual([REFUSED]);
  });

  it('has presets that the server accepts, each turned off with the button that armed it', async () => {
    const { page, complaints } = await open('/calls');
    await page.keyboard.press('f');
    for (const name of ['Lossy 10 %', 'Reorder', 'Slow webhooks', 'Outage', '429 burst']) {
      const preset = page.getByRole('button', { name, exact: true });
      await preset.click();
      await expect.poll(() => preset.getAttribute('aria-pressed')).toBe('true');
      await preset.click();
      await expect.poll(() => preset.getAttribute('aria-pressed')).toBe('false');
    }
    expect(await rules()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('reads the form as the API expects it', () => {
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

describe('Time in the dock', () => {
  /** Makes the license of a number a trial that ends an hour from now, in virtual time. */
  const endLicenseSoon = async (): Promise<string> => {
    const { entries } = await test.sandbox<{ entries: { id: string }[] }>(
      'GET',
      '/connections?q=phone:447700900103',
    );
    const id = entries[0]?.id ?? '';
    const { now } = await test.sandbox<{ now: string }>('GET', '/clock');
    const expiresAt = new Date(Date.parse(now) + 3_600_000).toISOString();
    await test.sandbox('PUT', `/connections/${id}/licence`, { status: 'trial', expiresAt });
    return id;
  };
  const licenseIn = (page: Page) => page.getByRole('region', { name: 'License' });

  it('shows what advancing time will fire and what it has fired, by keyboard alone', async () => {
    const id = await endLicenseSoon();
    const { page, complaints } = await open(`/connections/${id}`);
    await page.keyboard.press('t');
    const pane = page.getByRole('region', { name: 'Virtual time' });
    await KEYBOARD.press(pane.getByRole('button', { name: 'Freeze' }));
    await page.getByText('frozen', { exact: true }).waitFor();
    const ahead = page.getByRole('region', { name: 'What happens' });
    await pane.getByRole('button', { name: '15 min', exact: true }).hover();
    await ahead.getByText('Nothing is due by then.').waitFor();
    await tabTo(pane.getByRole('button', { name: '72 h' }));
    await ahead.getByText(/The license of \+\d+ ends/).waitFor();
    await licenseIn(page).getByText('trial', { exact: false }).waitFor();
    await page.keyboard.press('Enter');
    await pane.getByText(/^It is .* now\. No timer was due\.$/).waitFor();
    await licenseIn(page).getByText('expired', { exact: true }).waitFor();
    const held = Promise.withResolvers<void>();
    await page.route('**/clock/advance', async (route) => {
      await held.promise;
      await route.continue();
    });
    await KEYBOARD.press(pane.getByRole('button', { name: '7 d' }));
    await pane.getByRole('progressbar', { name: 'Advancing' }).waitFor();
    held.resolve();
    await pane.getByRole('progressbar').waitFor({ state: 'detached' });
    await KEYBOARD.press(pane.getByRole('button', { name: 'Run' }));
    await page.getByText('frozen', { exact: true }).waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  it('moves past the end of a trial, and to the next due timer, by keyboard alone', async () => {
    await test.sandbox('POST', '/clock/freeze');
    const id = await endLicenseSoon();
    const { page, complaints } = await open(`/connections/${id}`);
    await page.keyboard.press('t');
    await expect.poll(() => page.locator(':focus').textContent()).toBe('Run');
    await KEYBOARD.press(page.getByRole('button', { name: 'To the next event' }));
    await page.getByText(/^It is .* now\./).waitFor();
    await licenseIn(page).getByText('expired', { exact: true }).waitFor();

    await page.keyboard.press('Tab');
    await page.keyboard.insertText('soon');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This is not a time: write 500ms, 30s, 5m').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('2020-01-01T00:00:00Z');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText("'to'", { exact: false }).waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('2d');
    const before = Date.parse((await test.sandbox<{ now: string }>('GET', '/clock')).now);
    await page.keyboard.press('Enter');
    await expect
      .poll(async () => Date.parse((await test.sandbox<{ now: string }>('GET', '/clock')).now) - before)
      .toBe(172_800_000);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('region', { name: 'Virtual time' }).count()).toBe(0);
    expect(complaints).toEqual([REFUSED]);
  });

  it('lists timers and license expiries in order', () => {
    const at = (hour: number): string => `2026-01-15T${String(hour).padStart(2, '0')}:00:00.000Z`;
    const connections = [
      { licenseExpires: at(11), phoneNumber: '447700900101' },
      { licenseExpires: at(9), phoneNumber: '447700900102' },
      { licenseExpires: null, phoneNumber: '447700900103' },
      { licenseExpires: at(20), phoneNumber: '447700900104' },
    ];
    const timers = [{ at: at(12), what: 'receipt.read', id: '1' }];
    expect(mergeDue(timers, connections, Date.parse(at(10)), Date.parse(at(13)))).toEqual([
      { at: Date.parse(at(11)), what: 'The license of +447700900101 ends' },
      { at: Date.parse(at(12)), what: 'A message is read' },
    ]);
  });
});

describe('The dock', () => {
  it('saves the run as a scenario', async () => {
    const id = await test.client.write(await test.client.qrConnection(), 'To be repeated');
    const { page, complaints } = await open('/deliveries');
    await page.keyboard.press('t');
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Save a scenario' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('scenario.jsonl');
    const { causes, names } = readScenario(readFileSync(await saved.path(), 'utf8'));
    expect(causes.at(-1)?.body).toMatchObject({ text: 'To be repeated' });
    expect(JSON.stringify([causes, names])).not.toContain(id);
    expect(complaints).toEqual([]);
  });

  it('is accessible', async () => {
    await test.sandbox('POST', '/faults', {
      id: '<b>hostile</b>',
      match: { surface: 'webhook' },
      action: { type: 'drop' },
      first: 1,
    });
    const { page, complaints } = await open('/deliveries');
    await page.keyboard.press('t');
    const ahead = page.getByRole('region', { name: 'What happens' });
    await ahead
      .getByText(/^in \d\d\.\d y$/)
      .first()
      .waitFor();
    const heights = await ahead
      .getByRole('listitem')
      .evaluateAll((rows) => rows.map((row) => row.clientHeight));
    expect(Math.max(...heights)).toBe(Math.min(...heights));
    await expectAccessible(page);
    await page.keyboard.press('f');
    await page.getByText('<b>hostile</b>').waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
