import { describe, expect, test } from 'vitest';
import { createDomainClock, LATEST_TIME } from '../../../src/platform/time/domain-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const START = Date.UTC(2026, 0, 15, 12);

describe('domain clock', () => {
  test('runs with the wall clock at a distance', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 5_000, frozenAt: null });
    expect(clock.now()).toBe(START + 5_000);
    await wall.advance(10);
    expect(clock.now()).toBe(START + 5_010);
  });

  test('stands while the wall clock jumps back', () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: null });
    clock.now();
    wall.jump(-1_000);
    expect(clock.now()).toBe(START);
    wall.jump(1_500);
    expect(clock.now()).toBe(START + 500);
  });

  test('a frozen one stands', async () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: START + 1 });
    await wall.advance(60_000);
    expect([clock.now(), clock.frozen]).toEqual([START + 1, true]);
  });

  test('a pin never lies in the past, and ends with the next move', () => {
    const wall = new ManualClock(START);
    const clock = createDomainClock(wall, { offsetMs: 0, frozenAt: null });
    clock.pin(START - 5);
    expect(clock.now()).toBe(START);
    clock.pin(START + 60_000);
    expect(clock.now()).toBe(START + 60_000);
    clock.moveTo(clock.stateAt(START + 60_000));
    expect(clock.now()).toBe(START + 60_000);
  });

  test('a state of an earlier time does not move it back', () => {
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
