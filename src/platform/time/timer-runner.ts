import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isConnectionFailure } from '../../runtime/database/errors.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { MovableClock } from './domain-clock.ts';
import { saveClock } from './service-state.ts';
import type { CommitChange, StateChange } from './state-change.ts';
import { deleteTimers, readTimers, type StoredTimer } from './timers.ts';
import type { WriteGate } from './write-gate.ts';

/** The maximum of timers per transaction. */
const BATCH = 256;
const RETRY_MS = 1_000;

/**
 * The handler of timers of a kind. A handler with `alone` gets one timer per transaction and may schedule others. Any
 * other gets consecutive timers and must not schedule, because a timer between two of them would fire late.
 */
export interface TimerHandler {
  readonly alone?: boolean;
  fire(change: StateChange, timers: readonly FiredTimer[]): Promise<void>;
}

export interface FiredTimer extends StoredTimer {
  /** Virtual time at which it fires: its due time during an advance, otherwise the present time. */
  readonly at: number;
}

interface RunnerOptions {
  readonly database: Queryable;
  readonly clock: MovableClock;
  readonly systemClock: Clock;
  readonly gate: WriteGate;
  readonly commit: CommitChange;
  readonly logger: Logger;
  readonly handlers: Readonly<Record<string, TimerHandler>>;
  /** Called with timers once their changes have been committed. */
  readonly onFired?: ((timers: readonly StoredTimer[]) => void) | undefined;
}

/** Fires timers in the order of their due times, one transaction at a time. */
export interface TimerRunner {
  /** Call it when timers have been committed; it sets the alarm earlier if necessary. */
  arm(dueAt: number): void;
  fireDue(): Promise<StoredTimer[]>;
  /**
   * Fires the next batch that is due until a time; returns an empty array if there is none. The caller holds the gate.
   * With `movesClock`, the clock is set to their due time, in the same transaction, before they fire.
   */
  fireBatch(until: number, movesClock: boolean): Promise<StoredTimer[]>;
  /** Reads the next timer and sets the alarm for it. If that fails, it is tried again. */
  rearm(): Promise<void>;
  close(): Promise<void>;
}

/** The longest prefix of due timers that one transaction may fire: those of one handler, or one timer. */
function firstRun(
  timers: readonly StoredTimer[],
  handlers: Readonly<Record<string, TimerHandler>>,
): { timers: readonly StoredTimer[]; handler: TimerHandler | undefined } {
  const [first] = timers;
  const handler = first === undefined ? undefined : handlers[first.kind];
  if (handler === undefined || handler.alone === true) return { timers: timers.slice(0, 1), handler };
  const end = timers.findIndex((timer) => handlers[timer.kind] !== handler);
  return { timers: end === -1 ? timers : timers.slice(0, end), handler };
}

export function createTimerRunner(options: RunnerOptions): TimerRunner {
  const { database, clock, systemClock, gate, commit, logger, handlers } = options;
  let cancelAlarm: (() => void) | null = null;
  let alarmAt = Number.POSITIVE_INFINITY;
  let inFlight: Promise<unknown> = Promise.resolve();
  let closed = false;

  const clearAlarm = (): void => {
    cancelAlarm?.();
    cancelAlarm = null;
    alarmAt = Number.POSITIVE_INFINITY;
  };

  const wakeAfter = (ms: number): void => {
    cancelAlarm = systemClock.after(ms, () => {
      clearAlarm();
      fireDue().catch(retry);
    });
  };

  /** Fires what is due in a second, whatever is armed until then. */
  const retry = (error: unknown): void => {
    logger.error({ err: error }, 'timers could not be fired; retrying');
    clearAlarm();
    alarmAt = Number.NEGATIVE_INFINITY;
    wakeAfter(RETRY_MS);
  };

  const arm = (dueAt: number): void => {
    if (closed || clock.frozen || dueAt >= alarmAt) return;
    clearAlarm();
    alarmAt = dueAt;
    wakeAfter(Math.max(0, dueAt - clock.now()));
  };

  const rearm = async (): Promise<void> => {
    clearAlarm();
    try {
      const [next] = await readTimers(database, Number.MAX_SAFE_INTEGER, 1);
      if (next !== undefined) arm(next.dueAt);
    } catch (error) {
      retry(error);
    }
  };

  const discard = async (timer: StoredTimer, error: unknown): Promise<void> => {
    logger.error({ err: error, id: timer.id, kind: timer.kind }, 'a timer failed and was removed');
    await deleteTimers(database, [timer.id]);
  };

  const fireBatch = async (until: number, movesClock: boolean, limit = BATCH): Promise<StoredTimer[]> => {
    const due = await readTimers(database, until, limit);
    const [first] = due;
    if (first === undefined) return [];
    const { timers, handler } = firstRun(due, handlers);
    const now = clock.now();
    const firing = timers.map((timer) => ({ ...timer, at: movesClock ? Math.max(timer.dueAt, now) : now }));
    if (movesClock) clock.pin(firing.at(-1)?.at ?? now);
    try {
      await commit(async (change) => {
        if (movesClock) await saveClock(change.tx, clock.stateAt(clock.now()));
        const present = await deleteTimers(
          change.tx,
          timers.map((timer) => timer.id),
        );
        if (present !== timers.length) throw new Error('timers were taken by another process');
        if (handler === undefined) throw new Error(`no handler for timers of kind '${first.kind}'`);
        await handler.fire(change, firing);
      });
      options.onFired?.(timers);
      return [...timers];
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      if (timers.length === 1) await discard(first, error);
      return fireBatch(until, movesClock, 1);
    }
  };

  const fireAll = async (): Promise<StoredTimer[]> => {
    const fired: StoredTimer[] = [];
    while (!closed) {
      const batch = await gate.shared(() => fireBatch(clock.now(), false));
      if (batch.length === 0) break;
      fired.push(...batch);
    }
    if (!closed) await rearm();
    return fired;
  };

  const fireDue = (): Promise<StoredTimer[]> => {
    const turn = inFlight.then(fireAll);
    inFlight = turn.catch(() => undefined);
    return turn;
  };

  return {
    arm,
    rearm,
    fireDue,
    fireBatch,
    async close() {
      closed = true;
      clearAlarm();
      await inFlight;
    },
  };
}
