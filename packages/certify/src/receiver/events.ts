import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';

/** Digits of a phone number from a range reserved for fiction. */
export const CONTACT = '15550100199';
/** Test deliveries concern this connection unless another is given, so that they can be told apart from real ones. */
export const TEST_CONNECTION = 'ccertify00000000000000000';

/** Payloads of what a profile delivers, with new ids. */
export interface Events {
  /** A text message that has arrived, with these fields instead; `text` null is one without text. */
  received(message?: Readonly<Record<string, unknown>>): Payload;
  /** A change of the status of an outgoing message. */
  status(id: string, status: string): Payload;
  /** A report about the connection. */
  connection(event: 'connection.connected' | 'connection.disconnected', reason?: string): Payload;
  /** Something of another type. */
  other(type: string, fields?: Payload): Payload;
}

export type Payload = Readonly<Record<string, unknown>>;

/** A new id in the form of the service's ids. */
export function newId(): string {
  let id = 'c';
  while (id.length < 25) id += randomInt(36).toString(36);
  return id;
}

export function createEvents(clock: Clock, connectionId = TEST_CONNECTION): Events {
  return {
    other: (event, fields) => ({ event, connection_id: connectionId, ...fields }),
    received: (message = {}) => ({
      event: 'message.received',
      connection_id: connectionId,
      message: {
        id: newId(),
        wa_id: `3EB0${randomBytes(8).toString('hex').toUpperCase()}`,
        from: CONTACT,
        text: 'certify',
        media_url: null,
        media_type: null,
        timestamp: clock.now(),
        ...message,
      },
    }),
    status: (id, status) => ({
      event: 'message.status',
      connection_id: connectionId,
      message: { id, wa_id: null, status, timestamp: clock.now() },
    }),
    connection(event, reason = 'AUTH_LOST') {
      const broken = event === 'connection.disconnected';
      return {
        event,
        connection_id: connectionId,
        connection: {
          id: connectionId,
          phone_number: '15550100100',
          label: 'Certify',
          status: broken ? 'disconnected' : 'connected',
          needs_reconnect: broken,
          license_status: 'active',
          license_expires: '2030-01-01T00:00:00.000Z',
          ...(broken ? { reason } : {}),
        },
        timestamp: clock.now(),
      };
    },
  };
}
