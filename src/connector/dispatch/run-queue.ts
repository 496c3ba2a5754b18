import type { Change } from '../../contract/connector/changes.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import { presentChange, type StoredChange } from '../feed/present-change.ts';
import { SILENT_MS } from '../work/presence.ts';
import type { Run, RunEnd } from '../work/worker.ts';
import { callHandler } from './call-handler.ts';
import { describeFailure } from './describe-failure.ts';
import type { QueueContext } from './queue-context.ts';
import {
  endRun,
  noteFailure,
  noteTaken,
  openQueue,
  type QueuedChange,
  type QueueRun,
  setAside,
} from './queue-store.ts';

/** Calls of one change if the handler does not specify how many. */
export const DEFAULT_ATTEMPTS = 12;
/** Longest call if the handler does not specify it. */
export const DEFAULT_DEADLINE_MS = 30_000;
/** The wait after a failed call of a change. */
const WAIT = { firstMs: 1_000, longestMs: 2 * 60_000, spread: 0.2 };
/**
 * Maximum number of changes of one run, so that a long queue does not occupy its place in the process for too
 * long.
 */
const MAX_CHANGES = 50;
/** After this time, a run that has more to do gives up its place if other queues wait for one. */
const SLICE_MS = 250;

/** A run of a queue, and when to stop. */
interface DispatchRun extends QueueRun {
  readonly stopping: AbortSignal;
  /** Aborts when a call in progress must end. */
  readonly aborting: AbortSignal;
}

/**
 * Dispatches what is due on a connection, one change after the other, under the lease of its queue. Each step
 * is committed before the next change is called, so a process that dies repeats at most one change of a
 * connection. Throws what the database throws.
 */
export async function runQueue(
  context: QueueContext,
  { key: connectionId, lease, lost, stopping, aborting, othersWait }: Run,
): Promise<RunEnd> {
  const { clock } = context;
  const beganAt = clock.elapsed();
  const givesUp = (): boolean => othersWait() && clock.elapsed() - beganAt >= SLICE_MS;
  const run = {
    connectionId,
    fence: lease.fence,
    stopping,
    aborting: AbortSignal.any([lost, aborting]),
  };
  for (let left = MAX_CHANGES; left > 0 && !givesUp(); ) {
    const now = clock.now();
    const queue = await openQueue(context.database, lease, { connectionId, now, limit: left });
    if (queue === null) return 'stopped';
    if (queue.dueAt === null || queue.dueAt > now) return 'idle';
    const [first] = queue.changes;
    if (first === undefined) break;
    if (queue.wasLeft) return await blameFirst(context, run, first);
    for (const change of queue.changes) {
      const end = await dispatchChange(context, run, change);
      if (end !== 'next') return end;
      left -= 1;
      if (givesUp()) break;
    }
  }
  await endRun(context.database, run);
  return 'more';
}

/** Calls the handler with one change and commits the result. `next`: the queue has more. */
async function dispatchChange(
  context: QueueContext,
  run: DispatchRun,
  { stored, attempts }: QueuedChange,
): Promise<RunEnd | 'next'> {
  const { database, clock, metrics, handlers, keyOf } = context;
  const { seq } = stored;
  if (run.stopping.aborted) {
    await endRun(database, run);
    return 'stopped';
  }
  const change = await readChange(context, run, stored);
  const beganAt = clock.elapsed();
  const end = await callHandler(
    handlers,
    change,
    { key: keyOf(seq), attempt: attempts + 1 },
    { clock, deadlineMs: handlers.deadlineMs ?? DEFAULT_DEADLINE_MS, stop: run.aborting },
  );
  metrics.calls.inc({ result: end.kind });
  metrics.seconds.observe((clock.elapsed() - beganAt) / 1_000);
  switch (end.kind) {
    case 'taken':
      return readStep(await noteTaken(database, run, seq));
    case 'stopped':
      await endRun(database, run);
      return 'stopped';
    case 'failed':
    case 'late':
      return await noteEnd(context, run, { stored, attempts }, { thrown: end.error, change });
  }
}

/** A change that only a newer version can read waits for that version; it does not count as failed. */
async function readChange({ database }: QueueContext, run: QueueRun, stored: StoredChange): Promise<Change> {
  try {
    return presentChange(stored);
  } catch (error) {
    await endRun(database, run);
    throw error;
  }
}

/** Another call of the change has failed: it is retried later, or set aside. */
async function noteEnd(
  context: QueueContext,
  run: QueueRun,
  { stored: { seq }, attempts }: QueuedChange,
  failure: { readonly thrown: unknown; readonly change: Change | null; readonly agoMs?: number },
): Promise<RunEnd | 'next'> {
  const { thrown, change, agoMs = 0 } = failure;
  const { database, clock, logger, handlers, keyOf } = context;
  const now = clock.now();
  const failed = attempts + 1;
  const error = describeFailure(thrown, change);
  const details = {
    // The message may repeat what a customer wrote, so only the dead letter has it.
    ...describeFault(thrown),
    connectionId: run.connectionId,
    changeId: keyOf(seq),
    attempt: failed,
  };
  if (failed >= (handlers.attempts ?? DEFAULT_ATTEMPTS)) {
    const step = await setAside(database, run, { seq, attempts: failed, error, now });
    if (step !== null)
      logger.error(
        details,
        'the handler did not accept a change in its last attempt; it is now a dead letter',
      );
    return readStep(step);
  }
  const delayMs = Math.max(0, backOffMs(failed, WAIT, context.random()) - agoMs);
  logger.warn(
    { ...details, delayMs },
    'the handler did not accept a change; it is retried, and its connection waits',
  );
  const noted = await noteFailure(database, run, { seq, attempts: failed, dueAt: now + delayMs });
  return noted ? 'idle' : 'stopped';
}

/** The process that had the queue died. The first change may have been the cause, so this counts as a call. */
async function blameFirst(context: QueueContext, run: QueueRun, first: QueuedChange): Promise<RunEnd> {
  // The wait starts with its death, which is only noticed some seconds later.
  const failure = { thrown: new ProcessEnded(), change: null, agoMs: SILENT_MS };
  const end = await noteEnd(context, run, first, failure);
  if (end !== 'next') return end;
  await endRun(context.database, run);
  return 'more';
}

/** Stored in place of the error of a handler whose process died. */
class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';

  constructor() {
    super('the process ended while it dispatched');
  }
}

function readStep(waiting: number | null): RunEnd | 'next' {
  if (waiting === null) return 'stopped';
  return waiting === 0 ? 'idle' : 'next';
}
