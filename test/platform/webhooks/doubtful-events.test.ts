import { describe, expect, it } from 'vitest';
import { DoubtfulEvents } from '../../../src/platform/webhooks/doubtful-events.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { silent } from './fixture.ts';
import { recordedEvent } from './recorded-event.ts';

/** Doubts about events of which a test says which are in the ledger. */
function doubting() {
  const ledger = new Set<number>();
  const delivered: number[] = [];
  const state = { looks: 0, failures: 0 };
  const clock = new ManualClock();
  const doubts = new DoubtfulEvents({
    clock,
    logger: silent,
    deliver: (events) => delivered.push(...events.map(({ id }) => id)),
    async load(ids) {
      state.looks += 1;
      if (state.failures > 0) {
        state.failures -= 1;
        throw new Error('the database is away');
      }
      return ids.filter((id) => ledger.has(id)).map((id) => recordedEvent(id));
    },
  });
  return { ledger, delivered, state, clock, doubts };
}

describe('events of a commit without an answer', () => {
  it('are delivered at once if they are in the ledger, and not looked up again', async () => {
    const { ledger, delivered, clock, doubts } = doubting();
    for (const id of [1, 2]) ledger.add(id);
    doubts.add([recordedEvent(1), recordedEvent(2)]);
    await doubts.idle();
    expect(delivered).toEqual([1, 2]);
    expect(clock.pending).toBe(0);
  });

  it('are delivered once each when the commit arrives late', async () => {
    const { ledger, delivered, clock, doubts } = doubting();
    ledger.add(1);
    doubts.add([recordedEvent(1), recordedEvent(2)]);
    await doubts.idle();
    ledger.add(2);
    await clock.advance(60_000);
    expect(delivered).toEqual([1, 2]);
  });

  it('are given up if they do not appear', async () => {
    const { delivered, state, clock, doubts } = doubting();
    doubts.add([recordedEvent(1)]);
    await clock.advance(3_600_000);
    expect(delivered).toEqual([]);
    expect(state.looks).toBe(4);
    expect(clock.pending).toBe(0);
  });

  it('are looked up until the database answers, however long this takes', async () => {
    const { ledger, delivered, state, clock, doubts } = doubting();
    state.failures = 100;
    ledger.add(1);
    doubts.add([recordedEvent(1)]);
    await clock.advance(600_000);
    expect(delivered).toEqual([1]);
  });

  it('are discarded by a reset, including a look-up in flight', async () => {
    const { ledger, delivered, clock, doubts } = doubting();
    doubts.add([recordedEvent(1)]);
    await doubts.idle();
    ledger.add(1);
    ledger.add(2);
    doubts.add([recordedEvent(2)]);
    doubts.clear();
    await clock.advance(60_000);
    expect(delivered).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
