import { afterEach, describe, expect, it } from 'vitest';
import { createKeptLeases } from '../../../src/connector/work/kept-leases.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import { createWorker, type Duty, type RunEnd, type Worker } from '../../../src/connector/work/worker.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { openConnectorDatabase, silentLogger } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';

/** So late that a test ends before it. */
const NO_CHECK_MS = 3_600_000;

const opened = ofFile(() => openConnectorDatabase(8));
let closes: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closes.reverse()) await close();
  closes = [];
});

/** Work that stands in memory: how many steps each key has left. */
class Steps {
  readonly left = new Map<string, number>();
  readonly ran: string[] = [];
  /** For each run, whether others waited. */
  readonly waited: boolean[] = [];
  /** How a step ends when others are left. */
  end: RunEnd = 'more';
  /** Awaited in each step. */
  during: (stopping: AbortSignal) => Promise<void> = () => Promise.resolve();

  duty(name: string, concurrency: number, keepsLeases: boolean): Duty {
    return {
      kind: 'test',
      concurrency,
      keepsLeases,
      readDue: async (_now, limit) =>
        [...this.left].flatMap(([key, left]) => (left > 0 ? [key] : [])).slice(0, limit),
      readDueAt: async (key) => ((this.left.get(key) ?? 0) > 0 ? 0 : null),
      run: async ({ key, stopping, othersWait }) => {
        this.waited.push(othersWait());
        await this.during(stopping);
        if (stopping.aborted) return 'stopped';
        this.ran.push(`${name} ${key}`);
        const left = (this.left.get(key) ?? 0) - 1;
        this.left.set(key, left);
        return left > 0 ? this.end : 'idle';
      },
    };
  }
}

async function openTestNotifier(): Promise<Notifier> {
  const { database, url: databaseUrl } = opened;
  const options = { database, databaseUrl, clock: systemClock, logger: silentLogger };
  const notifier = await openNotifier({ ...options, prefix: 'connector' });
  closes.push(() => notifier.close());
  return notifier;
}

async function startProcess(
  steps: Steps,
  name = 'one',
  concurrency = 4,
  keepsLeases = false,
): Promise<Worker> {
  const { database } = opened;
  const options = { database, clock: systemClock, logger: silentLogger };
  const notifier = await openTestNotifier();
  const presence = createPresence({ ...options, works: true });
  const worker = createWorker(
    { ...options, presence, notifier, checkEveryMs: NO_CHECK_MS },
    steps.duty(name, concurrency, keepsLeases),
  );
  await presence.start();
  await worker.start();
  closes.push(
    () => presence.stop(),
    () => worker.close(),
  );
  return worker;
}

it('a worker processes more due keys than fit at one time without another check', async () => {
  const steps = new Steps();
  for (let key = 1; key <= 30; key += 1) steps.left.set(`k${key}`, 1);
  await startProcess(steps);
  await expect.poll(() => steps.ran.length).toBe(30);
  expect(new Set(steps.ran).size).toBe(30);
});

it('a key whose run ends with more to do is run again without another check', async () => {
  const steps = new Steps();
  const worker = await startProcess(steps);
  steps.left.set('long', 5);
  worker.notify('long');
  await expect.poll(() => steps.left.get('long')).toBe(0);
});

