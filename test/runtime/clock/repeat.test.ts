import { describe, expect, it } from 'vitest';
import { repeat } from '../../../src/runtime/clock/repeat.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** Runs that a test ends. */
class Runs {
  readonly clock = new ManualClock();
  readonly errors: unknown[] = [];
  readonly begun: PromiseWithResolvers<void>[] = [];
  stopping: AbortSignal | undefined;
  nextMs: number | null = 100;

  readonly repeat = repeat({
    clock: this.clock,
    everyMs: () => this.nextMs,
    onError: (error) => this.errors.push(error),
    run: (stopping) => {
      this.stopping = stopping;
      const run = Promise.withResolvers<void>();
      this.begun.push(run);
      return run.promise;
    },
  });

  /** How many runs have begun after this time. */
  async begunAfter(ms: number): Promise<number> {
    await this.clock.advance(ms);
    return this.begun.length;
  }

  async end(index: number): Promise<void> {
    this.begun[index]?.resolve();
    await this.begun[index]?.promise;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('repeated work', () => {
  it('runs an interval after its start, and again an interval after each run has ended', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(50);
    runs.repeat.start();
    expect(await runs.begunAfter(99)).toBe(0);
    expect(await runs.begunAfter(1)).toBe(1);
    expect(await runs.begunAfter(1_000)).toBe(1);
    await runs.end(0);
    expect(await runs.begunAfter(100)).toBe(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('runs again after a failed run, and reports the error', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(100);
    runs.begun[0]?.reject(new Error('away'));
    await runs.repeat.settle();
    expect(runs.errors).toEqual([new Error('away')]);
    expect(await runs.begunAfter(100)).toBe(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('runs once more after the current run for a request during it, and never concurrently', async () => {
    const runs = new Runs();
    const first = runs.repeat.runNow();
    const second = runs.repeat.runNow();
    expect(await runs.begunAfter(0)).toBe(1);
    await runs.end(0);
    await first;
    expect(runs.begun).toHaveLength(2);
    await runs.end(1);
    await second;
    await runs.repeat.stop();
  });

  it('rejects only the caller that waits for a failed run', async () => {
    const runs = new Runs();
    const asked = runs.repeat.runNow();
    await runs.clock.advance(0);
    runs.begun[0]?.reject(new Error('away'));
    await expect(asked).rejects.toThrow('away');
    expect(runs.errors).toEqual([]);
  });

  it('restarts its interval after a requested run', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(90);
    runs.repeat.trigger();
    await runs.clock.advance(0);
    await runs.end(0);
    expect(await runs.begunAfter(99)).toBe(1);
    expect(await runs.begunAfter(1)).toBe(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('ends when no interval follows a run', async () => {
    const runs = new Runs();
    runs.nextMs = null;
    runs.repeat.start();
    runs.repeat.trigger();
    await runs.clock.advance(0);
    await runs.end(0);
    expect(await runs.begunAfter(10_000)).toBe(1);
  });

  it('aborts the current run when stopped, waits for its end, and starts no other', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(100);
    let stopped = false;
    const stop = runs.repeat.stop().then(() => {
      stopped = true;
    });
    expect(runs.stopping?.aborted).toBe(true);
    await runs.clock.advance(1_000);
    expect(stopped).toBe(false);
    await runs.end(0);
    await stop;
    await runs.repeat.runNow();
    expect(await runs.begunAfter(1_000)).toBe(1);
  });
});
