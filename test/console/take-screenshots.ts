import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { launchChromium, openPage } from '../support/chromium.ts';
import { createLoopClient } from '../support/loop-client.ts';
import { createCaller } from '../support/read-lists.ts';
import { ROOT } from '../support/root.ts';

const HELP = `Usage: npm run screenshots -- URL

Takes the pictures of the README from the sandbox at URL (after \`npm start\`: http://127.0.0.1:4000), and writes a few
messages there first. Start the loop with a data folder of its own: npm start -- --data-dir .data/screenshots
`;

const FOLDER = join(ROOT, 'docs/images');
const GUEST = '447700900201';
const OTHER = '447700900202';

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', default: false } },
  });
  const [url] = positionals;
  if (values.help || url === undefined) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  const base = url.replace(/\/$/, '');
  const sandbox = createCaller(`${base}/sandbox/v1`);
  const connector = createCaller(`${base}/connector/v1`);
  const client = createLoopClient({
    ...(await sandbox<SandboxInfo>('GET', '/info')),
    connectorUrl: `${base}/connector`,
    connectorToken: '',
  });
  const connectionId = await client.qrConnection();
  const say = (from: string, text: string): Promise<unknown> =>
    sandbox('POST', `/contacts/${from}/messages`, { connectionId, text });
  let references = 0;
  const answer = (to: string, text: string): Promise<unknown> =>
    connector('POST', '/messages', { reference: `${Date.now()}-${references++}`, connectionId, to, text });
  await say(GUEST, 'Hello, is the table for four still free tonight?');
  await answer(GUEST, 'Yes, it is. Shall I put it down for eight?');
  await say(OTHER, 'Where do I park?');
  await answer(OTHER, 'Behind the house.');
  await sandbox('POST', '/clock/advance', { ms: 20_000 });
  await client.dropWebhooks();
  const lost = await client.write(connectionId, 'Half past seven would be better.');
  await sandbox('POST', '/clock/advance', { ms: 5_000 });
  await client.clearFaults();
  await client.sync();
  await client.arrival(lost);

  mkdirSync(FOLDER, { recursive: true });
  const browser = await launchChromium();
  const options = { browser, colorScheme: 'light', viewport: { width: 1280, height: 720 } } as const;
  const { page } = await openPage(`${base}/deliveries`, options);
  // Its attempts last for a second and a half, in real time.
  await page
    .getByRole('link', { name: /dropped message\.received.*Half past seven/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Edit and send' }).waitFor();
  await page.screenshot({ path: join(FOLDER, 'deliveries.png') });
  await page.goto(`${base}/journey/${lost}`);
  await page.getByText('Polling repaired it.').first().waitFor();
  await page.screenshot({ path: join(FOLDER, 'journey.png') });
  await browser.close();
  process.stdout.write(`${FOLDER}: deliveries.png, journey.png\n`);
  return 0;
}

process.exitCode = await main();
