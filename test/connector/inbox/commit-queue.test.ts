import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CommitQueue,
  type CommitQueueLimits,
  createCommitQueue,
} from '../../../src/connector/inbox/commit-queue.ts';
import { Deadline } from '../../../src/runtime/clock/deadline.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const LIMITS: CommitQueueLimits = {
  inFlight: 2,
  overlapItems: 2,
  overlapAfterMs: 50,
  batchItems: 4,
  batchBytes: 100,
  waitingItems: 8,
  waitingBytes: 150,
};

interface Commit {
  readonly batch: readonly string[];
  /** What the commit is given, when it begins. */
  readonly leftMs: number;
  finish(failed?: readonly string[]): void;
  crash(): void;
}

let clock: ManualClock;
let commits: Commit[];
let queue: CommitQueue<string>;

beforeEach(() => {
  clock = new ManualClock();
  commits = [];
  queue = createCommitQueue<string>({
    limits: LIMITS,
    clock,
    commit: (batch, deadline) =>
      new Promise((resolve, reject) => {
        commits.push({
          batch,
          leftMs: deadline.leftMs,
          finish: (failed = []) => resolve(new Set(failed)),
          crash: () => reject(new Error('unexpected')),
        });
      }),
  });
});

const ANSWER_MS = 1_000;
const add = (item: string, bytes: number) => queue.add(item, bytes, new Deadline(clock, ANSWER_MS));
const batches = () => commits.map((commit) => commit.batch);
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function finish(index: number, failed: readonly string[] = []): Promise<void> {
  commits[index]?.finish(failed);
  await turn();
}

/** Adds an item and lets the queue begin a commit, if it will. */
async function inFlight(item: string, bytes = 1): Promise<void> {
  void add(item, bytes);
  await turn();
}

/** Two commits under way, so that everything else waits. */
async function fill(): Promise<void> {
  await inFlight('a');
  void add('b', 1);
  await inFlight('b');
}

describe('the commit queue', () => {
  it('commits together what arrives in one turn of the event loop while it is idle', async () => {
    void add('a', 1);
    void add('b', 1);
    expect(batches()).toEqual([]);
    await turn();
    expect(batches()).toEqual([['a', 'b']]);
  });

  it('gathers what arrives while a commit is under way, and commits it when that one ends', async () => {
    const first = add('a', 1);
    await turn();
    const second = add('b', 1);
    await turn();
    expect(batches()).toEqual([['a']]);
    expect(queue.waiting).toBe(1);
    await finish(0);
    expect(batches()).toEqual([['a'], ['b']]);
    await finish(1);
    expect(await Promise.all([first, second])).toEqual([true, true]);
  });

  it('begins a second concurrent commit once enough items wait, and never a third', async () => {
    await inFlight('a');
    void add('1', 1);
    await inFlight('2');
    expect(batches()).toEqual([['a'], ['1', '2']]);
    void add('3', 1);
    void add('4', 1);
    await inFlight('5');
    expect(batches()).toEqual([['a'], ['1', '2']]);
    await finish(0);
    expect(batches()).toEqual([['a'], ['1', '2'], ['3', '4', '5']]);
  });

  it('begins a second commit for few items if the first takes long, also if nothing else arrives', async () => {
    await inFlight('a');
    void add('b', 1);
    await clock.advance(49);
    await turn();
    expect(batches()).toEqual([['a']]);
    await clock.advance(1);
    expect(batches()).toEqual([['a'], ['b']]);
  });

  it('limits a batch by number of items', async () => {
    for (const item of ['1', '2', '3', '4', '5']) void add(item, 1);
    await turn();
    expect(batches()).toEqual([['1', '2', '3', '4']]);
    await finish(0);
    expect(batches()).toEqual([['1', '2', '3', '4'], ['5']]);
  });

  it('limits a batch by bytes, but accepts one item of any size', async () => {
    void add('small', 60);
    void add('other', 41);
    await turn();
    expect(batches()).toEqual([['small']]);
    await finish(0);
    await finish(1);
    await inFlight('huge', 150);
    expect(batches()).toEqual([['small'], ['other'], ['huge']]);
  });

  it('refuses items beyond the limit of waiting items, and accepts more once there is room', async () => {
    await fill();
    const waiting = Array.from({ length: 8 }, (_, index) => add(`w${index}`, 1));
    expect(await add('one too many', 1)).toBe(false);
    await finish(0);
    expect(queue.waiting).toBe(4);
    const late = add('late', 1);
    for (let index = 1; index < 6; index += 1) await finish(index);
    expect(await Promise.all([...waiting, late])).toEqual(Array.from({ length: 9 }, () => true));
  });

  it('refuses bytes beyond the limit of waiting bytes', async () => {
    await fill();
    void add('c', 100);
    expect(await add('d', 51)).toBe(false);
    expect(queue.waiting).toBe(1);
  });

  it('gives up items that have waited until their sender is about to disconnect', async () => {
    await fill();
    const late = add('late', 1);
    await clock.advance(600);
    const fresh = add('fresh', 1);
    await clock.advance(600);
    await finish(0);
    expect(await late).toBe(false);
    expect(batches().at(-1)).toEqual(['fresh']);
    await finish(2);
    expect(await fresh).toBe(true);
  });

  it('gives a commit the time that its last item has left', async () => {
    await fill();
    await clock.advance(300);
    void add('c', 1);
    await clock.advance(100);
    void add('d', 1);
    await clock.advance(100);
    await finish(0);
    expect(commits.map(({ leftMs }) => leftMs)).toEqual([1_000, 1_000, 900]);
  });

  it('tells each item its own outcome', async () => {
    const answers = ['good', 'bad'].map((item) => add(item, 1));
    await turn();
    await finish(0, ['bad']);
    expect(await Promise.all(answers)).toEqual([true, false]);
  });

  it('counts every item of a failed commit as not written, and continues', async () => {
    const lost = add('lost', 1);
    await turn();
    commits[0]?.crash();
    expect(await lost).toBe(false);
    const next = add('next', 1);
    await turn();
    await finish(1);
    expect(await next).toBe(true);
  });

  it('settles when nothing waits and no commit is under way', async () => {
    let settled = false;
    void add('a', 1);
    const settling = queue.settle().then(() => {
      settled = true;
    });
    await turn();
    expect(settled).toBe(false);
    await finish(0);
    await settling;
    await queue.settle();
  });

  it('finishes what it has accepted when it is closed, and accepts nothing more', async () => {
    const taken = add('a', 1);
    const closing = queue.close();
    expect(await add('b', 1)).toBe(false);
    await turn();
    await finish(0);
    await closing;
    expect(await taken).toBe(true);
  });
});
