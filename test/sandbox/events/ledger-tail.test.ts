import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../src/platform/webhooks/ledger.ts';
import { LedgerTail } from '../../../src/sandbox/events/ledger-tail.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { silentLogger } from '../../support/platform.ts';

function entry(seq: number): LedgerEntry {
  return {
    seq,
    at: 0,
    workspaceId: 'cworkspace',
    connectionId: 'cconnection',
    messageId: null,
    event: 'message.received',
    status: null,
    payload: {},
  };
}

/** A ledger of which a test says how long it is, and when its next read answers. */
function tailOf(length: number) {
  const state = { length, reads: 0, failures: 0, gate: Promise.resolve() };
  const told: number[] = [];
  const clock = new ManualClock();
  const tail = new LedgerTail({
    clock,
    logger: silentLogger,
    onEntry: ({ seq }) => told.push(seq),
    ledger: {
      lastSeq: async () => state.length,
      async read({ after = 0 }, limit) {
        state.reads += 1;
        const found = Array.from({ length: state.length - after }, (_, index) => entry(after + index + 1));
        await state.gate;
        if (state.failures > 0) {
          state.failures -= 1;
          throw new Error('the connection broke');
        }
        return found.slice(0, limit);
      },
    },
  });
  const grow = async (by: number) => {
    state.length += by;
    tail.notify();
    await clock.advance(0);
  };
  return { state, told, clock, tail, grow };
}

describe('followers of the ledger', () => {
  it('receive what is added after they started, in order, however much at once', async () => {
    const { told, tail, grow } = tailOf(7);
    await tail.follow();
    await grow(1_200);
    expect(told).toEqual(Array.from({ length: 1_200 }, (_, index) => 8 + index));
  });

  it('receive what was added during a read', async () => {
    const { state, told, tail, grow } = tailOf(0);
    await tail.follow();
    const read = Promise.withResolvers<void>();
    state.gate = read.promise;
    await grow(1);
    await grow(1);
    read.resolve();
    await grow(1);
    expect(told).toEqual([1, 2, 3]);
  });

  it('cause no read before they start and after they stop', async () => {
    const { state, told, tail, grow } = tailOf(0);
    await grow(1);
    const leave = await tail.follow();
    const leaveToo = await tail.follow();
    leave();
    await grow(1);
    leaveToo();
    const { reads } = state;
    await grow(1);
    expect(state.reads).toBe(reads);
    expect(told).toEqual([2]);
    await tail.follow();
    await grow(1);
    expect(told).toEqual([2, 4]);
  });

  it('receive an entry later if it could not be read immediately', async () => {
    const { state, told, clock, tail, grow } = tailOf(0);
    await tail.follow();
    await clock.advance(0);
    state.failures = 1;
    await grow(2);
    expect(told).toEqual([]);
    await clock.advance(1_000);
    expect(told).toEqual([1, 2]);
  });

  it('receive nothing of the ledger from before a reset', async () => {
    const { state, told, clock, tail, grow } = tailOf(3);
    await tail.follow();
    await clock.advance(0);
    const read = Promise.withResolvers<void>();
    state.gate = read.promise;
    await grow(2);
    state.length = 1;
    tail.reset();
    read.resolve();
    await clock.advance(0);
    expect(told).toEqual([1]);
  });
});
