import { z } from 'zod';
import type { EventType } from './events.ts';
import {
  address,
  flag,
  instant,
  line,
  link,
  listUnread,
  readableStatus,
  record,
  requiredId,
  text,
  word,
} from './read-fields.ts';

/*
 * Reading is more tolerant than writing: only the ids are required. Any other field may be absent, of another
 * type or too long, and is then null; unknown fields are dropped at every depth. Times are epoch milliseconds.
 * The schemas are built once: this is the hot path of the receiver.
 */

const parsedMessageReceived = z.object({
  event: z.literal('message.received'),
  connection_id: requiredId,
  message: z.object({
    id: requiredId,
    wa_id: word,
    from: address,
    text,
    media_url: link,
    media_type: word,
    timestamp: instant,
  }),
});
export type ParsedMessageReceived = z.infer<typeof parsedMessageReceived>;

const parsedMessageStatus = z.object({
  event: z.literal('message.status'),
  connection_id: requiredId,
  message: z.object({ id: requiredId, wa_id: word, status: readableStatus, timestamp: instant }),
});
export type ParsedMessageStatus = z.infer<typeof parsedMessageStatus>;

const connectionEvent = {
  connection_id: requiredId,
  connection: record({
    phone_number: address,
    label: line,
    status: word,
    needs_reconnect: flag, // [events.disconnected.drives]
    license_status: word,
    license_expires: instant,
    reason: line, // [events.disconnected.reason-new]
  }),
  timestamp: instant,
};

const parsedConnectionDisconnected = z.object({
  event: z.literal('connection.disconnected'),
  ...connectionEvent,
});
export type ParsedConnectionDisconnected = z.infer<typeof parsedConnectionDisconnected>;

const parsedConnectionConnected = z.object({ event: z.literal('connection.connected'), ...connectionEvent });
export type ParsedConnectionConnected = z.infer<typeof parsedConnectionConnected>;

/** An event as a receiver reads it: every field is present, and null if the sender omitted it. */
export type ParsedEvent =
  | ParsedMessageReceived
  | ParsedMessageStatus
  | ParsedConnectionDisconnected
  | ParsedConnectionConnected;

type ParsedOf<T extends EventType> = Extract<ParsedEvent, { event: T }>;

const parsers: ReadonlyMap<string, z.ZodType<ParsedEvent>> = new Map<string, z.ZodType<ParsedEvent>>(
  Object.entries({
    'message.received': parsedMessageReceived,
    'message.status': parsedMessageStatus,
    'connection.disconnected': parsedConnectionDisconnected,
    'connection.connected': parsedConnectionConnected,
  } satisfies { [T in EventType]: z.ZodType<ParsedOf<T>> }),
);

/**
 * The content of a delivery:
 * - `known`: one of the four events, with readable ids. `unread` names each field that holds a value which was
 *   read as null.
 * - `unknown`: another event type; clients ignore it.
 * - `invalid`: a known type without a readable id; `reason` names its field and contains no value of it.
 * - `not_an_event`: not a JSON object with a string `event`.
 */
export type ParsedWebhookBody =
  | { readonly kind: 'known'; readonly event: ParsedEvent; readonly unread: readonly string[] }
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'invalid'; readonly type: string; readonly reason: string }
  | { readonly kind: 'not_an_event' };

const typeMaxLength = 128;

/**
 * Reads the parsed JSON of a webhook delivery. Never throws, copies only known fields (so a hostile
 * `__proto__` or deep nesting has no effect), and takes time linear in the known fields.
 * [versioning.client.unknown-fields]
 */
export function parseWebhookEvent(value: unknown): ParsedWebhookBody {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'not_an_event' };
  const type: unknown = 'event' in value ? value.event : undefined;
  if (typeof type !== 'string') return { kind: 'not_an_event' };
  const parser = parsers.get(type);
  // [events.client-ignores] [versioning.client.unknown-events]
  if (parser === undefined) return { kind: 'unknown', type: type.slice(0, typeMaxLength) };
  const parsed = parser.safeParse(value);
  if (parsed.success) return { kind: 'known', event: parsed.data, unread: listUnread(value, parsed.data) };
  return { kind: 'invalid', type, reason: firstReason(parsed.error) };
}

function firstReason(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'is invalid';
  return `${issue.path.join('.') || 'body'}: ${issue.message}`;
}
