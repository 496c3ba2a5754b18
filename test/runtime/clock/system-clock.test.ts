import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';

const run = promisify(execFile);
const clockModule = new URL('../../../src/runtime/clock/system-clock.ts', import.meta.url).href;

describe('the system clock', () => {
  it('tells the machine time and a duration that never goes back', () => {
    const before = Date.now();
    const told = systemClock.now();
    const first = systemClock.elapsed();

    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now());
    expect(systemClock.elapsed()).toBeGreaterThanOrEqual(first);
  });

  it('runs a timer once', async () => {
    let runs = 0;
    await new Promise<void>((resolve) => {
      systemClock.after(1, () => {
        runs++;
        resolve();
      });
    });
    expect(runs).toBe(1);
  });

  it('does not fire a timer of 30 days at once, as setTimeout would', async () => {
    let fired = false;
    const cancel = systemClock.after(30 * 24 * 3_600_000, () => {
      fired = true;
    });
    // A timer of `setTimeout` that is too long fires after a millisecond.
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(fired).toBe(false);
  });

  it('rejects a sleep that is aborted, before or while it waits', async () => {
    await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');

    const abort = new AbortController();
    const sleeping = systemClock.sleep(60_000, abort.signal);
    abort.abort(new Error('while'));
    await expect(sleeping).rejects.toThrow('while');
  });

  it('lets the process end while a timer waits, and holds it for a timer that asks for it', async () => {
    const script = (options: string): string =>
      `import { systemClock } from ${JSON.stringify(clockModule)};
       systemClock.after(300, () => process.stdout.write('fired'), ${options});`;
    const idle = await run(process.execPath, ['--input-type=module', '-e', script('{}')]);
    const held = await run(process.execPath, ['--input-type=module', '-e', script('{ keepAlive: true }')]);

    expect(idle.stdout).toBe('');
    expect(held.stdout).toBe('fired');
  });
});
