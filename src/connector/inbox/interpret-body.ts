import { z } from 'zod';
import {
  type ParsedConnectionConnected,
  type ParsedConnectionDisconnected,
  type ParsedEvent,
  type ParsedMessageReceived,
  type ParsedMessageStatus,
  parseWebhookEvent,
} from '../../contract/service/parse-event.ts';
import { type ConnectionStateFacts, eachText, type MessageFacts, WEBHOOK_SEEN } from '../db/facts.ts';

const PRINTABLE = /^[\x21-\x7e]+$/;

interface Known {
  readonly event: string;
  /** The fields that hold a value which was read as null. Absent if there are none. */
  readonly reason?: string;
}

/** The content of a verified body. */
export type Interpretation =
  | ({ readonly kind: 'message'; readonly message: MessageFacts } & Known)
  | ({ readonly kind: 'connection'; readonly connection: ConnectionStateFacts } & Known)
  /** Stored with its reason; changes nothing. */
  | {
      readonly kind: 'kept';
      readonly event: string;
      readonly outcome: 'unknown_event' | 'invalid';
      readonly reason?: string;
      /** What it concerns, as far as it can be read. */
      readonly names?: { readonly connectionId: string | null; readonly messageId: string | null };
    }
  | { readonly kind: 'not_an_event' };

/** The account of the delivery, and the signed time, which is used if a payload has no time. Epoch ms. */
export interface DeliveryContext {
  readonly accountId: string;
  readonly signedAt: number;
}

/**
 * Interprets the bytes of a verified delivery. Bytes that are not UTF-8 become U+FFFD and a byte order mark
 * is skipped: the sender gives up after three attempts, so everything that can be understood is used, and the
 * inbox stores the original bytes. Never throws.
 */
export function interpretBody(body: Buffer, context: DeliveryContext): Interpretation {
  const json = parseJson(body);
  const parsed = parseWebhookEvent(json);
  switch (parsed.kind) {
    case 'known':
      return { ...interpretEvent(parsed.event, context), ...describeUnread(parsed.unread) };
    // [events.client-ignores] [versioning.client.unknown-events]
    case 'unknown':
      return { kind: 'kept', event: parsed.type, outcome: 'unknown_event', ...readNames(json) };
    case 'invalid':
      return {
        kind: 'kept',
        event: parsed.type,
        outcome: 'invalid',
        reason: parsed.reason,
        ...readNames(json),
      };
    case 'not_an_event':
      return parsed;
  }
}

const named = z.object({
  connection_id: z.string().max(255).regex(PRINTABLE).nullable().catch(null),
  message: z
    .object({ id: z.string().max(255).regex(PRINTABLE) })
    .nullable()
    .catch(null),
});

/** The ids in a body that is only stored: a trace finds the body by them. */
function readNames(json: unknown): Pick<Interpretation & { readonly kind: 'kept' }, 'names'> {
  const read = named.safeParse(json);
  if (!read.success) return {};
  const { connection_id: connectionId, message } = read.data;
  if (connectionId === null && message === null) return {};
  return { names: { connectionId, messageId: message?.id ?? null } };
}

function parseJson(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

function describeUnread(fields: readonly string[]): Pick<Known, 'reason'> {
  return fields.length === 0 ? {} : { reason: `not readable: ${fields.join(', ')}` };
}

function interpretEvent(event: ParsedEvent, context: DeliveryContext): Interpretation {
  switch (event.event) {
    case 'message.received':
      return { kind: 'message', event: event.event, message: fromReceived(event, context) };
    case 'message.status':
      return { kind: 'message', event: event.event, message: fromStatus(event, context) };
    case 'connection.disconnected':
    case 'connection.connected':
      return { kind: 'connection', event: event.event, connection: fromConnectionEvent(event, context) };
  }
}

function fromReceived(
  { connection_id, message }: ParsedMessageReceived,
  context: DeliveryContext,
): MessageFacts {
  return {
    connectionId: connection_id,
    messageId: message.id,
    accountId: context.accountId,
    source: 'webhook',
    direction: 'incoming',
    peer: message.from,
    text: message.text,
    mediaUrl: message.media_url,
    mediaType: message.media_type,
    status: null,
    errorMessage: null,
    reference: null,
    waMessageId: message.wa_id,
    createdAt: message.timestamp ?? context.signedAt,
    webhookSeen: WEBHOOK_SEEN.received,
  };
}

function fromStatus({ connection_id, message }: ParsedMessageStatus, context: DeliveryContext): MessageFacts {
  return {
    connectionId: connection_id,
    messageId: message.id,
    accountId: context.accountId,
    source: 'webhook',
    direction: 'outgoing',
    ...eachText(() => null),
    status: message.status,
    waMessageId: message.wa_id,
    createdAt: message.timestamp ?? context.signedAt,
    webhookSeen: message.status === null ? 0 : WEBHOOK_SEEN[message.status],
  };
}

/**
 * The name of the event stands for an absent field, because the payload of `connection.connected` is not
 * specified.
 */
function fromConnectionEvent(
  event: ParsedConnectionDisconnected | ParsedConnectionConnected,
  context: DeliveryContext,
): ConnectionStateFacts {
  const { connection } = event;
  const broken = event.event === 'connection.disconnected';
  return {
    connectionId: event.connection_id,
    accountId: context.accountId,
    event: event.event,
    at: event.timestamp ?? context.signedAt,
    phoneNumber: connection?.phone_number ?? null,
    label: connection?.label ?? null,
    status: connection?.status ?? (broken ? 'disconnected' : 'connected'),
    needsReconnect: connection?.needs_reconnect ?? broken,
    licenseStatus: connection?.license_status ?? null,
    licenseExpires: connection?.license_expires ?? null,
    reason: connection?.reason ?? null,
  };
}
