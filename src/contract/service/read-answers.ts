import { z } from 'zod';
import { account } from './account.ts';
import { dateTime } from './fields.ts';
import { direction } from './statuses.ts';

/*
 * Responses as a client reads them. The schemas next to this file define what the service writes; the schemas
 * here require only what a client cannot do without. Any other field may be missing, null or of another type,
 * and is then read as null. Unknown fields are dropped. An additive change or one unusual record therefore
 * breaks no client.
 */

const id = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/);
const orNull = <S extends z.ZodType>(schema: S) => schema.nullable().catch(null);
const word = orNull(z.string().max(255));
const line = orNull(z.string().max(4096));
const link = orNull(z.string().max(8192));
const flag = orNull(z.boolean());
const instant = orNull(dateTime);

// [versioning.client.unknown-fields]
const readableListItem = z.object({
  id,
  phoneNumber: orNull(z.string().max(64)),
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
  id,
  status: word,
  phoneNumber: orNull(z.string().max(64)),
  label: line,
  provider: word,
  licenseStatus: word,
  licenseExpires: instant,
  qr: orNull(z.string()),
});
/** A detail in which every field except the id may be null; `qr` is null if the service sent none. */
export type ReadConnectionDetail = z.infer<typeof readableDetail>;

const readableMessage = z.object({
  id,
  waMessageId: word,
  connectionId: id,
  direction,
  text: orNull(z.string()),
  mediaUrl: link,
  mediaType: word,
  status: word,
  errorMessage: line,
  createdAt: dateTime,
});
/** A message whose id, connection, direction and creation time are present; every other field may be null. */
export type ReadMessage = z.infer<typeof readableMessage>;

/** The items that could be read, and one reason for each that could not. */
export interface ReadItems<T> {
  readonly items: readonly T[];
  readonly invalid: readonly string[];
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
  nextCursor: z.string().min(1).nullable().default(null),
  hasMore: z.boolean().optional(),
});
const readableSend = z.object({
  messageId: id.nullable(),
  waMessageId: word,
  status: word,
  persisted: z.boolean().catch(true),
});
const readableWebhook = z.object({
  url: z.string().nullable().default(null),
  events: z.array(z.string()).catch([]),
  secretSet: z.boolean(),
});
const readableCreated = z.object({
  connection: z.object({ id, status: word, qr: orNull(z.string()) }),
});
const readableRestart = z.object({ recreated: z.boolean().catch(false) });
const readableCode = z.object({ code: z.string().min(1).max(64) });
const readableReceipt = z.object({ marked: z.int().min(0).catch(0) });
const readableSecret = z.object({ secret: z.string().min(1) });

function readEach<T>(values: readonly unknown[], schema: z.ZodType<T>): ReadItems<T> {
  const items: T[] = [];
  const invalid: string[] = [];
  for (const [index, value] of values.entries()) {
    const read = schema.safeParse(value);
    if (read.success) items.push(read.data);
    else invalid.push(`${index}.${z.prettifyError(read.error).split('\n', 1).join('')}`);
  }
  return { items, invalid };
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

/**
 * Reads a page of `GET /messages`, item by item: a record that cannot be read does not hide the others. A
 * page without a next cursor is the last one, regardless of `hasMore`. Throws a `ZodError` if the value is
 * not a page.
 */
export function readMessagePage(value: unknown): ReadMessagePage {
  const page = messageEnvelope.parse(value);
  const hasMore = page.nextCursor !== null && page.hasMore !== false;
  return { ...readEach(page.messages, readableMessage), nextCursor: page.nextCursor, hasMore };
}

/** The response of a send as a client reads it. */
export type ReadSend = z.infer<typeof readableSend>;

/**
 * Reads the response of `POST /messages`. Without a `messageId` it is the degraded case, regardless of
 * `persisted`. Throws a `ZodError` if the key `messageId` is missing.
 */
export function readSend(value: unknown): ReadSend {
  const send = readableSend.parse(value);
  return { ...send, persisted: send.persisted && send.messageId !== null };
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
export function readRestart(value: unknown): z.infer<typeof readableRestart> {
  return readableRestart.parse(value);
}

/** Reads a pairing code, to be shown exactly as returned. Throws a `ZodError` if there is none. */
export function readPairingCode(value: unknown): string {
  return readableCode.parse(value).code;
}

/** Reads how many messages a read receipt marked. Throws a `ZodError` if the value is not an object. */
export function readReadReceipt(value: unknown): number {
  return readableReceipt.parse(value).marked;
}

/** Reads the response of `GET /webhook`. Throws a `ZodError` if `secretSet` is missing. */
export function readWebhook(value: unknown): z.infer<typeof readableWebhook> {
  return readableWebhook.parse(value);
}

/**
 * Reads the secret from the response of `PUT /webhook` or of a rotation. Throws a `ZodError` if there is
 * none.
 */
export function readSecret(value: unknown): string {
  return readableSecret.parse(value).secret;
}

/** Reads the response of `GET /account`. Throws a `ZodError` if a count is missing. */
export function readAccount(value: unknown): z.infer<typeof account> {
  return account.parse(value);
}
