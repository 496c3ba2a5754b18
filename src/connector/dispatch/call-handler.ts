import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { ChangeHandlers } from './handlers.ts';

/**
 * How a call ended:
 * - `taken`: the handler has accepted the change.
 * - `failed`: it threw.
 * - `late`: it exceeded its deadline.
 * - `stopped`: the process is stopping, or lost the queue. This says nothing about the handler.
 */
export type CallEnd =
  | { readonly kind: 'taken' | 'stopped' }
  | { readonly kind: 'failed' | 'late'; readonly error: unknown };

export interface CallOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Aborts when the call must end. */
  readonly stop: AbortSignal;
}

/** A handler exceeded its deadline. */
export class HandlerDeadlineExceeded extends Error {
  override readonly name = 'HandlerDeadlineExceeded';

  constructor(deadlineMs: number) {
    super(`the handler did not finish within ${deadlineMs / 1_000} s`);
  }
}

/**
 * Calls the handler with one change. Never rejects, and ends by the deadline or with `stop`, whatever the
 * handler does: its signal aborts, and a call that does not end is abandoned.
 */
export async function callHandler(
  handlers: ChangeHandlers,
  change: Change,
  named: { readonly key: string; readonly attempt: number },
  { clock, deadlineMs, stop }: CallOptions,
): Promise<CallEnd> {
  const late = new AbortController();
  const signal = AbortSignal.any([late.signal, stop]);
  const aborted = Promise.withResolvers<CallEnd>();
  const resolveAborted = (): void =>
    aborted.resolve(stop.aborted ? { kind: 'stopped' } : { kind: 'late', error: signal.reason });
  signal.addEventListener('abort', resolveAborted);
  if (signal.aborted) return { kind: 'stopped' };
  const cancel = clock.after(deadlineMs, () => late.abort(new HandlerDeadlineExceeded(deadlineMs)), {
    keepAlive: true,
  });
  try {
    return await Promise.race([run(handlers, change, { ...named, signal }), aborted.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', resolveAborted);
  }
}

async function run(
  handlers: ChangeHandlers,
  change: Change,
  context: { readonly key: string; readonly attempt: number; readonly signal: AbortSignal },
): Promise<CallEnd> {
  try {
    await handlers.onChange(change, context);
    return { kind: 'taken' };
  } catch (error) {
    return { kind: 'failed', error };
  }
}
