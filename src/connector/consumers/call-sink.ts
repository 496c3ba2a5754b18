import type { Clock } from '../../runtime/clock/clock.ts';
import type { CallEnd, Sink, SinkCall } from './sinks/sink.ts';

export interface CallOptions {
  readonly clock: Clock;
  /** Its name, for errors. */
  readonly consumer: string;
  readonly deadlineMs: number;
  /** Aborts when the call must end. */
  readonly stop: AbortSignal;
}

/** A consumer exceeded the deadline of a call. */
export class CallDeadlineExceeded extends Error {
  override readonly name = 'CallDeadlineExceeded';

  constructor(consumer: string, deadlineMs: number) {
    super(`the consumer ${consumer} did not finish within ${deadlineMs / 1_000} s`);
  }
}

/**
 * Calls a consumer. Never rejects, and ends by the deadline or with `stop`, whatever the consumer does: its signal
 * aborts, and a call that does not end is abandoned.
 */
export async function callSink(
  sink: Pick<Sink, 'call'>,
  call: Omit<SinkCall, 'stop'>,
  { clock, consumer, deadlineMs, stop }: CallOptions,
): Promise<CallEnd> {
  const late = new AbortController();
  const signal = AbortSignal.any([late.signal, stop]);
  const aborted = Promise.withResolvers<CallEnd>();
  const resolveAborted = (): void =>
    aborted.resolve(stop.aborted ? { kind: 'stopped' } : { kind: 'late', error: signal.reason });
  signal.addEventListener('abort', resolveAborted);
  if (signal.aborted) return { kind: 'stopped' };
  const cancel = clock.after(deadlineMs, () => late.abort(new CallDeadlineExceeded(consumer, deadlineMs)), {
    keepAlive: true,
  });
  try {
    return await Promise.race([run(sink, { ...call, stop: signal }), aborted.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', resolveAborted);
  }
}

async function run(sink: Pick<Sink, 'call'>, call: SinkCall): Promise<CallEnd> {
  try {
    return await sink.call(call);
  } catch (error) {
    return { kind: 'failed', error };
  }
}
