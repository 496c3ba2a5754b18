import { z } from 'zod';
import {
  address,
  count,
  cursor,
  flag,
  instant,
  line,
  link,
  listUnread,
  optionalId,
  readableDirection,
  record,
  requiredId,
  text,
  token,
  word,
} from './read-fields.ts';

/*
 * Responses as a client reads them. The schemas next to this file define what the service writes; the schemas
 * here require only what a client cannot do without. Any other field may be missing, null or of another type,
 * and is then read as null. Unknown fields are dropped. An additive change or one unusual record therefore
 * breaks no client. Times are epoch milliseconds.
 */

// [versioning.client.unknown-fields]
const readableListItem = z.object({
  id: requiredId,
  phoneNumber: address,
  label: line,
  status: word,
  isDefault: flag,
  provider: word,
  tier: word,
  profilePicUrl: link,
  licenseValid: flag,
  licenseStatus: word,
  licenseExpires: instant,
});
/** A list item in which every field except the id may be null. */
export type ReadConnectionListItem = z.infer<typeof readableListItem>;

const readableDetail = z.object({
  id: requiredId,
  status: word,
  phoneNumber: address,
  label: line,
  provider: word,
  licenseStatus: word,
  licenseExpires: instant,
  qr: text,
});
/** A detail in which every field except the id may be null; `qr` is null if the service sent none. */
export type ReadConnectionDetail = z.infer<typeof readableDetail>;

const readableMessage = z.object({
  id: requiredId,
  waMessageId: word,
  connectionId: requiredId,
  direction: readableDirection,
  text,
  mediaUrl: link,
  mediaType: word,
  status: word,
  errorMessage: line,
  createdAt: instant,
});
/** A message whose id and connection are present; every other field may be null. */
export type ReadMessage = z.infer<typeof readableMessage>;

const readableTokens = z.object({
  access_token: z.string().min(1),
  refresh_token: token,
  expires_in: count,
  scope: line,
});

/** The items that could be read, one reason for each that could not, and the fields that were read as null. */
export interface ReadItems<T> {
  readonly items: readonly T[];
  readonly invalid: readonly string[];
  readonly unread: readonly string[];
}

