import type { Agent } from 'node:http';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { Violation } from '../runner/check.ts';
import type { Exchange } from '../runner/exchange.ts';
import { createJournal, type Journal } from '../runner/journal.ts';
import type { Observer } from '../runner/observer.ts';
import { createOnce, type Once } from '../runner/once.ts';
import { createSecretBook, type SecretBook } from '../runner/secret-book.ts';
import type { Events } from './events.ts';
import type { Header, Profile, ToSign } from './profile.ts';
import { createSender } from './send.ts';

/** What the suite is given. Checks that need an absent input are not asked for. */
export interface ReceiverInputs {
  readonly url: string;
  readonly secret: string;
  readonly profile: Profile;
  /** A secret that was valid until the last rotation. */
  readonly oldSecret?: string | undefined;
  /** A connection that the receiver knows; default: one that does not exist. */
  readonly connectionId?: string | undefined;
  /** Tells which messages the receiver has. */
  readonly observer?: Observer | undefined;
  /** How long an effect may take, in milliseconds. Default: 10 s. */
  readonly patienceMs?: number | undefined;
  /** Kills the receiver, starts it again, and resolves when it listens. */
  readonly restart?: (() => Promise<void>) | undefined;
  /** Stops what the receiver stores in, and starts it again. */
  readonly storage?: ((action: 'stop' | 'start') => Promise<void>) | undefined;
  /** How many changes a request contains at most; absent if it contains no list. */
  readonly batch?: number | undefined;
  /** The signatures to which known mistakes lead, each with its mistake as a sentence. */
  readonly signWrongly?: ((signed: Signed) => Iterable<WrongSignature>) | undefined;
}

/** What a signature covers. */
export interface Signed {
  readonly secret: string;
  readonly timestamp: number;
  readonly body: Buffer;
}

/** The value of the signature header if one mistake is made. */
export interface WrongSignature {
  readonly signature: string;
  /** What the mistake is, and what to do about it. */
  readonly says: string;
}

/** A delivery to make. What is left out is as the service does it. */
export interface Delivery {
  /** JSON, or a body as it is sent. */
  readonly body: object | string | Buffer;
  readonly secret?: string;
  /** When it was signed, in epoch milliseconds. Deliveries with the same body and time are identical. */
  readonly at?: number;
  /** How long ago it was signed whenever it is made, in milliseconds; negative for the future. */
  readonly ageMs?: number;
  /** The timestamp as it is sent and signed. */
  readonly timestamp?: string;
  readonly contentType?: string;
  /** Changes the body after it was signed. */
  readonly alter?: (body: Buffer) => Buffer;
  /** Changes the signature headers. */
  readonly headers?: (signed: readonly Header[]) => readonly Header[];
  readonly method?: string;
  readonly pauseMs?: number;
  readonly agent?: Agent;
  /** Describes it in the evidence. */
  readonly as?: string;
}

/** What every check of a receiver can use. */
export interface ReceiverContext {
  readonly inputs: ReceiverInputs;
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly secrets: SecretBook;
  readonly once: Once;
  readonly events: Events;
  /** Answers that refused genuine deliveries because there were too many. */
  readonly limited: readonly Exchange[];
  /** Makes one request. Throws a `Violation` if there is no answer within the time of the profile. */
  attempt(delivery: Delivery): Promise<Exchange>;
  /** Makes a delivery, again after some time if the receiver limits them. Throws as `attempt` does. */
  deliver(delivery: Delivery): Promise<Exchange>;
  /** Makes a delivery. Throws a `Violation` unless the answer is a 2xx. */
  accepts(delivery: Delivery): Promise<void>;
  /** Makes a delivery. Throws a `Violation` if the answer is a 2xx. */
  refuses(delivery: Delivery): Promise<void>;
}

