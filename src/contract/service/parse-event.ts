import { z } from 'zod';
import type { EventType } from './events.ts';
import { TIMESTAMP_MAX_MS } from './fields.ts';
import { messageStatus } from './statuses.ts';

/*
 * Reading is more tolerant than writing: a field that a consumer can do without may be absent or null, and
 * unknown fields are dropped at every depth. The values that are kept have bounded lengths, and their
 * timestamps fit both `Date` and a Postgres `timestamptz`. The schemas are built once: this is the hot path
 * of the receiver.
 */

/** Printable ASCII: an id is used as a key, and a store must neither change nor reject it. */
const id = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/);
const timestamp = z.number().min(0).max(TIMESTAMP_MAX_MS).overwrite(Math.trunc);
const orNull = <S extends z.ZodType>(schema: S) => schema.nullable().default(null);
const word = orNull(z.string().max(255));
const line = orNull(z.string().max(4096));
const link = orNull(z.string().max(8192));
const text = orNull(z.string().max(1_048_576));

const parsedMessageReceived = z.object({
  event: z.literal('message.received'),
  connection_id: id,
  message: z.object({
    id,
    wa_id: word,
    from: z.string().min(1).max(64),
    text,
    media_url: link,
    media_type: word,
    timestamp,
  }),
});
export type ParsedMessageReceived = z.infer<typeof parsedMessageReceived>;

const parsedMessageStatus = z.object({
  event: z.literal('message.status'),
  connection_id: id,
  message: z.object({ id, wa_id: word, status: messageStatus, timestamp }),
});
export type ParsedMessageStatus = z.infer<typeof parsedMessageStatus>;

const connectionFields = {
  phone_number: orNull(z.string().max(64)),
  label: line,
  status: word,
  needs_reconnect: orNull(z.boolean()), // [events.disconnected.drives]
  license_status: word,
  license_expires: orNull(z.iso.datetime({ offset: true })),
  reason: line, // [events.disconnected.reason-new]
};

const parsedConnectionDisconnected = z.object({
  event: z.literal('connection.disconnected'),
  connection_id: id,
  connection: z.object(connectionFields),
  timestamp,
});
export type ParsedConnectionDisconnected = z.infer<typeof parsedConnectionDisconnected>;

/** The payload is not specified beyond what all events share, so nothing else is required of it. */
const parsedConnectionConnected = z.object({
  event: z.literal('connection.connected'),
  connection_id: id,
  connection: orNull(z.object(connectionFields)),
  timestamp: orNull(timestamp),
});
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
 * - `known`: one of the four events, with valid fields.
 * - `unknown`: another event type; clients ignore it.
 * - `invalid`: a known type with invalid fields; `reason` names the first one and contains no value of it.
 * - `not_an_event`: not a JSON object with a string `event`.
 */
export type ParsedWebhookBody =
  | { readonly kind: 'known'; readonly event: ParsedEvent }
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
  if (parsed.success) return { kind: 'known', event: parsed.data };
  return { kind: 'invalid', type, reason: firstReason(parsed.error) };
}

function firstReason(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'is invalid';
  return `${issue.path.join('.') || 'body'}: ${issue.message}`;
}
