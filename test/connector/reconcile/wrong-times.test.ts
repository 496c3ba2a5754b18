import { beforeEach, describe, expect, it } from 'vitest';
import { readProgress } from '../../../src/connector/reconcile/progress.ts';
import { reportSync } from '../../../src/connector/state/sync-report.ts';
import { ACCOUNT, openPollBench, pollBenchOfTest } from '../support/poll-bench.ts';
import type { ServiceMessage } from '../support/scripted-service.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR_2099 = Date.UTC(2099, 0, 1);
const PERIOD = 45 * SECOND;

const bench = pollBenchOfTest();
/** How far the clock of the service is ahead of ours. */
let ahead: number;
/** Its answers carry a `Date`. */
let datesAnswers: boolean;

beforeEach(async () => {
  bench.service.addConnection('c1');
  ahead = 0;
  datesAnswers = true;
  bench.service.onRequest = () => {
    bench.service.date = datesAnswers ? bench.clock.now() + ahead : null;
  };
});

function setAhead(ms: number): void {
  ahead = ms;
}

/** A message that the service creates now, by its clock, unless dated otherwise. */
function add(values: Partial<ServiceMessage> = {}): ServiceMessage {
  return bench.service.addMessage('c1', bench.clock.now() + ahead, values);
}

/** What an account has after a while: a quarter in the last hour. */
function addHistory(): void {
  const now = bench.clock.now();
  bench.service.addMessages('c1', 200, (index) => now - DAY + index * MINUTE);
  bench.service.addMessages('c1', 60, (index) => now - HOUR + index * MINUTE);
}

/** Three hundred messages within half a minute, one in ten of them sent from here. No webhook tells of them. */
async function addDropped(): Promise<void> {
  for (let index = 0; index < 300; index += 1) {
    add(index % 10 === 0 ? { direction: 'outgoing', status: 'sent' } : {});
    await bench.clock.advance(SECOND / 10);
  }
}

async function pollTwice(): Promise<void> {
  for (let polls = 0; polls < 2; polls += 1) {
    await bench.clock.advance(PERIOD);
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
    await expectTruth();
  }
}

/** Coverage claims nothing that was not stored, but for a message that says it is from 1970. */
async function expectTruth(): Promise<void> {
  const [report] = (await reportSync({ database: bench.database, clock: bench.clock }, ACCOUNT)) ?? [];
  const covered = report?.coveredUntil == null ? 0 : Date.parse(report.coveredUntil);
  expect(covered).toBeLessThanOrEqual(bench.clock.now());
  const stored = new Set(await bench.storedIds());
  expect(
    bench.service.messages.filter(
      ({ id, createdAt }) => createdAt > 0 && createdAt < covered && !stored.has(id),
    ),
  ).toEqual([]);
}

async function expectAllAfterTwoPolls(): Promise<void> {
  await pollTwice();
  await expectAll();
}

async function expectAll(): Promise<void> {
  expect(await bench.storedIds()).toEqual(bench.service.messages.map(({ id }) => id).sort());
  const rows = await bench.database.query<{ id: string; status: string }>(
    `select id, status::text from connector.messages where direction = 'outgoing' order by id`,
  );
  const outgoing = bench.service.messages.filter(({ direction }) => direction === 'outgoing');
  expect(rows).toEqual(outgoing.map(({ id, status }) => ({ id, status })));
}

/** Statuses rise, and no webhook tells. */
function readAllSent(): void {
  for (const message of bench.service.messages) if (message.direction === 'outgoing') message.status = 'read';
}

interface Case {
  readonly name: string;
  /** What goes wrong after the first polls. */
  readonly goWrong: () => void;
  /** What comes right before the last messages arrive. */
  readonly comeRight?: () => void;
  /**
   * Its answers carry no `Date`. Only a service whose clock is behind ours is read differently then, since otherwise
   * ours counts. Nobody can know how old a message is, and its status is looked for once an hour.
   */
  readonly undated?: true;
}

const CASES: readonly Case[] = [
  {
    name: 'two pages of messages are dated 2099',
    goWrong: () => {
      bench.service.addMessages('c1', 250, (index) => YEAR_2099 + index);
    },
  },
  {
    name: 'its clock is one hour ahead for a while',
    goWrong: () => setAhead(HOUR),
    comeRight: () => setAhead(0),
  },
  { name: 'its clock is thirty days ahead', goWrong: () => setAhead(30 * DAY) },
  { name: 'its clock is one hour behind for good', goWrong: () => setAhead(-HOUR) },
  {
    name: 'its clock is one hour behind for good, its answers carry no Date',
    goWrong: () => setAhead(-HOUR),
    undated: true,
  },
  {
    name: 'its clock is one hour behind for a while, its answers carry no Date',
    goWrong: () => setAhead(-HOUR),
    comeRight: () => setAhead(0),
    undated: true,
  },
  { name: 'its clock is three minutes ahead', goWrong: () => setAhead(3 * MINUTE) },
];

