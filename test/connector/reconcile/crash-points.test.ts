import { beforeEach, describe, expect, it } from 'vitest';
import { readProgress } from '../../../src/connector/reconcile/progress.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const MINUTE = 60_000;
const bench = pollBenchOfTest();

function addMessages(count: number, at: (index: number) => number): void {
  for (let index = 0; index < count; index += 1) {
    bench.service.addSent('c1', at(index));
    bench.service.addMessage('c2', at(index));
  }
}

beforeEach(async () => {
  bench.service.addConnection('c1');
  const hidden = bench.service.addConnection('c2');
  const now = bench.clock.now();
  addMessages(150, (index) => now - index * MINUTE);
  await bench.poll();
  // Gives each step of a poll something to do: a gap, a connection that came back, statuses on old pages.
  hidden.licenseValid = false;
  await bench.poll();
  await bench.clock.skip(10 * MINUTE);
  addMessages(250, (index) => now + 5 * MINUTE + index);
  for (const message of bench.service.messages) if (message.direction === 'outgoing') message.status = 'read';
  hidden.licenseValid = true;
  await bench.database.query('update connector.poll_states set needs_full_sweep = true');
  bench.service.requests = [];
});

/** The next process. */
async function expectCompletion(): Promise<void> {
  expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
  const progress = await readProgress(bench.database, ACCOUNT);
  expect(progress).toMatchObject({ coverage: { gaps: [] }, visibility: [], sweeps: [] });
  expect(await bench.storedIds()).toEqual(bench.service.messages.map((message) => message.id).sort());
  const [row] = await bench.database.query(
    `select (select count(*) from connector.messages where direction = 'outgoing' and status <> 'read') as open,
            (select count(*) from connector.changes where type = 'message.created') as created,
            (select count(*) from connector.changes where type = 'message.status') as statuses`,
  );
  expect(row).toEqual({ open: 0, created: 800, statuses: 150 });
}

describe('a poller that dies', () => {
  it.each([1, 2, 3, 5, 8, 11])('at request %i loses and duplicates nothing', async (at) => {
    const dying = dyingDatabase(bench.database, Number.MAX_SAFE_INTEGER, 'before');
    const presence = await bench.anotherProcess();
    bench.service.onRequest = () => {
      if (bench.service.requests.length === at) dying.kill();
    };
    await bench.poll({}, { database: dying.database, presence }).catch(() => undefined);
    expect(dying.died).toBe(true);
    bench.service.onRequest = () => undefined;
    await bench.bury(presence);
    await expectCompletion();
  });
});
