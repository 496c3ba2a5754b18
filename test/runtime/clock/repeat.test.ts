import { describe, expect, it } from 'vitest';
import { repeat } from '../../../src/runtime/clock/repeat.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A run that a test ends. */
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

  async end(index: number): Promise<void> {
    this.begun[index]?.resolve();
    await this.begun[index]?.promise;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('what is repeated', () => {
  it('runs a while after it was started, and again a while after each run has ended', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(99);
    expect(runs.begun).toHaveLength(0);
    await runs.clock.advance(1);
    expect(runs.begun).toHaveLength(1);
    await runs.clock.advance(1_000);
    expect(runs.begun).toHaveLength(1);
    await runs.end(0);
    await runs.clock.advance(100);
    expect(runs.begun).toHaveLength(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('runs again after a run that failed, and says so', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(100);
    runs.begun[0]?.reject(new Error('away'));
    await runs.repeat.settle();
    expect(runs.errors).toEqual([new Error('away')]);
    await runs.clock.advance(100);
    expect(runs.begun).toHaveLength(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('runs once more for whoever asks during a run, after it, and never two at a time', async () => {
    const runs = new Runs();
    const first = runs.repeat.runNow();
    const second = runs.repeat.runNow();
    await runs.clock.advance(0);
    expect(runs.begun).toHaveLength(1);
    await runs.end(0);
    await first;
    expect(runs.begun).toHaveLength(2);
    await runs.end(1);
    await second;
    await runs.repeat.stop();
  });

  it('throws what a run throws at whoever waits for it, and at nobody else', async () => {
    const runs = new Runs();
    const asked = runs.repeat.runNow();
    await runs.clock.advance(0);
    runs.begun[0]?.reject(new Error('away'));
    await expect(asked).rejects.toThrow('away');
    expect(runs.errors).toEqual([]);
  });

  it('begins its wait anew after a run that was asked for', async () => {
    const runs = new Runs();
    runs.repeat.start();
    await runs.clock.advance(90);
    runs.repeat.trigger();
    await runs.clock.advance(0);
    await runs.end(0);
    await runs.clock.advance(99);
    expect(runs.begun).toHaveLength(1);
    await runs.clock.advance(1);
    expect(runs.begun).toHaveLength(2);
    await runs.end(1);
    await runs.repeat.stop();
  });

  it('is over when no wait follows a run', async () => {
    const runs = new Runs();
    runs.nextMs = null;
    runs.repeat.start();
    runs.repeat.trigger();
    await runs.clock.advance(0);
    await runs.end(0);
    await runs.clock.advance(10_000);
    expect(runs.begun).toHaveLength(1);
  });

  it('tells the run under way to stop, waits for its end, and begins none afterwards', async () => {
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
    await runs.clock.advance(1_000);
    expect(runs.begun).toHaveLength(1);
  });
});