describe('if the times of the service are wrong', () => {
  it.each(CASES)('$name: two polls read everything', async ({ goWrong, comeRight, undated = false }) => {
    datesAnswers = !undated;
    addHistory();
    await pollTwice();
    goWrong();
    await bench.clock.advance(PERIOD);
    await bench.poll();
    await expectTruth();
    await addDropped();
    await expectAllAfterTwoPolls();
    comeRight?.();
    await addDropped();
    readAllSent();
    if (undated) await bench.clock.advance(HOUR);
    await expectAllAfterTwoPolls();
  });
});

describe('a clock of the service that was set back', () => {
  it('hides nothing behind an hour of messages with later times', async () => {
    addHistory();
    bench.service.addMessages('c1', 500, (index) => bench.clock.now() - index * SECOND);
    await pollTwice();
    ahead = -HOUR;
    await addDropped();
    await expectAllAfterTwoPolls();
  });

  it('hides nothing during a time without polls', async () => {
    addHistory();
    bench.service.addMessages('c1', 500, (index) => bench.clock.now() - index * SECOND);
    await pollTwice();
    await bench.clock.advance(HOUR / 2);
    ahead = -HOUR;
    await addDropped();
    await bench.clock.advance(3 * HOUR);
    await expectAllAfterTwoPolls();
  });
});

describe('a database that contains a wrong time', () => {
  it('recovers by itself what was hidden since', async () => {
    addHistory();
    await pollTwice();
    bench.service.addMessage('c1', YEAR_2099);
    await addDropped();
    await bench.database.query('update connector.coverage set watermark = $1, listed_watermark = $1', [
      YEAR_2099,
    ]);
    await bench.database.query('update connector.poll_states set last_good_reference = $1', [YEAR_2099]);
    await bench.database.query('update connector.sweeps set last_reference = $1', [YEAR_2099]);
    await bench.clock.advance(PERIOD);
    await bench.poll();
    await expectAll();
    const { coverage } = await readProgress(bench.database, ACCOUNT);
    expect(coverage.watermark).toBeLessThanOrEqual(bench.clock.now());
  });

  it('completes a gap whose end is a wrong time', async () => {
    addHistory();
    const budget = { coverage: 1, visibility: 1, sweep: 1 };
    await bench.poll({ budget });
    await bench.database.query('update connector.gaps set floor = $1, next_top = $1 where kind = $2', [
      YEAR_2099,
      'coverage',
    ]);
    await expectAllAfterTwoPolls();
  });
});

describe('a message dated 1970', () => {
  it('is stored by the first poll, and where a walk meets it, and ends no walk', async () => {
    bench.service.addMessage('c1', 0);
    await addDropped();
    await expectAllAfterTwoPolls();
    const small = await openPollBench();
    small.service.addConnection('c1');
    small.service.addMessage('c1', small.clock.now());
    await small.poll();
    small.service.addSent('c1', 0);
    await small.clock.advance(PERIOD);
    await small.poll();
    expect(await small.storedIds()).toEqual(small.service.messages.map(({ id }) => id).sort());
    await small.close();
  });
});

describe('an account without new messages', () => {
  it('costs one request per poll, although its newest message is dated 2099', async () => {
    addHistory();
    bench.service.addMessage('c1', YEAR_2099);
    await pollTwice();
    await bench.clock.advance(HOUR);
    await bench.poll();
    bench.service.requests = [];
    for (let polls = 0; polls < 10; polls += 1) {
      await bench.clock.advance(PERIOD);
      await bench.poll();
    }
    expect(bench.service.countRequests('/messages')).toBe(10);
    expect(await bench.metrics.read('connector_service_ahead_seconds')).toMatchObject([
      { value: (YEAR_2099 - bench.clock.now()) / SECOND },
    ]);
  });
});

describe('a service that permanently refuses its own cursors', () => {
  const refuseCursors = (): void => {
    bench.service.fault = ({ query }) =>
      query.has('cursor') ? { status: 400, body: { error: 'invalid_request', field: 'cursor' } } : undefined;
  };

  it('is asked a few times, then after increasing waits', async () => {
    addHistory();
    refuseCursors();
    expect(await bench.poll()).toMatchObject({ kind: 'failed', retryAt: bench.clock.now() + 30 * SECOND });
    expect(bench.service.countRequests('/messages')).toBe(4);
    expect(await bench.storedIds()).toHaveLength(100);
    expect(await bench.poll()).toMatchObject({ kind: 'waiting', errorCode: 'stalled_list' });
    await bench.clock.advance(30 * SECOND);
    expect(await bench.poll()).toMatchObject({ kind: 'failed', retryAt: bench.clock.now() + 60 * SECOND });
    expect(bench.service.countRequests('/messages')).toBeLessThanOrEqual(10);
    await expectTruth();
    const { text } = await bench.metrics.render();
    expect(text).toMatch(/connector_poll_lost_cursors_total [1-9]/);
    expect(text).toContain('connector_poll_stalls_total 2');
  });

  it('still has its newest page stored, and is read completely once it accepts them again', async () => {
    addHistory();
    await bench.poll();
    refuseCursors();
    const newest = add();
    await bench.clock.advance(PERIOD);
    await bench.poll();
    expect(await bench.storedIds()).toContain(newest.id);
    bench.service.fault = () => undefined;
    await bench.clock.advance(MINUTE);
    await expectAllAfterTwoPolls();
  });
});
