import { afterAll, beforeAll, expect, it } from 'vitest';
import { portsFrom } from '../../../src/commands/ports.ts';
import { openPage } from '../../../test/support/chromium.ts';
import { findPortBase } from '../../../test/support/find-free-port.ts';
import { startTestLoop, type TestLoop } from '../../../test/support/loop.ts';

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
