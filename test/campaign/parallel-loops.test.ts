import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { startTestLoop } from '../../src/testing/index.ts';
import { readProjectFile } from '../support/markdown.ts';
import { printTable } from '../support/print-table.ts';
import { ROOT } from '../support/root.ts';
import { QUICK_IMPORTS, spawnCommand } from '../support/spawn-command.ts';
import { endServer } from '../support/sweep-abandoned-servers.ts';

const FILES = process.env['CAMPAIGN'] === 'whole' ? 20 : 4;
const TESTS_OF_A_FILE = 4;
const RESTORES = 20;

describe('test files with a loop each', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parallel-loops-'));
    const testing = pathToFileURL(join(ROOT, 'src/testing/index.ts')).href;
    const example = readProjectFile('examples/testing/node-test.test.ts')
      .replace("'messaging-connector/testing'", `'${testing}'`)
      .replace('startTestLoop({ ', `startTestLoop({ dataDir: ${JSON.stringify(join(folder, 'data'))}, `);
    for (let file = 0; file < FILES; file += 1) await writeFile(join(folder, `${file}.test.ts`), example);
  });
  afterAll(async () => {
    await endServer(join(folder, 'data/postgres'));
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });

  it(`run concurrently on one Postgres server without conflicts: ${FILES} of them`, async () => {
    const words = ['--test', `--test-concurrency=${FILES}`, `${folder}/*.test.ts`];
    const begunAt = systemClock.elapsed();
    const { code, stdout } = await spawnCommand('node', words, { cwd: folder, env: QUICK_IMPORTS }).ended;
    const passed = /^ℹ pass (\d+)$/m.exec(stdout)?.[1];
    expect({ code, passed }, stdout).toEqual({ code: 0, passed: String(FILES * TESTS_OF_A_FILE) });
    const seconds = ((systemClock.elapsed() - begunAt) / 1_000).toFixed(1);
    printTable([{ files: FILES, seconds }]);
  });
});

it('a snapshot can be restored many times', async () => {
  await using loop = await startTestLoop({ databaseUrl: inject('databaseUrl') });
  const { entries } = await loop.sandbox.listConnections({ query: { phoneNumber: '447700900101' } });
  const connectionId = entries[0]?.id ?? '';
  const params = { phone: '447700900201' };
  const snapshot = await loop.snapshot();
  const times: number[] = [];
  for (let round = 0; round < RESTORES; round += 1) {
    await loop.sandbox.contactWrites({ params, body: { connectionId, text: 'Hello' } });
    const begunAt = systemClock.elapsed();
    await loop.restore(snapshot);
    times.push(systemClock.elapsed() - begunAt);
    expect((await loop.service.listMessages()).messages).toEqual([]);
  }
  const sorted = times.toSorted((a, b) => a - b).map((ms) => Math.round(ms));
  const [fastest] = sorted;
  printTable([{ restore: 'ms', fastest, median: sorted[RESTORES / 2], slowest: sorted.at(-1) }]);
});
