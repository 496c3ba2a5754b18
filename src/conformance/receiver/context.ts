import { randomBytes, randomInt } from 'node:crypto';
import type { Agent } from 'node:http';
import { Violation } from '../runner/check.ts';
import type { Clock } from '../runner/clock.ts';
import type { Exchange } from '../runner/exchange.ts';
import { createJournal, type Journal } from '../runner/journal.ts';
import { createSecretBook, type SecretBook } from '../runner/secret-book.ts';
import type { Observer } from './observer.ts';
import type { Header, Profile } from './profile.ts';
import { createSender, type Sent } from './send.ts';

/** What the suite is given. Checks that need an absent input are not asked for. */
export interface ReceiverInputs {
  readonly url: string;
  readonly secret: string;
  readonly profile: Profile;
  /** A secret that was valid until the last rotation. */
  readonly oldSecret?: string | undefined;
  /** Tells which messages the receiver has. */
  readonly observer?: Observer | undefined;
  /** Kills the receiver, starts it again, and resolves when it listens. */
  readonly restart?: (() => Promise<void>) | undefined;
}

/** A delivery to make. What is left out is as the service does it. */
export interface Delivery {
  /** JSON, or a body as it is sent. */
  readonly body: object | string | Buffer;
  readonly secret?: string;
  /** How old the signature is, in milliseconds; negative for one from the future. */
  readonly age?: number;
  /** The timestamp as it is sent and signed. */
  readonly timestamp?: string;
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
  readonly clock: Clock;
  readonly journal: Journal;
  readonly secrets: SecretBook;
  readonly events: Events;
  /** Makes one request. Throws a `Violation` if there is no answer within 10 s. */
  deliver(delivery: Delivery): Promise<Exchange>;
  /** Makes a delivery. Throws a `Violation` unless the answer is a 2xx. */
  accepts(delivery: Delivery): Promise<void>;
  /** Makes a delivery. Throws a `Violation` if the answer is a 2xx. */
  refuses(delivery: Delivery): Promise<void>;
}

export function createContext(inputs: ReceiverInputs, clock: Clock): ReceiverContext {
  const journal = createJournal();
  const secrets = createSecretBook();
  secrets.add(inputs.secret, 'signing secret');
  if (inputs.oldSecret !== undefined) secrets.add(inputs.oldSecret, 'old signing secret');
  const send = createSender({ url: inputs.url, clock, journal });

  const deliver = (delivery: Delivery): Promise<Exchange> => {
    const body = toBytes(delivery.body);
    const signed = inputs.profile.sign({
      secret: delivery.secret ?? inputs.secret,
      body,
      at: clock.now() - (delivery.age ?? 0),
      deliveryId: `msg_${newId()}`,
      ...(delivery.timestamp === undefined ? {} : { timestamp: delivery.timestamp }),
    });
    const { method = 'POST', headers = (all) => all, alter = (all) => all, pauseMs, agent } = delivery;
    const sent: Sent = {
      method,
      headers: [['Content-Type', 'application/json'], ...headers(signed)],
      body: alter(body),
      as: delivery.as ?? 'signed delivery',
      ...(pauseMs === undefined ? {} : { pauseMs }),
      ...(agent === undefined ? {} : { agent }),
    };
    return send(sent);
  };

  return {
    inputs,
    clock,
    journal,
    secrets,
    events: createEvents(clock),
    deliver,
    async accepts(delivery) {
      const exchange = await deliver(delivery);
      if (!isSuccess(exchange)) throw new Violation('a 2xx', String(exchange.status), exchange);
    },
    async refuses(delivery) {
      const exchange = await deliver(delivery);
      if (isSuccess(exchange)) throw new Violation('any status but a 2xx', String(exchange.status), exchange);
    },
  };
}

export function isSuccess({ status }: Exchange): boolean {
  return status >= 200 && status < 300;
}

function toBytes(body: Delivery['body']): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A new id in the form of the service's ids. */
export function newId(): string {
  let id = 'c';
  while (id.length < 25) id += randomInt(36).toString(36);
  return id;
}

/** A secret of the same form, with another key. */
export function otherSecret(secret: string): string {
  return secret.replace(/[a-zA-Z0-9]/g, (char) => (char === 'A' ? 'B' : 'A'));
}

/** Digits of a phone number from a range reserved for fiction. */
const CONTACT = '15550100199';
/** All test deliveries concern this connection, so that they can be told apart from real ones. */
export const TEST_CONNECTION = 'ccertify00000000000000000';

/** Payloads of the service's events, with new ids. */
export interface Events {
  /** A text message that has arrived; `text` null is one without text. */
  received(id?: string, text?: string | null): Payload;
  /** A change of the status of an outgoing message. */
  status(id: string, status: string): Payload;
  /** A report about the connection. */
  connection(event: 'connection.connected' | 'connection.disconnected'): Payload;
}

export type Payload = Readonly<Record<string, unknown>>;

function createEvents(clock: Clock): Events {
  return {
    received: (id = newId(), text = 'certify') => ({
      event: 'message.received',
      connection_id: TEST_CONNECTION,
      message: {
        id,
        wa_id: `3EB0${randomBytes(8).toString('hex').toUpperCase()}`,
        from: CONTACT,
        text,
        media_url: null,
        media_type: null,
        timestamp: clock.now(),
      },
    }),
    status: (id, status) => ({
      event: 'message.status',
      connection_id: TEST_CONNECTION,
      message: { id, wa_id: null, status, timestamp: clock.now() },
    }),
    connection(event) {
      const broken = event === 'connection.disconnected';
      return {
        event,
        connection_id: TEST_CONNECTION,
        connection: {
          id: TEST_CONNECTION,
          phone_number: '15550100100',
          label: 'Certify',
          status: broken ? 'disconnected' : 'connected',
          needs_reconnect: broken,
          license_status: 'active',
          license_expires: '2030-01-01T00:00:00.000Z',
          ...(broken ? { reason: 'AUTH_LOST' } : {}),
        },
        timestamp: clock.now(),
      };
    },
  };
}