/** A page of messages as a client reads it. */
export interface ReadMessagePage extends ReadItems<ReadMessage> {
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

const connectionEnvelope = z.object({ connections: z.array(z.unknown()) });
const detailEnvelope = z.object({ connection: readableDetail });
const messageEnvelope = z.object({
  messages: z.array(z.unknown()),
  nextCursor: z.unknown().optional(),
  hasMore: flag,
});
const present = z.unknown().refine((value): boolean => value !== undefined, { abort: true });
const readableSend = z.object({
  messageId: present.pipe(optionalId),
  waMessageId: word,
  wa_message_id: word,
  status: word,
  persisted: flag,
});
const readableWebhook = z.object({
  url: present.pipe(link),
  events: z.array(z.unknown()).catch([]),
  secretSet: flag,
});
const readableCreated = z.object({ connection: z.object({ id: requiredId, status: word, qr: text }) });
const readableRestart = z.object({ recreated: flag });
const readableCode = z.object({ code: z.pipe(optionalId, z.string()) });
const readableReceipt = z.object({ marked: count });
const readableSecret = z.object({ secret: z.string().min(1) });
const readableAccount = z
  .object({
    slots: record({ total: count, used: count, available: count, nextExpiry: instant }),
    connections: record({ total: count, connected: count, needsReconnect: count }),
  })
  .refine(({ slots, connections }) => slots !== null || connections !== null);

function readEach<T extends object>(values: readonly unknown[], schema: z.ZodType<T>): ReadItems<T> {
  const items: T[] = [];
  const invalid: string[] = [];
  const unread: string[] = [];
  for (const [index, value] of values.entries()) {
    const read = schema.safeParse(value);
    if (read.success) {
      items.push(read.data);
      unread.push(...listUnread(value, read.data));
    } else invalid.push(`${index}.${z.prettifyError(read.error).split('\n', 1).join('')}`);
  }
  return { items, invalid, unread };
}

/**
 * Reads the response of `GET /connections`, item by item. Throws a `ZodError` if the value is not such a
 * list.
 */
export function readConnectionList(value: unknown): ReadItems<ReadConnectionListItem> {
  return readEach(connectionEnvelope.parse(value).connections, readableListItem);
}

/** Reads the response of `GET /connections/{id}`. Throws a `ZodError` if it has no connection with an id. */
export function readConnectionDetail(value: unknown): ReadConnectionDetail {
  return detailEnvelope.parse(value).connection;
}

/** What the last page may hold in place of a cursor. */
const NO_CURSOR: ReadonlySet<unknown> = new Set([undefined, null, '', false]);

/**
 * Reads a page of `GET /messages`, item by item: a record that cannot be read does not hide the others. A page
 * without a next cursor is the last one, regardless of `hasMore`; one whose cursor cannot be read has more and no
 * cursor, unless `hasMore` is false. Throws a `ZodError` if the value is not a page.
 */
export function readMessagePage(value: unknown): ReadMessagePage {
  const { messages, nextCursor: next, hasMore } = messageEnvelope.parse(value);
  const nextCursor = cursor.parse(next);
  const continues = nextCursor !== null || !NO_CURSOR.has(next);
  return { ...readEach(messages, readableMessage), nextCursor, hasMore: continues && hasMore !== false };
}

/** The response of a send as a client reads it. */
export interface ReadSend {
  readonly messageId: string | null;
  readonly waMessageId: string | null;
  readonly status: string | null;
  readonly persisted: boolean;
}

/**
 * Reads the response of `POST /messages`. Without a readable `messageId` it is the degraded case, regardless of
 * `persisted`. Throws a `ZodError` if the key `messageId` is missing.
 */
export function readSend(value: unknown): ReadSend {
  const { messageId, waMessageId, wa_message_id: alias, status, persisted } = readableSend.parse(value);
  return {
    messageId,
    waMessageId: waMessageId ?? alias,
    status,
    persisted: persisted !== false && messageId !== null,
  };
}

/** A connection that was just created, or that an earlier request with the same key created. */
export type ReadCreatedConnection = z.infer<typeof readableCreated>['connection'];

/** Reads the response of `POST /connections`. Throws a `ZodError` if it has no connection with an id. */
export function readCreatedConnection(value: unknown): ReadCreatedConnection {
  return readableCreated.parse(value).connection;
}

/**
 * Reads the response of a restart: whether the session was rebuilt. Throws a `ZodError` if the value is not
 * an object.
 */
export function readRestart(value: unknown): { readonly recreated: boolean } {
  return { recreated: readableRestart.parse(value).recreated ?? false };
}

/** Reads a pairing code, to be shown exactly as returned. Throws a `ZodError` if there is none. */
export function readPairingCode(value: unknown): string {
  return readableCode.parse(value).code;
}

/** Reads how many messages a read receipt marked. Throws a `ZodError` if the value is not an object. */
export function readReadReceipt(value: unknown): number {
  return readableReceipt.parse(value).marked ?? 0;
}

/** The webhook of an account as a client reads it; `secretSet` is null if the service did not say. */
export interface ReadWebhook {
  readonly url: string | null;
  readonly events: readonly string[];
  readonly secretSet: boolean | null;
}

/** Reads the response of `GET /webhook`. Throws a `ZodError` if the key `url` is missing. */
export function readWebhook(value: unknown): ReadWebhook {
  const webhook = readableWebhook.parse(value);
  return { ...webhook, events: webhook.events.filter((event) => typeof event === 'string') };
}

/**
 * Reads the secret from the response of `PUT /webhook` or of a rotation. Throws a `ZodError` if there is
 * none.
 */
export function readSecret(value: unknown): string {
  return readableSecret.parse(value).secret;
}

/** The figures of an account; null for those that could not be read. `nextExpiry` in epoch milliseconds. */
export type ReadAccount = z.infer<typeof readableAccount>;

/** Reads the response of `GET /account`. Throws a `ZodError` if it has no figures at all. */
export function readAccount(value: unknown): ReadAccount {
  return readableAccount.parse(value);
}

/** What the token endpoint issued, with null for what it did not. */
export type ReadTokenAnswer = z.infer<typeof readableTokens>;

/** Reads the response of the token endpoint. Throws a `ZodError` if it contains no access token. */
export function readTokenAnswer(value: unknown): ReadTokenAnswer {
  return readableTokens.parse(value);
}
