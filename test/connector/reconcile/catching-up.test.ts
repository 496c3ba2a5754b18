import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READ_AHEAD } from '../../../src/connector/reconcile/poll-context.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { openPollBench, type PollBench } from '../support/poll-bench.ts';

/** Small pages, and more of them than all the statements together can store that are let through here. */
const PAGE = 10;
const MESSAGES = 3_200;
const PAGES = MESSAGES / PAGE;
const BUDGET = { coverage: 1_000, visibility: 20, sweep: 40 };
const MINUTE = 60_000;
let bench: PollBench;

function withMessages(count: number): void {
  beforeAll(async () => {
    bench = await openPollBench();
    bench.service.pageSize = PAGE;
    bench.service.addConnection('c1');
    for (let index = 0; index < count; index += 1) {
      bench.service.addMessage('c1', bench.clock.now() - index * MINUTE);
    }
  });
  afterAll(() => bench.close());
}

/** A database that sees every statement first. */
function watch(before: (text: string) => void, after: (text: string) => void = () => undefined): Database {
  return aroundQueries(bench.database, async (text, run) => {
    before(text);
    const rows = await run();
    after(text);
    return rows;
  });
}

/** Polls with a process that dies at its n-th page to be stored: before or after the statement. */
async function pollAndDie(at: number, when: 'before' | 'after'): Promise<void> {
  let stored = 0;
  let dead = false;
  const die = (moment: string, text: string): void => {
    if (text.includes('merged AS') && moment === 'before') stored += 1;
    dead ||= stored === at && moment === when && text.includes('merged AS');
    if (dead) throw new Error('killed');
  };
  const database = watch(
    (text) => die('before', text),
    (text) => die('after', text),
  );
  const presence = await bench.anotherProcess(database);
  await expect(bench.poll({ budget: BUDGET }, { database, presence })).rejects.toThrow('killed');
  await bench.bury(presence);
}

async function countStored(): Promise<number> {
  const [row] = await bench.database.query<{ stored: number }>(
    'select count(*) as stored from connector.messages',
  );
  return row?.stored ?? 0;
}

describe('a walk that is killed repeatedly', () => {
  withMessages(MESSAGES);

  it('continues from where it was stored, and becomes complete', async () => {
    let kills = 0;
    let before = 0;
    for (const when of ['before', 'after'] as const) {
      for (const at of [1, 2, 3, 4]) {
        bench.service.requests = [];
        await pollAndDie(at, when);
        kills += 1;
        const stored = (await countStored()) / PAGE;
        // The newest page is read by every poll. Whatever else was read is stored, but for what the belt held.
        const read = bench.service.countRequests('/messages') - 1;
        expect(stored - before).toBeGreaterThanOrEqual(read - READ_AHEAD - 2);
        before = stored;
      }
    }
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(PAGES);
    bench.service.requests = [];
    expect(await bench.poll({ budget: BUDGET })).toMatchObject({ kind: 'done', cycle: { closed: true } });
    // It began at its gap: the newest page, and those that were not stored.
    expect(bench.service.countRequests('/messages')).toBeLessThanOrEqual(PAGES - before + 2);
    expect(await bench.storedIds()).toEqual(bench.service.messages.map(({ id }) => id).sort());
    const created = `select count(*) as count from connector.changes where type = 'message.created'`;
    expect(await bench.database.query(created)).toEqual([{ count: MESSAGES }]);
    expect(kills).toBe(8);
  });
});

describe('an idle poll', () => {
  withMessages(3 * PAGE);

  it('that reads messages is one request and four statements', async () => {
    await bench.poll();
    await bench.clock.advance(45_000);
    bench.service.requests = [];
    const statements: string[] = [];
    const poller = { database: watch((text) => void statements.push(text.trim())) };
    expect(await bench.poll({}, poller)).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(bench.service.countRequests('/messages')).toBe(1);
    expect(bench.service.requests).toHaveLength(2);

    // What comes before belongs to the account, its lease and its connections, what comes after to the lease.
    const listed = statements.findIndex((text) => text.includes('connector.connections AS c'));
    const noted = statements.findIndex((text) => text.includes('set last_good_at'));
    expect(listed).toBeGreaterThan(0);
    expect(statements.slice(listed + 1, noted)).toEqual([
      expect.stringContaining('from connector.coverage'),
      expect.stringContaining('(m.polled or m.erased) is not true'),
      expect.stringContaining('merged AS'),
      expect.stringContaining('from connector.messages m'),
    ]);
    expect(statements.length).toBeLessThanOrEqual(15);
  });
});
