import { backOffMs } from '../clock/back-off.ts';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import type { Logger } from '../logger/logger.ts';
import { createTurns, type Turns } from '../turns/turns.ts';

/** How a process ended: its exit code, or the signal that terminated it. */
export type ProcessEnd = number | NodeJS.Signals;

/** A process of a supervisor, starting with its launch. */
export interface SupervisedProcess {
  readonly pid: number | undefined;
  /** Resolves when it serves. Never settles for a process that exits first. */
  readonly ready: Promise<void>;
  /** Resolves when it has exited, for whatever reason. */
  readonly ended: Promise<ProcessEnd>;
  /** Its own report of why it cannot serve; undefined if none. */
  failure(): string | undefined;
  /** Asks it to finish its work and exit with 0. */
  drain(): void;
  kill(): void;
}

export interface SupervisorOptions {
  /** Number of processes that serve at any time. */
  readonly count: number;
  /** Starts the process with this number, from 1. */
  readonly launch: (number: number) => SupervisedProcess;
  /** Maximum time between asking a process to stop and its exit. */
  readonly drainMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A process that exited, or was not serving by its deadline. */
export class ProcessNotReady extends Error {
  override readonly name = 'ProcessNotReady';
}

interface Slot {
  readonly number: number;
  current: SupervisedProcess | undefined;
  servesSince: number;
  /** Consecutive exits soon after a start. */
  failures: number;
  cancelRetry: () => void;
  /** Its operations run one after the other. */
  readonly turns: Turns;
}

/** Migrating a large database may take its time. */
const READY_MS = 120_000;
/** A process that runs this long has not crashed because of its start. */
const STABLE_MS = 60_000;
const BACK_OFF = { firstMs: 1_000, longestMs: 30_000 };
/** This many consecutive failures are reported as a crash loop. */
const LOOP = 3;

/** 0 after the first failure, because somebody is waiting for a response; then 1 s, doubling up to 30 s. */
function waitAfter(failures: number): number {
  return failures < 2 ? 0 : backOffMs(failures - 1, BACK_OFF);
}

function describeEnd(end: ProcessEnd): string {
  return typeof end === 'number' ? `exit code ${end}` : end;
}

export type Supervisor = ReturnType<typeof createSupervisor>;

/**
 * Keeps a number of processes running, and replaces them so that at least one always serves. Nothing runs before
 * `start`.
 */
export function createSupervisor(options: SupervisorOptions) {
  const { launch, clock, logger } = options;
  const slots = Array.from(
    { length: options.count },
    (_, index): Slot => ({
      number: index + 1,
      current: undefined,
      servesSince: 0,
      failures: 0,
      cancelRetry: () => undefined,
      turns: createTurns(1),
    }),
  );
  const alive = new Set<SupervisedProcess>();
  const starting = new Set<SupervisedProcess>();
  const started = Promise.withResolvers<void>();
  let lastRoll: Promise<unknown> = started.promise;
  let nextRoll: Promise<boolean> | undefined;
  let stopping: Promise<boolean> | undefined;

  /** Launches a process and resolves when it serves. @throws {ProcessNotReady} */
  async function bringUp(slot: Slot): Promise<SupervisedProcess> {
    if (stopping !== undefined) throw new ProcessNotReady('the supervisor is stopping');
    const launched = launch(slot.number);
    alive.add(launched);
    starting.add(launched);
    void launched.ended.then(() => alive.delete(launched));
    const ready = Promise.race([launched.ready, launched.ended]);
    const end = await within(clock, READY_MS, ready).catch(() => 'late' as const);
    starting.delete(launched);
    if (end === undefined) return launched;
    launched.kill();
    const why =
      end === 'late' ? `was not serving within ${READY_MS / 1000} s` : `ended with ${describeEnd(end)}`;
    const failure = launched.failure();
    const reason = failure === undefined ? '' : `: ${failure}`;
    throw new ProcessNotReady(`process ${slot.number} ${why} before it was ready${reason}`);
  }

  function adopt(slot: Slot, next: SupervisedProcess): void {
    slot.cancelRetry();
    slot.current = next;
    slot.servesSince = clock.elapsed();
    void next.ended.then((end) => {
      if (slot.current !== next || stopping !== undefined) return;
      slot.current = undefined;
      logger.error(
        { process: slot.number, pid: next.pid, outcome: describeEnd(end) },
        'a process exited unexpectedly',
      );
      if (clock.elapsed() - slot.servesSince >= STABLE_MS) slot.failures = 0;
      retry(slot);
    });
  }

  function retry(slot: Slot): void {
    slot.failures += 1;
    const delayMs = waitAfter(slot.failures);
    if (slot.failures >= LOOP) {
      logger.error(
        { process: slot.number, failed: slot.failures, delayMs },
        'crash loop: a process keeps exiting soon after its start; the preceding lines explain why',
      );
    }
    slot.cancelRetry = clock.after(delayMs, () => void slot.turns.run(() => revive(slot)), {
      keepAlive: true,
    });
  }

  async function revive(slot: Slot): Promise<void> {
    if (slot.current !== undefined || stopping !== undefined) return;
    try {
      const next = await bringUp(slot);
      adopt(slot, next);
      logger.info(
        { process: slot.number, pid: next.pid },
        'a process was started to replace the one that exited',
      );
    } catch (err) {
      if (stopping !== undefined) return;
      logger.error({ process: slot.number, err }, 'a process could not be started');
      retry(slot);
    }
  }

  async function replace(slot: Slot): Promise<void> {
    const next = await bringUp(slot);
    const old = slot.current;
    adopt(slot, next);
    slot.failures = 0;
    logger.info({ process: slot.number, pid: next.pid }, 'a new process is serving');
    if (old !== undefined) await end(old);
  }

  async function end(old: SupervisedProcess): Promise<ProcessEnd> {
    old.drain();
    const how = await within(clock, options.drainMs, old.ended).catch(() => undefined);
    if (how !== undefined) return how;
    logger.error(
      { pid: old.pid, deadlineMs: options.drainMs },
      'a process did not exit in time and was killed',
    );
    old.kill();
    return await old.ended;
  }

  async function rollOnce(): Promise<boolean> {
    nextRoll = undefined;
    logger.info({ count: slots.length }, 'replacing processes one by one');
    for (const slot of slots) {
      try {
        await slot.turns.run(() => replace(slot));
      } catch (err) {
        if (stopping === undefined)
          logger.error(
            { process: slot.number, err },
            'roll-out stopped: a new process is not serving; the processes that serve keep running',
          );
        return false;
      }
    }
    logger.info({ count: slots.length }, 'all processes replaced');
    return true;
  }

  return {
    /**
     * Starts the processes and resolves when all of them serve. The first one starts alone, so that an error
     * common to all is reported once.
     * @throws {ProcessNotReady} if one of them cannot serve; the caller must then call `stop`.
     */
    async start(): Promise<void> {
      const [first, ...others] = slots;
      if (first === undefined) throw new RangeError('a supervisor needs at least one process');
      adopt(first, await bringUp(first));
      await Promise.all(others.map(async (slot) => adopt(slot, await bringUp(slot))));
      started.resolve();
    },
    /**
     * Replaces the processes one by one: each new process serves before its predecessor is asked to stop.
     * Resolves with true when all have been replaced; with false if one could not be replaced, in which case it
     * and the remaining ones keep running. Calls during a roll-out share the next one. Never rejects.
     */
    roll(): Promise<boolean> {
      nextRoll ??= lastRoll.then(rollOnce);
      lastRoll = nextRoll;
      return nextRoll;
    },
    /** Stops all processes and starts no more. Resolves with whether each of them exited with 0. Never rejects. */
    stop(): Promise<boolean> {
      stopping ??= stopAll();
      return stopping;
    },
  };

  async function stopAll(): Promise<boolean> {
    for (const slot of slots) slot.cancelRetry();
    const ends = await Promise.all(
      [...alive].map(async (each) => {
        // A process that never served has nothing to finish, so any exit is fine.
        const unborn = starting.has(each);
        return (await end(each)) === 0 || unborn;
      }),
    );
    return !ends.includes(false);
  }
}
