/**
 * The rule: the network rotates the pairing code about every 20 s, so a QR code is stale within seconds. A
 * client polls the connection every 3 to 5 s, shows the QR code of each response, and stops once it is
 * connected.
 *
 * The mistake that this prevents: the QR code of the create call is put on a page and stays there. Whoever
 * scans it a minute later sees that it is invalid, and the page never learns that another one worked. The
 * opposite mistake is as common: a page that was left open polls for days, ten times a second while the
 * service is away.
 *
 * - Each response contains a new QR code, which replaces the previous one.
 * - A response without a QR code means that the one on the page is no longer valid: remove it, and say so. The
 *   service returns a QR code with every read of a connection that is pairing, and heals a session in about 2.5
 *   minutes. Three minutes of responses without one are therefore an error: restart the session.
 * - Waits are spread over 3 to 5 s, so that many pages do not poll at the same moment.
 * - Without a response, the waits grow up to 30 s. `Retry-After` is respected, up to a minute.
 * - It ends by itself: connected, deleted, nothing to pair, no QR code, rejected, or timed out. Only an error code of
 *   the service ends it: the 404 of a proxy that is restarting says nothing about the connection.
 *
 * Reading, showing, the clock and the random source are parameters.
 */

/** The result of one read of the connection. */
export type PairingRead =
  | {
      readonly kind: 'detail';
      /** `qr` or `cloud_api`; null or absent if unknown. */
      readonly provider?: string | null | undefined;
      readonly status?: string | null | undefined;
      /** PNG as a data URI; null, absent or empty if the response contained none. */
      readonly qr?: string | null | undefined;
    }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** `error` of the body; any text that is no code of the service, such as `''`, if the body has none. */
      readonly code: string;
      /** The value of `Retry-After`; null if absent. */
      readonly retryAfterMs: number | null;
    }
  /** No response, or one that cannot be read. */
  | { readonly kind: 'lost' };

/** Why no QR code is currently available. */
export type PairingPause =
  /** The service has none: remove the last one. */
  | 'no_picture'
  /** No response: the last QR code can be scanned until it is about 20 s old. */
  | 'service_unreachable'
  | 'rate_limited';

/** Why it ended before the number was connected. */
export type PairingStop =
  /** There is no session to pair: it was logged out or is broken. Restart it. */
  | 'disconnected'
  /** The connection does not exist. */
  | 'not_found'
  /** A number of the business platform never pairs. */
  | 'not_supported_for_provider'
  /** The service rejects the credential: retrying changes nothing. */
  | 'refused'
  /** The service returned no QR code for three minutes: restart the connection, then poll again. */
  | 'no_picture'
  /** Nobody paired before the timeout. */
  | 'expired';

/** What follows a read. */
export type PairingStep =
  | { readonly next: 'show'; readonly qr: string; readonly status: string | null }
  | { readonly next: 'wait'; readonly reason: PairingPause }
  | { readonly next: 'connected'; readonly status: string }
  | { readonly next: 'stop'; readonly reason: PairingStop };

/** How it ended. */
export type PairingResult = Extract<PairingStep, { next: 'connected' | 'stop' }>;

export const SHORTEST_WAIT_MS = 3_000; // [connections.create.client-polls]
export const LONGEST_WAIT_MS = 5_000; // [connections.create.client-polls]
const LONGEST_PAUSE_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 60_000;
/** A session that heals itself takes about 2.5 minutes. */
const LONGEST_WITHOUT_PICTURE_MS = 180_000;

/** Decides what follows a read. Pure. */
export function judgePairing(read: PairingRead): PairingStep {
  if (read.kind === 'lost') return { next: 'wait', reason: 'service_unreachable' };
  if (read.kind === 'refused') return judgeRefusal(read.code, read.status);
  const { provider, status = null, qr } = read;
  if (provider === 'cloud_api') return { next: 'stop', reason: 'not_supported_for_provider' };
  // A live connection is `open` in the list and `connected` in the detail.
  if (status === 'connected' || status === 'open') return { next: 'connected', status };
  // Whatever the status: if there is a QR code, it can be scanned.
  if (qr) return { next: 'show', qr, status };
  return status === 'disconnected'
    ? { next: 'stop', reason: 'disconnected' }
    : { next: 'wait', reason: 'no_picture' };
}

/** Refusals of `GET /connections/{id}` that another read does not change. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_key',
  'invalid_token',
  'ip_not_allowed',
  'insufficient_scope',
  'invalid_grant',
  'addon_required',
  'license_inactive',
  'method_not_allowed',
]);

function judgeRefusal(code: string, status: number): PairingStep {
  if (code === 'not_found') return { next: 'stop', reason: 'not_found' };
  if (FINAL_CODES.has(code)) return { next: 'stop', reason: 'refused' };
  return { next: 'wait', reason: status === 429 ? 'rate_limited' : 'service_unreachable' };
}

/**
 * How long to wait before the next read, in milliseconds. `failures` counts the reads without a usable
 * response since the last good one, including this one; `random` is between 0 and 1. Pure.
 */
export function nextReadAfter(read: PairingRead, failures: number, random: number): number {
  const between = SHORTEST_WAIT_MS + random * (LONGEST_WAIT_MS - SHORTEST_WAIT_MS);
  if (failures === 0) return between;
  // `NaN`, which `Number()` makes of a date, would be no wait at all.
  const asked = read.kind === 'refused' ? read.retryAfterMs || 0 : 0;
  const grown = Math.min(between * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE_MS);
  return Math.max(grown, Math.min(asked, LONGEST_RETRY_AFTER_MS));
}

export interface PairingIo {
  /** `GET /connections/{id}`. Resolves for every response; rejects only if it was aborted. */
  read(): Promise<PairingRead>;
  /** Receives what to show at each read: a new QR code, or why none is currently available. */
  show(step: Extract<PairingStep, { next: 'show' | 'wait' }>): void;
  /** Resolves after this many milliseconds; rejects if it was aborted. */
  sleep(ms: number): Promise<void>;
  /** Milliseconds from an arbitrary start, monotonic. */
  elapsed(): number;
  /** Between 0 and 1. */
  random(): number;
}

/**
 * Polls and shows until the number is connected or cannot be, for at most `forMs`. Resolves with how it
 * ended; rejects with what `read` or `sleep` rejects with.
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
