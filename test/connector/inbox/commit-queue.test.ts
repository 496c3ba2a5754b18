import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CommitQueue,
  type CommitQueueLimits,
  createCommitQueue,
} from '../../../src/connector/inbox/commit-queue.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const LIMITS: CommitQueueLimits = {
  inFlight: 2,
  batchItems: 4,
  batchBytes: 100,
  waitingItems: 8,
  waitingBytes: 150,
  maxWaitMs: 1_000,
};

interface Commit {
  readonly batch: readonly string[];
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
    commit: (batch) =>
      new Promise((resolve, reject) => {
        commits.push({
          batch,
          finish: (failed = []) => resolve(new Set(failed)),
          crash: () => reject(new Error('unexpected')),
        });
      }),
  });
});

const batches = () => commits.map((commit) => commit.batch);
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function finish(index: number, failed: readonly string[] = []): Promise<void> {
  commits[index]?.finish(failed);
  await turn();
}

describe('the commit queue', () => {
  it('commits at once when it is idle, and gathers while two commits are under way', async () => {
    const answers = ['a', 'b', 'c', 'd', 'e'].map((item) => queue.add(item, 1));
    expect(batches()).toEqual([['a'], ['b']]);
    expect(queue.waiting).toBe(3);
    await finish(0);
    expect(batches()).toEqual([['a'], ['b'], ['c', 'd', 'e']]);
    await finish(1);
    await finish(2);
    expect(await Promise.all(answers)).toEqual([true, true, true, true, true]);
  });

  it('bounds a batch by items', async () => {
    for (const item of ['a', 'b', '1', '2', '3', '4', '5']) void queue.add(item, 1);
    await finish(0);
    await finish(1);
    expect(batches().slice(2)).toEqual([['1', '2', '3', '4'], ['5']]);
  });

  it('bounds a batch by bytes, but takes one item of any size', async () => {
    for (const item of ['a', 'b']) void queue.add(item, 1);
    void queue.add('small', 60);
    void queue.add('other', 41);
    await finish(0);
    await finish(1);
    expect(batches().slice(2)).toEqual([['small'], ['other']]);
    await finish(2);
    await finish(3);
    void queue.add('huge', 150);
    expect(batches().at(-1)).toEqual(['huge']);
  });

  it('refuses what does not fit into the wait, and takes more once there is room', async () => {
    void queue.add('a', 1);
    void queue.add('b', 1);
    const waiting = Array.from({ length: 8 }, (_, index) => queue.add(`w${index}`, 1));
    expect(await queue.add('one too many', 1)).toBe(false);
    await finish(0);
    expect(queue.waiting).toBe(4);
    const late = queue.add('late', 1);
    for (let index = 1; index < 5; index += 1) await finish(index);
    expect(await Promise.all([...waiting, late])).toEqual(Array.from({ length: 9 }, () => true));
  });

  it('refuses bytes that do not fit into the wait', async () => {
    void queue.add('a', 1);
    void queue.add('b', 1);
    void queue.add('c', 100);
    expect(await queue.add('d', 51)).toBe(false);
    expect(queue.waiting).toBe(1);
  });

  it('gives up what waited so long that its sender is about to leave', async () => {
    void queue.add('a', 1);
    void queue.add('b', 1);
    const late = queue.add('late', 1);
    await clock.advance(600);
    const fresh = queue.add('fresh', 1);
    await clock.advance(600);
    await finish(0);
    expect(await late).toBe(false);
    expect(batches().at(-1)).toEqual(['fresh']);
    await finish(2);
    expect(await fresh).toBe(true);
  });

  it('tells each item its own outcome', async () => {
    void queue.add('a', 1);
    void queue.add('b', 1);
    const answers = ['good', 'bad'].map((item) => queue.add(item, 1));
    await finish(0);
    await finish(2, ['bad']);
    expect(await Promise.all(answers)).toEqual([true, false]);
  });

  it('counts every item of a commit that threw as not written, and goes on', async () => {
    const lost = queue.add('lost', 1);
    commits[0]?.crash();
    expect(await lost).toBe(false);
    const next = queue.add('next', 1);
    await finish(1);
    expect(await next).toBe(true);
  });

  it('settles when nothing waits and nothing is under way', async () => {
    let settled = false;
    void queue.add('a', 1);
    const settling = queue.settle().then(() => {
      settled = true;
    });
    await turn();
    expect(settled).toBe(false);
    await finish(0);
    await settling;
    await queue.settle();
  });

  it('finishes what it took when it is closed, and takes no more', async () => {
    const taken = queue.add('a', 1);
    const closing = queue.close();
    expect(await queue.add('b', 1)).toBe(false);
    await finish(0);
    await closing;
    expect(await taken).toBe(true);
  });
});
