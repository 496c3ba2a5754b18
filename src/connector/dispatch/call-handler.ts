import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { ChangeHandlers } from './handlers.ts';

/**
 * How a call ended:
 * - `taken`: the handler is done.
 * - `failed`: it threw.
 * - `late`: it was not done at its deadline.
 * - `stopped`: the process has to stop, or lost the connection. Says nothing of the handler.
 */
export type CallEnd =
  | { readonly kind: 'taken' | 'stopped' }
  | { readonly kind: 'failed' | 'late'; readonly error: unknown };

export interface CallOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Aborts when the call is to be given up. */
  readonly stop: AbortSignal;
}

/** A handler was not done in time. */
export class HandlerDeadlineExceeded extends Error {
  override readonly name = 'HandlerDeadlineExceeded';

  constructor(deadlineMs: number) {
    super(`the handler was not done after ${deadlineMs / 1_000} s`);
  }
}

/**
 * Calls the handler with one change. Never rejects, and ends by the deadline or with `stop`, whatever the handler
 * does: its signal aborts, and a call that goes on regardless is left behind.
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
  const tell = (): void =>
    aborted.resolve(stop.aborted ? { kind: 'stopped' } : { kind: 'late', error: signal.reason });
  signal.addEventListener('abort', tell);
  if (signal.aborted) return { kind: 'stopped' };
  const cancel = clock.after(deadlineMs, () => late.abort(new HandlerDeadlineExceeded(deadlineMs)), {
    keepAlive: true,
  });
  try {
    return await Promise.race([run(handlers, change, { ...named, signal }), aborted.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', tell);
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
