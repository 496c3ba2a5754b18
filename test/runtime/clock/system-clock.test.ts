import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';

const run = promisify(execFile);
const clockModule = new URL('../../../src/runtime/clock/system-clock.ts', import.meta.url).href;

describe('the system clock', () => {
  it('returns the wall-clock time and a monotonic duration', () => {
    const before = Date.now();
    const now = systemClock.now();
    const first = systemClock.elapsed();

    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
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

  it('does not fire a timer of 30 days at once, unlike setTimeout', async () => {
    let fired = false;
    const cancel = systemClock.after(30 * 24 * 3_600_000, () => {
      fired = true;
    });
    // `setTimeout` with too long a delay fires after a millisecond.
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(fired).toBe(false);
  });

  it('rejects a sleep that is aborted before or during it', async () => {
    await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');

    const abort = new AbortController();
    const sleeping = systemClock.sleep(60_000, abort.signal);
    abort.abort(new Error('while'));
    await expect(sleeping).rejects.toThrow('while');
  });

  it('lets the process exit while a timer waits, unless the timer keeps it alive', async () => {
    const script = (options: string): string =>
      `import { systemClock } from ${JSON.stringify(clockModule)};
       systemClock.after(300, () => process.stdout.write('fired'), ${options});`;
    const idle = await run(process.execPath, ['--input-type=module', '-e', script('{}')]);
    const held = await run(process.execPath, ['--input-type=module', '-e', script('{ keepAlive: true }')]);

    expect(idle.stdout).toBe('');
    expect(held.stdout).toBe('fired');
  });
});
