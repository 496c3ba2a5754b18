import { beforeEach, describe, expect, it } from 'vitest';
import { abortAfter, Deadline, isLate, within } from '../../../src/runtime/clock/deadline.ts';
import { ManualClock } from '../../support/manual-clock.ts';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

const never = new Promise<string>(() => undefined);
const nameOf = (error: Error): string => error.name;

describe('a deadline', () => {
  it('is shared by consecutive waits', async () => {
    const deadline = new Deadline(clock, 1_000);
    const first = deadline.within(clock.sleep(700).then(() => 'in time'));
    await clock.advance(700);
    expect(await first).toBe('in time');
    expect(deadline.leftMs).toBe(300);
    const second = deadline.within(never).catch(nameOf);
    await clock.advance(300);
    expect(await second).toBe('DeadlinePassed');
    expect(deadline.leftMs).toBe(0);
  });

  it('can be shortened for one wait', async () => {
    const deadline = new Deadline(clock, 1_000);
    const short = deadline.within(never, 200).catch(nameOf);
    await clock.advance(200);
    expect(await short).toBe('DeadlinePassed');
    expect(deadline.leftMs).toBe(800);
  });

  it('calls each listener once, a late one immediately, and can pass early', async () => {
    const deadline = new Deadline(clock, 1_000);
    const called: string[] = [];
    deadline.onPass(() => called.push('waiting'));
    const waiting = deadline.within(never).catch(nameOf);
    deadline.pass();
    deadline.pass();
    deadline.onPass(() => called.push('late'));
    expect(called).toEqual(['waiting', 'late']);
    expect(await waiting).toBe('DeadlinePassed');
    await expect(deadline.within(never)).rejects.toThrow('not done by its deadline');
    expect(clock.pending).toBe(0);
  });

  it('holds no timer once everything is done', async () => {
    const deadline = new Deadline(clock, 1_000);
    await deadline.within(Promise.resolve(), 200);
    await expect(deadline.within(Promise.reject(new Error('its own')), 200)).rejects.toThrow('its own');
    deadline.done();
    expect(clock.pending).toBe(0);
  });
});

describe('work with its own time limit', () => {
  it('is awaited until its limit, and holds no timer afterwards', async () => {
    const first = within(
      clock,
      1_000,
      clock.sleep(999).then(() => 'in time'),
    );
    await clock.advance(999);
    expect(await first).toBe('in time');
    await expect(within(clock, 1_000, Promise.reject(new Error('its own')))).rejects.toThrow('its own');
    const second = within(clock, 1_000, never).catch(nameOf);
    await clock.advance(1_000);
    expect(await second).toBe('DeadlinePassed');
    expect(clock.pending).toBe(0);
  });

  it('fails with the error of the caller', async () => {
    const waiting = within(clock, 1_000, never, () => new RangeError('too late')).catch(nameOf);
    await clock.advance(1_000);
    expect(await waiting).toBe('RangeError');
  });
});

describe('work with a signal', () => {
  const wait = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(isLate(signal) ? 'late' : 'stopped'));
    });

  it('is told when its time is over', async () => {
    const waiting = abortAfter(clock, 1_000, wait);
    await clock.advance(999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await waiting).toBe('late');
  });

  it('is told when another signal aborts, and that it was not its time', async () => {
    const other = new AbortController();
    const waiting = abortAfter(clock, 1_000, wait, undefined, other.signal);
    other.abort();
    expect(await waiting).toBe('stopped');
  });

  it('settles as the work does, and holds no timer afterwards', async () => {
    expect(await abortAfter(clock, 1_000, async () => 'done')).toBe('done');
    await expect(abortAfter(clock, 1_000, () => Promise.reject(new Error('its own')))).rejects.toThrow(
      'its own',
    );
    expect(clock.pending).toBe(0);
  });
});
