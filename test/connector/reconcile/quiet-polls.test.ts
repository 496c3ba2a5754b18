import { beforeEach, describe, expect, it } from 'vitest';
import { createPollMemory } from '../../../src/connector/reconcile/quiet-polls.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const PERIOD = 45_000;

const bench = pollBenchOfTest();
let memory = createPollMemory();
beforeEach(async () => {
  memory = createPollMemory();
  bench.service.addConnection('c1');
  bench.service.addMessages('c1', 3, (index) => bench.clock.now() - 3_600_000 - index * 1_000);
  // The first poll stores, the second finds that nothing is left to do.
  for (let polls = 0; polls < 3; polls += 1) await poll();
});

/** Resolves with whether the poll merged what the service listed. */
async function poll(): Promise<boolean> {
  await bench.clock.advance(PERIOD);
  expect(await bench.poll({ memory })).toMatchObject({ kind: 'done', cycle: { closed: true } });
  const [row] = await bench.database.query<{ listedAt: number }>(
    'select listed_at as "listedAt" from connector.coverage where account_id = $1',
    [ACCOUNT],
  );
  return row?.listedAt === bench.clock.now();
}
const readConnection = async () => {
  const [row] = await bench.database.query<{ status: string; visible: boolean; lastVisibleAt: number }>(
    `select status, visible, last_visible_at as "lastVisibleAt" from connector.connections where connection_id = 'c1'`,
  );
  return row;
};

it.each([
  [
    'was removed and added again',
    'truncate connector.accounts, connector.subscriptions, connector.poll_states',
  ],
  ['has another key', 'select 1'],
])('an account that %s is polled with its new key', async (_, before) => {
  await bench.database.query(before);
  await bench.configure({ service: { baseUrl: bench.service.baseUrl, apiKey: 'key-2' } });
  bench.service.apiKeys.clear();
  bench.service.apiKeys.add('key-2');
  await poll();
});

describe('a poll with the answers of the one before', () => {
  it('merges nothing, and counts as a good poll', async () => {
    expect(await poll()).toBe(false);
    expect(await poll()).toBe(false);
    expect(bench.service.countRequests('/connections')).toBe(5);
    expect(bench.service.countRequests('/messages')).toBe(5);
    const [state] = await bench.database.query(
      'select last_good_at as good, last_started_at as started from connector.poll_states',
    );
    expect(state).toEqual({ good: bench.clock.now(), started: bench.clock.now() });
  });

  it('merges everything at least every ten minutes, with the sweep of the last hour', async () => {
    const merged: boolean[] = [];
    for (let polls = 0; polls < 14; polls += 1) merged.push(await poll());
    expect(merged).toContain(true);
  });

  it.each([
    ['a message', () => void bench.service.addMessage('c1', bench.clock.now())],
    [
      'a status',
      () => void Object.assign(bench.service.messages[0] ?? {}, { direction: 'outgoing', status: 'read' }),
    ],
    ['a connection', () => void bench.service.addConnection('c2')],
  ])('merges if the service lists another: %s', async (_what, change) => {
    expect(await poll()).toBe(false);
    change();
    expect(await poll()).toBe(true);
  });

  it('corrects what an event has changed meanwhile', async () => {
    expect(await poll()).toBe(false);
    await bench.database.query(
      `update connector.connections set status = 'disconnected', version = version + 1 where connection_id = 'c1'`,
    );
    expect(await poll()).toBe(true);
    expect(await readConnection()).toMatchObject({ status: 'open' });
  });

  it.each([
    ['another process has polled', 'last_good_at = last_good_at + 1'],
    ['a full sweep was asked for', 'needs_full_sweep = true'],
    ['the database was restored', 'last_good_at = last_good_at - 600000'],
  ])('merges if %s', async (_what, change) => {
    expect(await poll()).toBe(false);
    await bench.database.query(`update connector.poll_states set ${change}`);
    expect(await poll()).toBe(true);
  });

  it('merges if the watermark was moved, or a gap was opened', async () => {
    expect(await poll()).toBe(false);
    await bench.database.query('update connector.coverage set watermark = watermark - 1');
    expect(await poll()).toBe(true);
    for (let polls = 0; polls < 2; polls += 1) await poll();
    await bench.database.query(
      `insert into connector.gaps (account_id, kind, slot, restarts, opened_at) values ($1, 'visibility', 'c1', 0, 1)`,
      [ACCOUNT],
    );
    expect(await poll()).toBe(true);
  });

  it('merges nothing while a connection is hidden, whose gap stays open', async () => {
    bench.service.connections = [];
    for (let polls = 0; polls < 2; polls += 1) await poll();
    expect(await bench.database.query('select slot from connector.gaps')).toEqual([{ slot: 'c1' }]);
    expect(await poll()).toBe(false);
    bench.service.addConnection('c1');
    expect(await poll()).toBe(true);
    expect(await bench.database.query('select slot from connector.gaps')).toEqual([]);
  });

  it('is remembered as the last time at which a connection was visible', async () => {
    expect(await poll()).toBe(false);
    const at = bench.clock.now();
    bench.service.connections = [];
    expect(await poll()).toBe(true);
    expect(await readConnection()).toMatchObject({ visible: false, lastVisibleAt: at });
  });
});
