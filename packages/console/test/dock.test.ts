import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { readScenario } from '../../../src/scenario/scenario.ts';
import { expectAccessible, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

afterEach(async () => {
  await test.client.clearFaults();
  await test.sandbox('POST', '/clock/run');
});

const open = async (path: string) => {
  const opened = await openPage(url(path));
  await opened.page.getByText('live', { exact: true }).waitFor();
  return opened;
};

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
    await test.sandbox('POST', '/snapshots', { label: '<i>hostile</i>' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('b');
    await page.getByText('<i>hostile</i>').first().waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
