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
  sink: Pick<Sink, 'call' | 'whenLate'>,
  call: Omit<SinkCall, 'stop'>,
  { clock, consumer, deadlineMs, stop }: CallOptions,
): Promise<CallEnd> {
  if (stop.aborted) return { kind: 'stopped' };
  const over = new AbortController();
  const ended = Promise.withResolvers<CallEnd>();
  const onStop = (): void => {
    ended.resolve({ kind: 'stopped' });
    over.abort(stop.reason);
  };
  const onDeadline = (): void => {
    const error = new CallDeadlineExceeded(consumer, deadlineMs);
    ended.resolve({ kind: sink.whenLate ?? 'late', error });
    over.abort(error);
  };
  // Cheaper than a signal that is composed for each call.
  stop.addEventListener('abort', onStop);
  const cancel = clock.after(deadlineMs, onDeadline, { keepAlive: true });
  try {
    return await Promise.race([run(sink, { ...call, stop: over.signal }), ended.promise]);
  } finally {
    cancel();
    stop.removeEventListener('abort', onStop);
  }
}

async function run(sink: Pick<Sink, 'call'>, call: SinkCall): Promise<CallEnd> {
  try {
    return await sink.call(call);
  } catch (error) {
    return { kind: 'failed', error };
  }
}