it('keys of a process that stops are run by another without another check', async () => {
  const steps = new Steps();
  const stops = await startProcess(steps, 'stops');
  await startProcess(steps, 'stays');
  // Until it hears, nothing can be left to it.
  const web = await openTestNotifier();
  await expect
    .poll(() => {
      steps.left.set('first', 1);
      web.notify('test', 'first');
      return steps.ran;
    })
    .toContain('stays first');
  const begun = Promise.withResolvers<void>();
  steps.during = (stopping) => {
    begun.resolve();
    return new Promise((resolve) => {
      if (stopping.aborted) resolve();
      else stopping.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  steps.left.set('left', 1);
  stops.notify('left');
  await begun.promise;
  steps.during = () => Promise.resolve();
  await stops.close();
  await expect.poll(() => steps.ran).toContain('stays left');
});

it('with more keys than places, a key that has more to do comes after those that wait', async () => {
  const steps = new Steps();
  for (let key = 1; key <= 15; key += 1) steps.left.set(`k${key}`, 20);
  await startProcess(steps, 'one', 10);
  await expect.poll(() => steps.ran.length).toBe(300);
  // Runs that began together may end in any order. Ten keys that kept their places would make the first 200.
  expect(new Set(steps.ran.slice(0, 100)).size).toBe(15);
});

it('a run knows whether other keys wait for its place', async () => {
  const steps = new Steps();
  for (const key of ['k1', 'k2', 'k3']) steps.left.set(key, 1);
  await startProcess(steps, 'one', 1);
  await expect.poll(() => steps.ran.length).toBe(3);
  expect(steps.waited).toEqual([true, true, false]);
});

it('a worker looks again when the database is back, reports each outage once, and leaves no timer', async () => {
  const clock = new ManualClock();
  const { lines, logger } = collectLog('warn');
  let looks = 0;
  let isAway = false;
  const duty: Duty = {
    ...new Steps().duty('one', 1, false),
    async readDue() {
      looks += 1;
      if (isAway) throw new Error('away');
      return [];
    },
  };
  let onReturn = (): void => undefined;
  const presence = {
    onLeft: () => undefined,
    onReturn(run: () => void) {
      onReturn = run;
    },
  } as unknown as Presence;
  const worker = createWorker({ presence, notifier: new ManualNotifier(), clock, logger }, duty);
  await worker.start();
  for (isAway of [true, true, false, true]) await clock.advance(5_000);
  isAway = false;
  onReturn();
  await clock.advance(0);
  expect([looks, lines.length]).toEqual([6, 2]);
  await worker.close();
  expect(clock.pending).toBe(0);
});

describe('a key that keeps its lease', () => {
  const keeper = (steps: Steps, name: string) => startProcess(steps, name, 4, true);

  it('is run by the process that has it, whichever process is notified', async () => {
    const steps = new Steps();
    const first = await keeper(steps, 'first');
    const second = await keeper(steps, 'second');
    for (const notified of [first, second]) {
      steps.left.set('key', 1);
      // The keeper may not hear yet.
      await expect
        .poll(async () => {
          await notified.runNow('key');
          return steps.left.get('key');
        })
        .toBe(0);
    }
    expect(steps.ran).toEqual(['first key', 'first key']);
  });

  it('is run by another as soon as its process begins to stop', async () => {
    const steps = new Steps();
    const stops = await keeper(steps, 'stops');
    const stays = await keeper(steps, 'stays');
    steps.left.set('key', 1);
    await stops.runNow('key');
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    steps.during = () => {
      begun.resolve();
      return held.promise;
    };
    steps.left.set('long', 1);
    const long = stops.runNow('long');
    await begun.promise;
    steps.during = () => Promise.resolve();
    const closed = stops.close();
    steps.left.set('key', 1);
    await expect.poll(() => stays.runNow('key')).toBe('idle');
    expect(steps.ran).toContain('stays key');
    const web = await openTestNotifier();
    steps.left.set('told', 1);
    await expect
      .poll(() => {
        web.tell('test-keeper', 'told');
        return steps.ran;
      })
      .toContain('stays told');
    held.resolve();
    await Promise.all([closed, long]);
  });

  it('has it for a minute after its last run, or until 500 others were run after it', async () => {
    const clock = new ManualClock();
    const presence: Pick<Presence, 'hold'> = {
      async hold(name, work) {
        await Promise.resolve();
        return { held: true, value: await work({ name, fence: 1 }, new AbortController().signal) };
      },
    };
    const released: string[] = [];
    const leases = createKeptLeases({ presence, clock }, 'test', (key) => released.push(key));
    const run = async (key = 'key'): Promise<void> => {
      const taken = await leases.take(key);
      if (taken !== null) await leases.keep(key, taken);
    };
    await run();
    await clock.advance(59_000);
    await run();
    await clock.advance(59_000);
    expect([leases.has('key'), released]).toEqual([true, []]);
    await clock.advance(1_000);
    expect([leases.has('key'), released]).toEqual([false, ['key']]);
    for (let count = 1; count <= 500; count += 1) await run(`k${count}`);
    await run('k1');
    await run('k501');
    await clock.advance(0);
    expect(released).toEqual(['key', 'k2']);
  });
});
