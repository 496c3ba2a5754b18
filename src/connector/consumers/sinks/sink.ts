import type { Change } from '../../../contract/connector/changes.ts';

/**
 * How a call ended:
 * - `taken`: the consumer has accepted every change of the call.
 * - `stopped`: the process is stopping, or lost the partition. This says nothing about the consumer.
 * - `failed`: the consumer did not accept it. `retryAfterMs` is the wait that it asked for. `byGateway`: what is before
 *   the consumer answered, because the consumer is away, or the change has broken it.
 * - `late`: it exceeded its deadline.
 * - `unavailable`: it is away as a whole, and has not seen the change. This counts as no attempt; all its changes wait.
 * - `disabled`: the consumer asked not to be called again. Nothing is lost.
 */
export type CallEnd =
  | { readonly kind: 'taken' | 'stopped' }
  | {
      readonly kind: 'failed' | 'late';
      readonly error: unknown;
      readonly retryAfterMs?: number;
      readonly byGateway?: true;
    }
  | Unavailable
  | { readonly kind: 'disabled'; readonly error: unknown };

/** The consumer is away as a whole. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly error: unknown;
  readonly retryAfterMs?: number;
}

/** Longest wait that a consumer may ask for. */
export const LONGEST_ASKED_MS = 15 * 60_000;

/** One call of a consumer. */
export interface SinkCall {
  /** One change, or a batch of one connection in order, each with its permanent key. */
  readonly changes: readonly { readonly change: Change; readonly key: string }[];
  /** 1 in the first call. */
  readonly attempt: number;
  /** Aborts at the deadline of the call, and when the process must stop. The caller does not wait any longer. */
  readonly stop: AbortSignal;
}

/** Calls a consumer. One instance serves all connections of the consumer in this process. */
export interface Sink {
  /** Makes one call. What it throws counts as `failed`. */
  call(call: SinkCall): Promise<CallEnd>;
  /** How a call ends that exceeds its deadline. Default `late`. */
  readonly whenLate?: 'unavailable';
  /** Ends what the sink keeps open. Called once, when no call is in progress. */
  close(): Promise<void>;
}
