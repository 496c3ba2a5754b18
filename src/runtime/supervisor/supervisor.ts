import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import type { Logger } from '../logger/logger.ts';

/** How a process ended: its exit code, or the signal that ended it. */
export type ProcessEnd = number | NodeJS.Signals;

/** A process of a supervisor, from its launch on. */
export interface SupervisedProcess {
  readonly pid: number | undefined;
  /** Resolves when it serves. Stays open for one that ends before. */
  readonly ready: Promise<void>;
  /** Resolves when it is gone, however it came to that. */
  readonly ended: Promise<ProcessEnd>;
  /** What it has said of why it cannot serve; undefined: nothing. */
  trouble(): string | undefined;
  /** Asks it to finish what it has begun, and to end with 0. */
  drain(): void;
  /** Ends it as it is. */
  kill(): void;
}

export interface SupervisorOptions {
  /** How many processes serve at any time. */
  readonly count: number;
  /** Starts the process with this number, from 1. */
  readonly launch: (number: number) => SupervisedProcess;
  /** The longest that a process may take to end after it was asked to. */
  readonly drainMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps a number of processes alive, and replaces them without a moment in which none serves. */
export interface Supervisor {
  /**
   * Starts the processes and resolves when all of them serve. The first one goes ahead alone, so that what is wrong
   * for all of them is said once.
   * @throws {ProcessNotReady} when one of them cannot; whoever started it calls `stop` then.
   */
  start(): Promise<void>;
  /**
   * Replaces one process after the other: the next one serves before its predecessor is asked to end. Resolves with
   * true when all are new; with false when one could not be replaced, and then it and those after it go on as they
   * are. Calls that come while a roll-out runs share the one after it. Never rejects.
   */
  roll(): Promise<boolean>;
  /** Ends all processes and starts no more. Resolves with whether each of them ended with 0. Never rejects. */
  stop(): Promise<boolean>;
}

/** A process that ended, or had not come to serve at its deadline. */
export class ProcessNotReady extends Error {
  override readonly name = 'ProcessNotReady';
}

interface Slot {
  readonly number: number;
  current: SupervisedProcess | undefined;
  servesSince: number;
  /** Ends in a row that came soon after a start. */
  failures: number;
  cancelRetry: () => void;
  /** What is done for this slot, one thing after the other. */
  turn: Promise<unknown>;
}

/** Migrating a big database may take its time. */
const READY_MS = 120_000;
/** Who lives this long has not crashed because of its start. */
const STABLE_MS = 60_000;
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 30_000;
/** So many failures in a row are called a crash loop. */
const LOOP = 3;

/** 0 after one failure: somebody waits for an answer. Then 1 s, doubled up to 30 s. */
function backOffMs(failures: number): number {
  return failures < 2 ? 0 : Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (failures - 2));
}

function describeEnd(end: ProcessEnd): string {
  return typeof end === 'number' ? `exit code ${end}` : end;
}

/** Makes a supervisor. Nothing runs before `start`. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { launch, clock, logger } = options;
  const slots = Array.from(
    { length: options.count },
    (_, index): Slot => ({
      number: index + 1,
      current: undefined,
      servesSince: 0,
      failures: 0,
      cancelRetry: () => undefined,
      turn: Promise.resolve(),
    }),
  );
  const alive = new Set<SupervisedProcess>();
  const starting = new Set<SupervisedProcess>();
  const started = Promise.withResolvers<void>();
  let lastRoll: Promise<unknown> = started.promise;
  let nextRoll: Promise<boolean> | undefined;
  let stopping: Promise<boolean> | undefined;

  function inTurn<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
    const done = slot.turn.then(work);
    slot.turn = done.catch(() => undefined);
    return done;
  }

  /** Launches a process and resolves when it serves. @throws {ProcessNotReady} */
  async function bringUp(slot: Slot): Promise<SupervisedProcess> {
    if (stopping !== undefined) throw new ProcessNotReady('the supervisor is stopping');
    const launched = launch(slot.number);
    alive.add(launched);
    starting.add(launched);
    void launched.ended.then(() => alive.delete(launched));
    const ready = Promise.race([launched.ready, launched.ended]);
    const end = await within(clock, READY_MS, ready).catch(() => 'late' as const);
    if (end === undefined) {
      starting.delete(launched);
      return launched;
    }
    launched.kill();
    const why =
      end === 'late' ? `did not serve within ${READY_MS / 1000} s` : `ended with ${describeEnd(end)}`;
    const trouble = launched.trouble();
    const reason = trouble === undefined ? '' : `: ${trouble}`;
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
        'a process ended by itself',
      );
      if (clock.elapsed() - slot.servesSince >= STABLE_MS) slot.failures = 0;
      retry(slot);
    });
  }

  function retry(slot: Slot): void {
    slot.failures += 1;
    const delayMs = backOffMs(slot.failures);
    if (slot.failures >= LOOP) {
      logger.error(
        { process: slot.number, failed: slot.failures, delayMs },
        'crash loop: a process keeps ending soon after its start; the lines before this one say why',
      );
    }
    slot.cancelRetry = clock.after(delayMs, () => void inTurn(slot, () => revive(slot)), { keepAlive: true });
  }

  async function revive(slot: Slot): Promise<void> {
    if (slot.current !== undefined || stopping !== undefined) return;
    try {
      const next = await bringUp(slot);
      adopt(slot, next);
      logger.info({ process: slot.number, pid: next.pid }, 'a process takes the place of the one that ended');
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
    logger.info({ process: slot.number, pid: next.pid }, 'a new process serves');
    if (old !== undefined) await end(old);
  }

  async function end(old: SupervisedProcess): Promise<ProcessEnd> {
    old.drain();
    const how = await within(clock, options.drainMs, old.ended).catch(() => undefined);
    if (how !== undefined) return how;
    logger.error(
      { pid: old.pid, deadlineMs: options.drainMs },
      'a process did not end in time and was killed',
    );
    old.kill();
    return await old.ended;
  }

  async function rollOnce(): Promise<boolean> {
    nextRoll = undefined;
    logger.info({ count: slots.length }, 'replacing processes one by one');
    for (const slot of slots) {
      try {
        await inTurn(slot, () => replace(slot));
      } catch (err) {
        if (stopping === undefined)
          logger.error(
            { process: slot.number, err },
            'roll-out stopped: a new process did not come to serve; those that serve go on',
          );
        return false;
      }
    }
    logger.info({ count: slots.length }, 'all processes replaced');
    return true;
  }

  return {
    async start() {
      const [first, ...others] = slots;
      if (first === undefined) throw new RangeError('a supervisor needs a process');
      adopt(first, await bringUp(first));
      await Promise.all(others.map(async (slot) => adopt(slot, await bringUp(slot))));
      started.resolve();
    },
    roll() {
      nextRoll ??= lastRoll.then(rollOnce);
      lastRoll = nextRoll;
      return nextRoll;
    },
    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };

  async function stopAll(): Promise<boolean> {
    for (const slot of slots) slot.cancelRetry();
    const ends = await Promise.all(
      [...alive].map(async (each) => {
        // One that has not come to serve has nothing to finish; however it ends is well.
        const unborn = starting.has(each);
        return (await end(each)) === 0 || unborn;
      }),
    );
    return !ends.includes(false);
  }
}
