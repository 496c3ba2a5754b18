import { describe, expect, it } from 'vitest';
import { Backlog, type BacklogLimits, Fifo, type Ready } from '../../../src/platform/webhooks/backlog.ts';
import { recordedEvent } from './recorded-event.ts';

function ready(id: number, bytes?: number): Ready {
  return { id, eventId: id, subscriptionId: 'cworkspace', createdAt: 0, event: recordedEvent(id, bytes) };
}

function backlogOf(limits: BacklogLimits) {
  const loads: number[][] = [];
  const failures: unknown[] = [];
  let retry: () => void = () => undefined;
  let fail = false;
  let wake = Promise.withResolvers<void>();
  const backlog = new Backlog({
    limits,
    load: async (ids) => {
      loads.push([...ids]);
      if (fail) throw new Error('no database');
      return ids.map((id) => ready(id).event);
    },
    onReady: () => {
      wake.resolve();
      wake = Promise.withResolvers<void>();
    },
    onFailure: (error, again) => {
      failures.push(error);
      retry = again;
      wake.resolve();
      wake = Promise.withResolvers<void>();
    },
  });
  return {
    backlog,
    loads,
    failures,
    retry: () => retry(),
    failNext: (value: boolean) => {
      fail = value;
    },
    next: () => wake.promise,
  };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('the backlog', () => {
  it('returns events in order', () => {
    const { backlog, loads } = backlogOf({ events: 10, bytes: 1_000, ids: 0 });
    for (const id of numbers(5)) expect(backlog.push(ready(id))).toBe(true);
    expect(numbers(6).map(() => backlog.shift()?.id)).toEqual([1, 2, 3, 4, 5, undefined]);
    expect(loads).toEqual([]);
  });

  it('holds only ids beyond its limit of events, and reads the bytes back in order', async () => {
    const { backlog, loads, next } = backlogOf({ events: 3, bytes: 1_000, ids: 2_000 });
    for (const id of numbers(1_203)) expect(backlog.push(ready(id))).toBe(true);
    expect(backlog.size).toBe(1_203);
    expect(backlog.list().filter((waiting) => waiting.event !== undefined)).toHaveLength(3);
    const taken: number[] = [];
    while (taken.length < 1_203) {
      const waiting = backlog.shift();
      if (waiting === undefined) await next();
      else taken.push(waiting.id);
    }
    expect(taken).toEqual(numbers(1_203));
    expect(loads.map((ids) => ids.length)).toEqual([500, 500, 200]);
    expect(backlog.size).toBe(0);
  });

  it('counts bytes as well as events', () => {
    const { backlog } = backlogOf({ events: 100, bytes: 1_000, ids: 10 });
    for (const id of numbers(4)) backlog.push(ready(id, 600));
    expect(backlog.list().filter((waiting) => waiting.event !== undefined)).toHaveLength(2);
  });

  it('refuses events beyond its limit', () => {
    const { backlog } = backlogOf({ events: 1, bytes: 1_000, ids: 2 });
    expect(numbers(5).map((id) => backlog.push(ready(id)))).toEqual([true, true, true, false, false]);
  });

  it('keeps new events behind those whose bytes are being read', async () => {
    const { backlog, next } = backlogOf({ events: 2, bytes: 1_000, ids: 10 });
    for (const id of numbers(3)) backlog.push(ready(id));
    expect(backlog.shift()?.id).toBe(1);
    backlog.push(ready(4));
    expect(backlog.shift()?.id).toBe(2);
    const rest: (number | undefined)[] = [];
    while (rest.length < 2) {
      const waiting = backlog.shift();
      if (waiting === undefined) await next();
      else rest.push(waiting.id);
    }
    expect(rest).toEqual([3, 4]);
  });

  it('retries after reading back has failed', async () => {
    const { backlog, failures, failNext, retry, next } = backlogOf({ events: 1, bytes: 1_000, ids: 10 });
    for (const id of numbers(2)) backlog.push(ready(id));
    failNext(true);
    const failed = next();
    expect(backlog.shift()?.id).toBe(1);
    await failed;
    expect(failures).toHaveLength(1);
    expect(backlog.size).toBe(1);
    failNext(false);
    const loaded = next();
    retry();
    await loaded;
    expect(backlog.shift()?.id).toBe(2);
  });

  it('returns nothing that was read back after it was cleared', async () => {
    const { backlog, loads } = backlogOf({ events: 1, bytes: 1_000, ids: 10 });
    for (const id of numbers(2)) backlog.push(ready(id));
    backlog.shift();
    expect(loads).toEqual([[2]]);
    backlog.clear();
    await Promise.resolve();
    await Promise.resolve();
    expect(backlog.shift()).toBeUndefined();
    expect(backlog.size).toBe(0);
  });
});

describe('a queue', () => {
  it('returns its items in order, however long it is', () => {
    const queue = new Fifo<number>();
    const taken: (number | undefined)[] = [];
    for (let round = 0; round < 10; round += 1) {
      for (const item of numbers(1_000)) queue.push(round * 1_000 + item);
      for (let count = 0; count < 900; count += 1) taken.push(queue.shift());
    }
    expect(taken).toEqual(numbers(9_000));
    expect(queue.size).toBe(1_000);
    expect(queue.list()[0]).toBe(9_001);
    queue.clear();
    expect(queue.shift()).toBeUndefined();
  });
});
