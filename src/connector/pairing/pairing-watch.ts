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

/** Nobody pairs for so long; whoever still looks opens the stream again. */
const LONGEST_MS = 15 * 60_000;

const WAIT_SENTENCES: Readonly<Record<PairingWait, string>> = {
  no_picture: 'The service shows no picture now; it is asked again.',
  service_unreachable: 'The service does not answer; asking again.',
  rate_limited: 'The service asks to wait; asking again later.',
};
const END_SENTENCES: Readonly<Record<PairingEnd, string>> = {
  disconnected: 'There is no session to pair: restart the connection, then open this stream again.',
  not_found: 'The service knows no such connection.',
  not_supported_for_provider: 'A number of the business platform never pairs.',
  refused: 'The service refuses to show the connection.',
  no_picture:
    'The service has shown no picture for three minutes: restart the connection, then open this stream again.',
  expired: 'Nobody has paired for a long time; open this stream again to go on.',
  closing: 'This process cannot go on; open this stream again.',
};

export interface PairingWatchOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Reads the connection at the service. Throws a `ServiceError`. */
  readonly read: (signal: AbortSignal) => Promise<ReadConnectionDetail>;
  /** Called before anybody is told that it ended. */
  readonly onEnd: (result: PairingResult) => Promise<void>;
  /** Takes each event, in order. Nothing follows `connected` and `ended`. */
  readonly tell: (event: PairingEvent) => void;
}

/** An event that says that a stream ended. */
export function endedEvent(reason: PairingEnd, code?: string): PairingEvent {
  const why = code === undefined ? '' : ` (${code})`;
  const advice = code !== undefined && isErrorCode(code) ? ` ${ERRORS[code].meaning}` : '';
  return { type: 'ended', reason, message: `${END_SENTENCES[reason]}${why}${advice}` };
}

/**
 * Reads a connection again and again for those who look, and tells what there is to see. Resolves after the last
 * event; rejects when `signal` aborts, and with what is no failure of the service.
 */
export async function watchPairing(options: PairingWatchOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, tell } = options;
  let refusal: string | undefined;

  async function read(): Promise<PairingRead> {
    try {
      return { kind: 'detail', ...(await options.read(signal)) };
    } catch (error) {
      if (signal.aborted || !(error instanceof ServiceError)) throw error;
      if (!(error instanceof ServiceRefusal)) return { kind: 'lost' };
      refusal = error.code;
      return { kind: 'refused', status: error.status, retryAfterMs: error.retryAfterMs };
    }
  }

  const io = {
    read,
    show: (step: Extract<PairingStep, { next: 'show' | 'wait' }>) => tell(toEvent(step)),
    sleep: (ms: number) => clock.sleep(ms, signal),
    elapsed: () => clock.elapsed(),
    random,
  };
  const result = await pollPairing(io, LONGEST_MS);
  await options.onEnd(result);
  if (result.next === 'connected') tell({ type: 'connected', status: result.status });
  else tell(endedEvent(result.reason, result.reason === 'refused' ? refusal : undefined));
}

function toEvent(step: Extract<PairingStep, { next: 'show' | 'wait' }>): PairingEvent {
  if (step.next === 'show') return { type: 'qr', status: step.status, qr: step.qr };
  return { type: 'waiting', reason: step.reason, message: WAIT_SENTENCES[step.reason] };
}
