import type { PairingEnd, PairingEvent, PairingWait } from '../../contract/connector/pairing.ts';
import { ERRORS, isErrorCode } from '../../contract/service/errors.ts';
import type { ReadConnectionDetail } from '../../contract/service/read-answers.ts';
import {
  type PairingRead,
  type PairingResult,
  type PairingStep,
  pollPairing,
} from '../../patterns/pairing-poll.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';

/** The time without a pairing after which viewers must open the stream again. */
const LONGEST_MS = 15 * 60_000;

const WAIT_SENTENCES: Readonly<Record<PairingWait, string>> = {
  no_picture: 'The service shows no QR code now; retrying.',
  service_unreachable: 'The service does not respond; retrying.',
  rate_limited: 'The service asked to wait; retrying later.',
};
const END_SENTENCES: Readonly<Record<PairingEnd, string>> = {
  disconnected: 'There is no session to pair: restart the connection, then open this stream again.',
  not_found: 'The connection does not exist at the service.',
  not_supported_for_provider: 'A number of the business platform cannot be paired.',
  refused: 'The service rejected the request for the connection.',
  no_picture:
    'The service has shown no QR code for three minutes: restart the connection, then open this stream again.',
  expired: 'The connection was not paired for a long time; open this stream again to continue.',
  closing: 'This process is stopping; open this stream again.',
};

export interface PairingWatchOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Reads the connection from the service. Throws a `ServiceError`. */
  readonly read: (signal: AbortSignal) => Promise<ReadConnectionDetail>;
  /** Called before the viewers receive the end. */
  readonly onEnd: (result: PairingResult) => Promise<void>;
  /** Receives each event, in order. Nothing follows `connected` and `ended`. */
  readonly publish: (event: PairingEvent) => void;
}

/** The event that reports the end of a stream. */
export function endedEvent(reason: PairingEnd, code?: string): PairingEvent {
  const why = code === undefined ? '' : ` (${code})`;
  const advice = code !== undefined && isErrorCode(code) ? ` ${ERRORS[code].meaning}` : '';
  return { type: 'ended', reason, message: `${END_SENTENCES[reason]}${why}${advice}` };
}

/**
 * Polls a connection for its viewers and reports what there is to see. Resolves after the last event; rejects
 * when `signal` aborts, and with errors that are not failures of the service.
 * [connections.create.client-polls]
 */
export async function watchPairing(options: PairingWatchOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, publish } = options;
  let refusal: string | undefined;

  async function read(): Promise<PairingRead> {
    try {
      return { kind: 'detail', ...(await options.read(signal)) };
    } catch (error) {
      if (signal.aborted || !(error instanceof ServiceError)) throw error;
      if (!(error instanceof ServiceRefusal)) return { kind: 'lost' };
      refusal = error.code;
      return { kind: 'refused', status: error.status, code: error.code, retryAfterMs: error.retryAfterMs };
    }
  }

  const io = {
    read,
    show: (step: Extract<PairingStep, { next: 'show' | 'wait' }>) => publish(toEvent(step)),
    sleep: (ms: number) => clock.sleep(ms, signal),
    elapsed: () => clock.elapsed(),
    random,
  };
  const result = await pollPairing(io, LONGEST_MS);
  await options.onEnd(result);
  if (result.next === 'connected') publish({ type: 'connected', status: result.status });
  else publish(endedEvent(result.reason, result.reason === 'refused' ? refusal : undefined));
}

function toEvent(step: Extract<PairingStep, { next: 'show' | 'wait' }>): PairingEvent {
  if (step.next === 'show') return { type: 'qr', status: step.status, qr: step.qr };
  return { type: 'waiting', reason: step.reason, message: WAIT_SENTENCES[step.reason] };
}
