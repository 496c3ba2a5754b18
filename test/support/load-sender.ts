import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Clock } from '../../src/runtime/clock/clock.ts';
import type { LoadEvent } from './load-plan.ts';

/** How one attempt ended: a status, or why there was none. */
export interface Attempt {
  readonly status: number | null;
  readonly error: string | null;
  /** When it was sent, in the clock's monotonic time. */
  readonly begun: number;
  readonly ms: number;
}

/** The outcome of one copy of an event. */
export interface SentEvent {
  readonly event: LoadEvent;
  /** One of the attempts was answered with a 2xx. */
  readonly acknowledged: boolean;
  readonly attempts: readonly Attempt[];
}

export interface LoadSenderOptions {
  readonly secret: string;
  readonly clock: Clock;
  /** The addresses of an event; each gets a separate delivery. Called before each attempt. */
  readonly targets: (event: LoadEvent, attempt: number) => readonly string[];
  /** False: a connection per attempt, so that none can be closed while idle. Default true. */
  readonly keepAlive?: boolean;
  /** The maximum number of connections. Default 64. */
  readonly connections?: number;
}

export interface Pace {
  /** Events that are sent at once. */
  readonly burst: number;
  /** Time from one burst to the next. 0: as soon as the previous burst has ended. */
  readonly everyMs: number;
}

export interface LoadSender {
  /** Everything sent so far, in the order in which it was finished. */
  readonly sent: readonly SentEvent[];
  /** The number of attempts answered with this status so far, including those of unfinished events. */
  answered(status: number): number;
  /** Sends one event and resolves when the service would have finished it. */
  deliver(event: LoadEvent): Promise<SentEvent[]>;
  /**
   * Sends events until they run out or `signal` aborts; resolves when all of them are finished. A burst
   * waits while there are no free connections, because that wait would not be the receiver's fault.
   */
  run(events: readonly LoadEvent[], pace: Pace, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Attempts: at once, 500 ms after the first ended, 1 s after the second ended; 10 s each. */
const WAITS_MS = [0, 500, 1_000];
const ATTEMPT_MS = 10_000;
const CONNECTIONS = 64;

/** The two headers of a delivery: HMAC-SHA256 over `<timestamp>.<raw body>`, hex. */
export function signDelivery(
  body: string | Buffer,
  secret: string,
  timestamp: number,
): Record<string, string> {
  const hex = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  return { 'X-Service-Timestamp': String(timestamp), 'X-Service-Signature': `sha256=${hex}` };
}

/**
 * A sender written from the specification only: it signs once, tries three times with the same bytes, and
 * then drops the event. It records what was acknowledged, because a receiver must not lose that.
 */
export function createLoadSender(options: LoadSenderOptions): LoadSender {
  const { secret, clock, targets, connections = CONNECTIONS } = options;
  const agent = new Agent({ keepAlive: options.keepAlive ?? true, maxSockets: connections });
  const sent: SentEvent[] = [];
  const flying = new Set<Promise<Attempt>>();
  const answers = new Map<number, number>();

  async function deliverCopy(event: LoadEvent, queue: number): Promise<SentEvent> {
    const headers = signDelivery(event.body, secret, clock.now());
    const attempts: Attempt[] = [];
    let acknowledged = false;
    for (const waitMs of WAITS_MS) {
      if (waitMs > 0) await clock.sleep(waitMs);
      const addresses = targets(event, attempts.length);
      const address = addresses[queue % addresses.length];
      if (address === undefined) throw new Error('an event has no target');
      const flight = post(agent, address, event.body, headers, clock);
      flying.add(flight);
      const attempt = await flight;
      flying.delete(flight);
      attempts.push(attempt);
      if (attempt.status !== null) answers.set(attempt.status, (answers.get(attempt.status) ?? 0) + 1);
      acknowledged = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
      if (acknowledged) break;
    }
    const done = { event, acknowledged, attempts };
    sent.push(done);
    return done;
  }

  function deliver(event: LoadEvent): Promise<SentEvent[]> {
    const queues = Math.max(event.copies, targets(event, 0).length);
    return Promise.all(Array.from({ length: queues }, (_, queue) => deliverCopy(event, queue)));
  }

  return {
    sent,
    answered: (status) => answers.get(status) ?? 0,
    deliver,
    async run(events, pace, signal) {
      const open: Promise<unknown>[] = [];
      for (let at = 0; at < events.length && signal?.aborted !== true; at += pace.burst) {
        while (flying.size > 0 && flying.size + pace.burst > connections) await Promise.race(flying);
        const burst = events.slice(at, at + pace.burst).map(deliver);
        open.push(...burst);
        if (pace.everyMs > 0) await clock.sleep(pace.everyMs);
        else await Promise.all(burst);
      }
      await Promise.all(open);
    },
    close: () => agent.destroy(),
  };
}

function post(
  agent: Agent,
  address: string,
  body: string,
  headers: Record<string, string>,
  clock: Clock,
): Promise<Attempt> {
  const begun = clock.elapsed();
  return new Promise((resolve) => {
    const outgoing = request(address, {
      agent,
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    const done = (status: number | null, error: string | null): void => {
      cancel();
      resolve({ status, error, begun, ms: clock.elapsed() - begun });
    };
    const cancel = clock.after(ATTEMPT_MS, () => outgoing.destroy(new Error('timeout')), { keepAlive: true });
    outgoing.once('error', (error: NodeJS.ErrnoException) => done(null, error.code ?? error.message));
    outgoing.once('response', (answer) => {
      // An answer counts once it is complete.
      answer.resume();
      answer.once('end', () => done(answer.statusCode ?? null, null));
      answer.once('error', () => done(null, 'cut answer'));
    });
    outgoing.end(body);
  });
}
