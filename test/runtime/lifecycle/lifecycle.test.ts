import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createLifecycle, type Lifecycle } from '../../../src/runtime/lifecycle/lifecycle.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Prepared {
  readonly clock: ManualClock;
  readonly lines: string[];
  readonly lifecycle: Lifecycle;
}

function prepare(deadlineMs = 1_000, onStart?: (name: string) => () => void): Prepared {
  const clock = new ManualClock();
  const { lines, logger } = collectLog('info');
  return { clock, lines, lifecycle: createLifecycle({ logger, clock, deadlineMs, onStart }) };
}

describe('a shutdown', () => {
  it('runs its steps one after the other, in reverse order of registration', async () => {
    const { lifecycle, clock } = prepare();
    const seen: string[] = [];
    lifecycle.onClose('database', () => {
      seen.push('database');
    });
    lifecycle.onClose('listener', async () => {
      await clock.sleep(100);
      seen.push('listener');
    });

    const closed = lifecycle.close();
    await clock.advance(100);
    await closed;

    expect(seen).toEqual(['listener', 'database']);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['started', () => Promise.resolve('up')],
    ['failed to start', () => Promise.reject(new Error('no port'))],
  ])('is preceded by word of what is starting, until it has %s', async (_, start) => {
    const said: string[] = [];
    const { lifecycle } = prepare(1_000, (name) => {
      said.push(`starting ${name}`);
      return () => void said.push(`no longer ${name}`);
    });
    const started = lifecycle.whenStarted('loop', start(), () => undefined);
    expect(said).toEqual(['starting loop']);
    await started.catch(() => undefined);
    expect(said).toEqual(['starting loop', 'no longer loop']);
  });

  it('is told only to its caller that a start failed: nothing is left unhandled', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const failed = prepare().lifecycle.whenStarted(
      'loop',
      Promise.reject(new Error('no port')),
      () => undefined,
    );
    await expect(failed).rejects.toThrow('no port');
    await new Promise(setImmediate);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('waits for what is starting, closes it before its dependencies, and starts nothing more', async () => {
    const { lifecycle } = prepare();
    const seen: string[] = [];
    lifecycle.onClose('database', () => void seen.push('database'));
    const starting = Promise.withResolvers<string>();
    const started = lifecycle.whenStarted(
      'loop',
      starting.promise,
      (loop) => void seen.push(`closed ${loop}`),
    );
    void started.then(() => seen.push('goes on'));
    const closed = lifecycle.close();
    await Promise.resolve();
    expect(seen).toEqual([]);
    starting.resolve('loop');
    await closed;
    expect(seen).toEqual(['closed loop', 'database']);
  });

  it('does not fail if a start fails meanwhile', async () => {
    const { lifecycle, lines } = prepare();
    const starting = Promise.withResolvers<never>();
    const started = lifecycle.whenStarted('loop', starting.promise, () => undefined);
    const reached = new Set<string>();
    void started.then(
      () => reached.add('started'),
      () => reached.add('failed'),
    );
    const closed = lifecycle.close();
    starting.reject(new Error('cut short'));
    await closed;
    expect({ lines, reached: [...reached] }).toEqual({ lines: [], reached: [] });
  });

  it('passes on what was started, or why it failed', async () => {
    const { lifecycle } = prepare();
    expect(await lifecycle.whenStarted('loop', Promise.resolve('loop'), () => undefined)).toBe('loop');
    const failing = lifecycle.whenStarted('check', Promise.reject(new Error('broken')), () => undefined);
    await expect(failing).rejects.toThrow('broken');
    await lifecycle.close();
  });

  it('runs every step once, however often it is requested', async () => {
    const { lifecycle } = prepare();
    let runs = 0;
    lifecycle.onClose('once', () => {
      runs++;
    });
    await Promise.all([lifecycle.close(), lifecycle.close()]);
    await lifecycle.close();
    expect(runs).toBe(1);
  });

  it('continues after a failed step, and logs it', async () => {
    const { lifecycle, lines } = prepare();
    let reached = false;
    lifecycle.onClose('database', () => {
      reached = true;
    });
    lifecycle.onClose('queue', () => Promise.reject(new Error('broken')));
    await lifecycle.close();

    expect(reached).toBe(true);
    expect(lines.join('')).toContain('"step":"queue"');
    expect(lines.join('')).toContain('broken');
  });

  it('abandons a hanging step to meet its deadline', async () => {
    const { lifecycle, clock, lines } = prepare(1_000);
    const seen: number[] = [];
    lifecycle.onClose('database', () => {
      seen.push(clock.elapsed());
    });
    lifecycle.onClose('second', () => new Promise(() => undefined));
    lifecycle.onClose('first', () => new Promise(() => undefined));

    const closed = lifecycle.close();
    await clock.advance(1_000);
    await closed;

    expect(seen).toEqual([750]);
    expect(lines.filter((line) => line.includes('did not finish in time'))).toHaveLength(2);
  });

  it('gives the last step all the remaining time', async () => {
    const { lifecycle, clock, lines } = prepare(1_000);
    lifecycle.onClose('database', () => clock.sleep(900));

    const closed = lifecycle.close();
    await clock.advance(900);
    await closed;

    expect(lines).toEqual([]);
  });

  it('runs a step at once if it is registered during the shutdown', async () => {
    const { lifecycle } = prepare();
    await lifecycle.close();
    let ran = false;
    lifecycle.onClose('late', () => {
      ran = true;
    });
    expect(ran).toBe(true);
  });
});

const fixture = fileURLToPath(new URL('./signal-fixture.ts', import.meta.url));

/** Starts the fixture and sends the signals one by one, each after its line has been printed. */
async function runFixture(
  behavior: string,
  signals: [afterLine: string, signal: NodeJS.Signals][],
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [fixture, behavior], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const lines: string[] = [];
  const waiting = [...signals];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    const [next] = waiting;
    if (next !== undefined && line.includes(next[0])) {
      waiting.shift();
      child.kill(next[1]);
    }
  }
  const [code] = await exited;
  return { code, output: lines.join('\n') };
}

