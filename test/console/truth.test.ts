import type { Page, Route } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openPage } from '../support/chromium.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { startProductionConsole } from '../support/production-console.ts';

/** What a page says at the latest this long after something has failed. */
const SOON_MS = 10_000;

let isBroken = false;
const test = loopOfFile({
  handlers: {
    attempts: 1,
    onChange({ type }) {
      if (isBroken && type === 'message.created') throw new RangeError('no room');
    },
  },
});

beforeAll(() => test.client.sync());

const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' });
const allClear = (page: Page) => attention(page).getByText('Nothing. Polls succeed');

/** The console of a connector; its page is moved in time instead of waiting. */
async function openConsole(path = '/overview'): Promise<Page> {
  const started = await startProductionConsole({ url: test.connectorUrl, token: test.connectorToken });
  const { page } = await started.open('/overview');
  await page.clock.install();
  await page.goto(`${started.url}${path}`);
  await page.getByText('live', { exact: true }).waitFor();
  return page;
}

/** Time passes second by second, and what it starts may end. */
async function pass(page: Page, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) await page.clock.runFor(1_000);
}

const hang = (): void => undefined;
const refuse = (route: Route) =>
  route.fulfill({ status: 502, json: { error: 'connector_unreachable', message: 'It does not respond.' } });

describe('the console of a connector', () => {
  it('shows a new dead letter and failing polls by itself, without an event', async () => {
    const page = await openConsole();
    await page.route('**/connector/v1/changes/stream*', hang);
    await page.reload();
    await allClear(page).waitFor();
    isBroken = true;
    await test.client.write(await test.client.qrConnection(), 'set aside');
    await test.loop.settle();
    isBroken = false;
    await test.client.failPolls();
    await test.client.sync().catch(() => undefined);
    await pass(page, SOON_MS);
    await attention(page).getByText('1 dead letter').waitFor();
    await attention(page).getByText('Polls fail: internal_error').waitFor();
    await page.getByText('service fails').waitFor();
    expect(await page.title()).toMatch(/^\(2\) Overview · /);
    await test.client.clearFaults();
    await test.client.sync();
    await pass(page, SOON_MS);
    await attention(page).getByText('Polls fail').waitFor({ state: 'detached' });
    expect(await page.title()).toMatch(/^\(1\) Overview · /);
    const { deadLetters } = await test.connector<{ deadLetters: { id: string }[] }>(
      'GET',
      '/v1/dead-letters',
    );
    for (const { id } of deadLetters) await test.connector('DELETE', `/v1/dead-letters/${id}`);
    await pass(page, SOON_MS);
    await allClear(page).waitFor();
    expect(await page.title()).toMatch(/^Overview · /);
  });

  it.each([
    ['refuses connections', refuse, refuse, 'The connector does not respond', 'no connector'],
    ['accepts connections and is silent', hang, hang, 'The connector does not respond', 'no connector'],
    [
      'cannot read its database',
      hang,
      (route: Route) => route.fulfill({ status: 503, json: { ok: false } }),
      'The database does not respond',
      'no database',
    ],
  ])(
    'says within ten seconds that a connector %s, and never that all is well',
    async (_, reads, ready, title, word) => {
      const page = await openConsole();
      await allClear(page).waitFor();
      await page.route('**/connector/v1/**', reads);
      await page.route('**/connector/readyz', ready);
      await pass(page, SOON_MS);
      await page.getByRole('alert').getByText(title).waitFor();
      await page.getByText(word, { exact: true }).waitFor();
      await attention(page)
        .getByText(/^stale: as of \d\d:\d\d:\d\d, \d+ s ago$/)
        .waitFor();
      expect(await allClear(page).count()).toBe(0);
      expect(await page.getByText('live', { exact: true }).count()).toBe(0);
      expect(await page.title()).toMatch(/^\(1\) Overview · /);
      // What was read before stays readable.
      await page.getByRole('region', { name: 'Account default' }).getByText('succeeded').waitFor();

      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await pass(page, SOON_MS);
      await allClear(page).waitFor();
      await page.getByText('live', { exact: true }).waitFor();
      await attention(page)
        .getByText(/^as of /)
        .waitFor();
    },
  );

  it('says so on a narrow screen as well, beside the name of the connector', async () => {
    const page = await openConsole();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.route('**/connector/**', refuse);
    await pass(page, SOON_MS);
    const word = await page.getByText('no connector', { exact: true }).boundingBox();
    expect((word?.x ?? 390) + (word?.width ?? 0)).toBeLessThanOrEqual(390);
  });

  it('says nothing is well on a page that could never read', async () => {
    const started = await startProductionConsole({ url: test.connectorUrl, token: test.connectorToken });
    const { page } = await started.open('/console.json');
    await page.clock.install();
    await page.route('**/connector/**', refuse);
    await page.goto(`${started.url}/overview`);
    await attention(page).getByText('Not known until everything has been read.').waitFor();
    await pass(page, SOON_MS);
    await page.getByText('no connector', { exact: true }).waitFor();
    expect(await allClear(page).count()).toBe(0);
  });

  it('marks what Sync shows as stale', async () => {
    const page = await openConsole('/sync');
    await page
      .getByText(/^as of /)
      .first()
      .waitFor();
    await page.route('**/connector/v1/**', hang);
    await pass(page, SOON_MS);
    await page
      .getByText(/^stale: as of /)
      .first()
      .waitFor();
    await page.getByText('succeeded').first().waitFor();
    expect(await page.title()).toMatch(/^\(1\) Sync · /);
  });
});

describe('a page that is not visible', () => {
  it('reads nothing by itself, and everything as soon as it is visible', async () => {
    const { page } = await openPage('about:blank');
    await page.clock.install();
    await page.goto(`${test.loop.info().sandboxUrl}/overview`);
    await attention(page).getByText('Nothing. Every number works').waitFor();
    const show = (state: 'hidden' | 'visible') =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
    await show('hidden');
    let reads = 0;
    page.on('request', (request) => {
      // Where time is moved, the stream counts as silent, and is opened again.
      if (!/\/(stream|events)\b/.test(request.url())) reads += 1;
    });
    await pass(page, 5_000);
    // What had begun while it was visible has ended.
    let before = -1;
    const isQuiet = () => {
      const same = reads === before;
      before = reads;
      return same;
    };
    await expect.poll(isQuiet, { interval: 2_000, timeout: 60_000 }).toBe(true);
    // Longer than the pause between two reads, and not so long that the stream counts as silent, and reads everything.
    await pass(page, 5_000);
    expect(reads).toBe(before);
    await show('visible');
    await expect.poll(() => reads, { timeout: 20_000 }).toBeGreaterThan(before + 5);
  });
});
