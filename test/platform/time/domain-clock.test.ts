import { describe, expect, test } from 'vitest';
import { createDomainClock, LATEST_TIME } from '../../../src/platform/time/domain-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const START = Date.UTC(2026, 0, 15, 12);

describe('domain clock', () => {
  test('runs with the wall clock at an offset', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 5_000, frozenAt: null });
    expect(clock.now()).toBe(START + 5_000);
    await wall.advance(10);
    expect(clock.now()).toBe(START + 5_010);
  });

  test('stands still while the wall clock jumps back', () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: null });
    clock.now();
    wall.jump(-1_000);
    expect(clock.now()).toBe(START);
    wall.jump(1_500);
    expect(clock.now()).toBe(START + 500);
  });

  test('goes on while the wall clock is behind', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: null });
    clock.now();
    wall.jump(-3_600_000);
    for (let step = 0; step < 10_000; step += 1) {
      await wall.skip(0.5);
      clock.now();
    }
    expect(clock.now()).toBe(START + 5_000);
  });

  test('is not moved by the time in which it was frozen or pinned', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: START });
    await wall.advance(60_000);
    clock.moveTo(clock.stateAt(START, false));
    expect(clock.now()).toBe(START);
    clock.pin(START);
    await wall.advance(60_000);
    clock.moveTo(clock.stateAt(START));
    expect(clock.now()).toBe(START);
  });

  test('stands still while it is frozen', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: START + 1 });
    await wall.advance(60_000);
    expect([clock.now(), clock.frozen]).toEqual([START + 1, true]);
  });

  test('cannot be pinned to the past, and a pin ends with the next move', () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: null });
    clock.pin(START - 5);
    expect(clock.now()).toBe(START);
    clock.pin(START + 60_000);
    expect(clock.now()).toBe(START + 60_000);
    clock.moveTo(clock.stateAt(START + 60_000));
    expect(clock.now()).toBe(START + 60_000);
  });

  test('is not moved back by an older state', () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 10_000, frozenAt: null });
    expect(clock.now()).toBe(START + 10_000);
    clock.moveTo({ offsetMs: 0, frozenAt: null });
    expect(clock.now()).toBe(START + 10_000);
  });

  test('ends with the year 9999', () => {
    const clock = createDomainClock(new ManualClock(START), { offsetMs: 1e15, frozenAt: null });
    expect(clock.now()).toBe(LATEST_TIME);
  });
});