describe('a process', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('closes in order on %s, and exits with 0', async (signal) => {
    const { code, output } = await runFixture('good', [['ready', signal]]);
    expect(code).toBe(0);
    expect(output).toContain('closed\nended after 300 ms');
  });

  it('exits with 1 if a step failed', async () => {
    const { code, output } = await runFixture('fail', [['ready', 'SIGTERM']]);
    expect(code).toBe(1);
    expect(output).not.toContain('ended');
  });

  it('exits at once on a second signal', async () => {
    const { code, output } = await runFixture('hang', [
      ['ready', 'SIGINT'],
      ['hangs', 'SIGINT'],
    ]);
    expect(code).toBe(130);
    expect(output).not.toContain('closed');
  });

  it('treats the same signal twice at the same moment as one, because npm repeats that of the terminal', async () => {
    const { code, output } = await runFixture('echo', [
      ['ready', 'SIGINT'],
      ['listens', 'SIGINT'],
    ]);
    expect(code).toBe(0);
    expect(output).toContain('closed');
  });

  it('exits at once on a different signal, however soon', async () => {
    const { code } = await runFixture('echo', [
      ['ready', 'SIGINT'],
      ['listens', 'SIGTERM'],
    ]);
    expect(code).toBe(143);
  });

  it.each([
    ['reject', 'rejection', 'Error'],
    ['throw', 'exception', 'SyntaxError'],
  ])(
    'logs an unhandled %s with its location but without its message, and exits with 1',
    async (behavior, kind, type) => {
      const { code, output } = await runFixture(behavior, []);
      expect(code).toBe(1);
      expect(output).toContain(`"kind":"${kind}"`);
      expect(output).toMatch(/"location":"[^"]*signal-fixture\.ts:\d+"/);
      expect(output).toContain(`"errorType":"${type}"`);
      expect(output).not.toContain('nobody listens');
    },
  );
});