const PATIENCE_MS = 10_000;
/** Waits between attempts while the receiver limits deliveries: longer than its window of a minute. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
const LONGEST_WAIT_MS = 90_000;
/** How often a delivery that must be refused is made while the receiver limits them. */
const REFUSALS = 3;

export function createContext(inputs: ReceiverInputs, clock: Clock): ReceiverContext {
  const journal = createJournal();
  const secrets = createSecretBook();
  secrets.add(inputs.secret, 'signing secret');
  if (inputs.oldSecret !== undefined) secrets.add(inputs.oldSecret, 'old signing secret');
  const { url, profile, connectionId } = inputs;
  const send = createSender({ url, clock, journal, timeoutMs: profile.answersWithinMs });
  const events = profile.createEvents(clock, connectionId);
  const limited: Exchange[] = [];

  const sign = (delivery: Delivery): Delivery & { readonly body: Buffer; readonly signed: ToSign } => {
    const body = toBytes(delivery.body);
    const { secret = inputs.secret, ageMs = 0, at = clock.now() - ageMs, timestamp } = delivery;
    const deliveryId = profile.idOf(body);
    const signed = { secret, body, at, deliveryId, ...(timestamp === undefined ? {} : { timestamp }) };
    return { ...delivery, body, signed };
  };

  const attempt = ({ body, signed, ...delivery }: ReturnType<typeof sign>): Promise<Exchange> => {
    const { method = 'POST', headers = (all) => all, alter = (all) => all, pauseMs, agent } = delivery;
    const { contentType = 'application/json', as = 'signed delivery' } = delivery;
    return send({
      method,
      headers: [['Content-Type', contentType], ...headers(profile.sign(signed))],
      body: alter(body),
      as,
      ...(pauseMs === undefined ? {} : { pauseMs }),
      ...(agent === undefined ? {} : { agent }),
    });
  };

  const context: ReceiverContext = {
    inputs,
    patienceMs: inputs.patienceMs ?? PATIENCE_MS,
    clock,
    journal,
    secrets,
    once: createOnce(),
    events,
    limited,
    attempt: (delivery) => attempt(sign(delivery)),
    async deliver(delivery) {
      // A retry is identical to the first attempt.
      const first = sign(delivery);
      for (let attempts = 0; ; attempts += 1) {
        const exchange = await attempt(delivery.ageMs === undefined ? first : sign(delivery));
        const wait = WAITS_MS[attempts];
        if (!isLimited(exchange) || wait === undefined) return exchange;
        limited.push(exchange);
        const asked = Number(exchange.headers.get('retry-after') ?? Number.NaN) * 1_000;
        const ms = Math.min(asked > 0 ? asked : wait, LONGEST_WAIT_MS);
        const probe = journal.current();
        probe.extend(ms);
        await clock.sleep(ms, probe.signal);
      }
    },
    async accepts(delivery) {
      const exchange = await context.deliver(delivery);
      if (!isSuccess(exchange)) throw new Violation('a 2xx', String(exchange.status), exchange);
    },
    async refuses(delivery) {
      for (let refusals = 0; refusals < REFUSALS; refusals += 1) {
        const exchange = await context.attempt(delivery);
        if (isSuccess(exchange))
          throw new Violation('any status but a 2xx', String(exchange.status), exchange);
        if (!isLimited(exchange)) return;
        // Was it refused because of what it is? Then it is again, once others are accepted.
        await context.accepts({ body: events.received() });
      }
    },
  };
  return context;
}

export function isSuccess({ status }: Exchange): boolean {
  return status >= 200 && status < 300;
}

/** Whether the receiver has refused a delivery because there were too many. */
export function isLimited({ status }: Exchange): boolean {
  return status === 429 || status === 503;
}

function toBytes(body: Delivery['body']): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A secret of the same form, with another key. */
export function otherSecret(secret: string): string {
  const other = secret.replace(/[a-zA-Z0-9]/g, (char) => (char === 'A' ? 'B' : 'A'));
  return other === secret ? `${secret}A` : other;
}
