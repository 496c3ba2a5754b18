import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portsFrom } from '../../src/commands/ports.ts';
import { moveTo, openPage } from '../support/chromium.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { KEYBOARD } from '../support/keyboard.ts';
import { startTestLoop, type TestLoop } from '../support/loop.ts';

let test: TestLoop;

const ports = portsFrom(await findPortBase());

beforeAll(async () => {
  test = await startTestLoop({ ports });
});

afterAll(async () => {
  await test?.close();
});

it('is covered while the server is down, and shows the current state when it is back', async () => {
  await test.client.write(await test.client.qrConnection(), 'Of the first server');
  const { page } = await openPage(`${test.loop.info().sandboxUrl}/deliveries`);
  await page.getByText('Of the first server').waitFor();
  expect(await page.getByText('The server does not respond').count()).toBe(0);

  await test.close();
  await page.getByRole('alert').getByRole('heading', { name: 'The server does not respond' }).waitFor();
  await page.getByText('no server', { exact: true }).waitFor();

  test = await startTestLoop({ ports });
  await test.client.write(await test.client.qrConnection(), 'Of the second server');
  await page.getByText('Of the second server').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  expect(await page.getByText('The server does not respond').count()).toBe(0);
  expect(await page.getByText('Of the first server').count()).toBe(0);
});

it('explains why it cannot determine what it is connected to, and starts when it can', async () => {
  const { page } = await openPage('about:blank');
  const answers = ['refused', 'not JSON', 'real'];
  await page.route('**/console.json', (route) => {
    const answer = answers.shift();
    if (answer === 'refused') return route.abort();
    return answer === 'not JSON' ? route.fulfill({ body: 'Hello' }) : route.continue();
  });
  await page.goto(`${test.loop.info().sandboxUrl}/deliveries`);
  const alert = page.getByRole('alert');
  await alert.getByRole('heading', { name: 'The console could not start' }).waitFor();
  await alert.getByText('The server does not respond. Check that the command').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await alert.getByText('The response of /console.json is not JSON.').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('live', { exact: true }).waitFor();
});

it('advises what to try while the server fails, and retries what failed, by keyboard alone', async () => {
  const { page } = await openPage('about:blank');
  const failing = /\/(sandbox|connector)\/v1\/(?!events)/;
  const fail = (route: Route) => route.fulfill({ status: 500, json: { error: 'internal_error' } });
  // Without the stream, nothing is reloaded before the next interval.
  await page.route('**/sandbox/v1/events', () => undefined);
  await page.goto(`${test.loop.info().sandboxUrl}/calls/999999`);
  await page.getByRole('heading', { name: 'No call has this id' }).waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  const failed = page.getByText('The server failed. Its log says why.');
  for (const path of ['overview', 'deliveries', 'access', 'journey']) {
    await page.route(failing, fail);
    await moveTo(page, `/${path}`);
    await failed.first().waitFor();
    await page.unroute(failing);
    await KEYBOARD.press(page.getByRole('button', { name: 'Try again' }).first());
    await expect.poll(() => failed.count()).toBe(0);
  }
});
