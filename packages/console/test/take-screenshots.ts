import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SandboxInfo } from '../../../src/contract/sandbox/info.ts';
import { launchChromium, openPage } from '../../../test/support/chromium.ts';
import { createLoopClient } from '../../../test/support/loop-client.ts';
import { createCaller } from '../../../test/support/read-lists.ts';
import { ROOT } from '../../../test/support/root.ts';
import { shownInSandbox, tellStory } from './tell-story.ts';

const HELP = `Usage: npm run screenshots -- URL [--all FOLDER]

Takes the pictures of the README from the sandbox at URL (after \`npm start\`: http://127.0.0.1:4000), and writes a few
messages there first. With --all, writes a picture of every screen to FOLDER, light and dark, 1440 pixels wide. Start the loop with a data folder of its own: npm start -- --data-dir .data/screenshots
`;

const FOLDER = join(ROOT, 'docs/images');
async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', default: false }, all: { type: 'string' } },
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
  const story = await tellStory(client, sandbox, (body) => connector('POST', '/messages', body));
  const { lost } = story;

  mkdirSync(FOLDER, { recursive: true });
  const browser = await launchChromium();
  if (values.all !== undefined) {
    mkdirSync(values.all, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openPage(base, { browser, colorScheme, viewport: { width: 1440, height: 900 } });
      for (const [path, text] of shownInSandbox(story)) {
        await page.goto(`${base}${path}`);
        await page.getByText(text).filter({ visible: true }).first().waitFor();
        const name = path.replaceAll(/\W+/g, '-').slice(1);
        await page.screenshot({ path: join(values.all, `${name}-${colorScheme}.png`) });
      }
    }
    await browser.close();
    return 0;
  }
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
