import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portsFrom } from '../../src/commands/ports.ts';
import { launchChromium, openPage } from '../support/chromium.ts';
import { startTestLoop, type TestLoop } from '../support/loop.ts';
import { findPortBase } from '../support/spawn-command.ts';

let browser: Browser;
let test: TestLoop;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await test?.close();
});

it('lies under a veil while the server is gone, and shows what there is when it is back', async () => {
  const ports = portsFrom(await findPortBase());
  test = await startTestLoop({ ports });
  await test.client.write(await test.client.qrConnection(), 'Of the first server');
  const { page } = await openPage(browser, `${test.loop.info().sandboxUrl}/deliveries`);
  await page.getByText('Of the first server').waitFor();
  expect(await page.getByText('The server does not respond').count()).toBe(0);

  await test.close();
  await page.getByRole('alert').getByText('The server does not respond').waitFor();
  await page.getByText('no server', { exact: true }).waitFor();

  test = await startTestLoop({ ports });
  await test.client.write(await test.client.qrConnection(), 'Of the second server');
  await page.getByText('Of the second server').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  expect(await page.getByText('The server does not respond').count()).toBe(0);
  expect(await page.getByText('Of the first server').count()).toBe(0);
  await page.context().close();
});
