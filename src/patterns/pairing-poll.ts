/**
 * The rule: the network changes the pairing code about every 20 s, so a picture is stale within seconds. A client
 * reads the connection every 3 to 5 s, shows the picture of each answer, and stops once it is connected.
 *
 * The mistake that this prevents: the picture of the create call is put on a page and stays there. Whoever scans
 * it a minute later is told that it is not valid, and the page never learns that another one worked. The opposite
 * mistake is as common: a page that was left open polls for days, ten times a second when the service is away.
 *
 * - Each answer brings a new picture: it takes the place of the last one.
 * - An answer without a picture says that there is none now: the one on the page is void and is taken away. Whoever
 *   waits is told so. The service gives a picture with every read of a connection that pairs, and heals a session in
 *   about 2.5 minutes, so three minutes of answers without one are an error: the session must be restarted.
 * - Waits are spread over the 3 to 5 s, so that many pages do not ask at once.
 * - Without an answer the waits grow up to 30 s. `Retry-After` is kept, up to a minute.
 * - It ends by itself: connected, gone, nothing to pair, no picture, refused, or over its time.
 *
 * Reading, showing, the clock and chance come in as parameters.
 */

/** What one read of the connection brought. */
export type PairingRead =
  | {
      readonly kind: 'detail';
      /** `qr` or `cloud_api`; null or absent: not told. */
      readonly provider?: string | null | undefined;
      readonly status?: string | null | undefined;
      /** Null, absent or empty: the answer held no picture. */
      readonly qr?: string | null | undefined;
    }
  /** `retryAfterMs` is what `Retry-After` said; null: nothing. */
  | { readonly kind: 'refused'; readonly status: number; readonly retryAfterMs: number | null }
  /** No answer, or one that cannot be read. */
  | { readonly kind: 'lost' };

/** Why there is no picture for now. */
export type PairingPause =
  /** The service has none: take the last one away. */
  | 'no_picture'
  /** There is no answer: the last picture can be scanned until it is about 20 s old. */
  | 'service_unreachable'
  | 'rate_limited';

/** Why it ended before the number was connected. */
export type PairingStop =
  /** There is no session to pair: it was logged out, or broke. Restart it. */
  | 'disconnected'
  /** The service knows no such connection. */
  | 'not_found'
  /** A number of the business platform never pairs. */
  | 'not_supported_for_provider'
  /** The service refuses the credential: asking again changes nothing. */
  | 'refused'
  /** The service gave no picture for three minutes: restart the connection, then poll again. */
  | 'no_picture'
  /** Nobody paired in all that time. */
  | 'expired';

/** What follows a read. */
export type PairingStep =
  | { readonly next: 'show'; readonly qr: string; readonly status: string | null }
  | { readonly next: 'wait'; readonly reason: PairingPause }
  | { readonly next: 'connected'; readonly status: string }
  | { readonly next: 'stop'; readonly reason: PairingStop };

/** How it ended. */
export type PairingResult = Extract<PairingStep, { next: 'connected' | 'stop' }>;

export const SHORTEST_WAIT_MS = 3_000;
export const LONGEST_WAIT_MS = 5_000;
const LONGEST_PAUSE_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 60_000;
/** A session that heals itself takes about 2.5 minutes. */
const LONGEST_WITHOUT_PICTURE_MS = 180_000;

/** What is to be done with a read. Pure. */
export function judgePairing(read: PairingRead): PairingStep {
  if (read.kind === 'lost') return { next: 'wait', reason: 'service_unreachable' };
  if (read.kind === 'refused') return judgeRefusal(read.status);
  const { provider, status = null, qr } = read;
  if (provider === 'cloud_api') return { next: 'stop', reason: 'not_supported_for_provider' };
  // The list calls a live connection `open`, the detail `connected`.
  if (status === 'connected' || status === 'open') return { next: 'connected', status };
  // Whatever the status is called: where there is a picture, it can be scanned.
  if (qr) return { next: 'show', qr, status };
  return status === 'disconnected'
    ? { next: 'stop', reason: 'disconnected' }
    : { next: 'wait', reason: 'no_picture' };
}

function judgeRefusal(status: number): PairingStep {
  if (status === 429) return { next: 'wait', reason: 'rate_limited' };
  if (status >= 500 || status === 408) return { next: 'wait', reason: 'service_unreachable' };
  return { next: 'stop', reason: status === 404 ? 'not_found' : 'refused' };
}

/**
 * How long to wait before the next read, in milliseconds. `failures` counts the reads without a usable answer
 * since the last good one, this one included; `random` lies between 0 and 1. Pure.
 */
export function nextReadAfter(read: PairingRead, failures: number, random: number): number {
  const between = SHORTEST_WAIT_MS + random * (LONGEST_WAIT_MS - SHORTEST_WAIT_MS);
  if (failures === 0) return between;
  const asked = read.kind === 'refused' ? (read.retryAfterMs ?? 0) : 0;
  const grown = Math.min(between * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE_MS);
  return Math.max(grown, Math.min(asked, LONGEST_RETRY_AFTER_MS));
}

export interface PairingIo {
  /** `GET /connections/{id}`. Resolves whatever the answer is; rejects only when it is given up. */
  read(): Promise<PairingRead>;
  /** Takes what there is to see: a fresh picture, or why there is none for now, at each read. */
  show(step: Extract<PairingStep, { next: 'show' | 'wait' }>): void;
  /** Resolves after so many milliseconds; rejects when it is given up. */
  sleep(ms: number): Promise<void>;
  /** Milliseconds from an arbitrary start that never jump. */
  elapsed(): number;
  /** Between 0 and 1. */
  random(): number;
}

/**
 * Reads and shows until the number is connected or that is not to be had, for `forMs` at the longest. Resolves
 * with how it ended; rejects with what `read` or `sleep` rejects with.
 */
export async function pollPairing(io: PairingIo, forMs: number): Promise<PairingResult> {
  const begun = io.elapsed();
  let failures = 0;
  /** When the answers without a picture began. */
  let blankSince: number | null = null;
  for (;;) {
    const read = await io.read();
    const step = judgePairing(read);
    if (step.next === 'connected' || step.next === 'stop') return step;
    const isBlank = step.next === 'wait' && step.reason === 'no_picture';
    blankSince = isBlank ? (blankSince ?? io.elapsed()) : null;
    if (blankSince !== null && io.elapsed() - blankSince >= LONGEST_WITHOUT_PICTURE_MS) {
      return { next: 'stop', reason: 'no_picture' };
    }
    io.show(step);
    failures = read.kind === 'detail' ? 0 : failures + 1;
    const wait = nextReadAfter(read, failures, io.random());
    if (io.elapsed() + wait - begun > forMs) return { next: 'stop', reason: 'expired' };
    await io.sleep(wait);
  }
}
