import { asc, eq, sql } from 'drizzle-orm';
import { union } from 'drizzle-orm/pg-core';
import type { ContactKey } from '../../contract/sandbox/contacts.ts';
import type { Filter } from '../../contract/sandbox/filter.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { filterSql } from '../db/filter-sql.ts';
import { media } from '../db/media-tables.ts';
import { messages } from '../db/message-tables.ts';
import { contacts, phoneMessages } from '../db/network-tables.ts';
import { heldReports } from '../db/session-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MediaFile } from '../media/media-store.ts';
import type { ChangeState } from '../time/state-change.ts';

/** The behavior of a person on the network. Times are virtual ms since the send; null means never. */
export type ContactBehavior = Omit<typeof contacts.$inferSelect, 'phone'>;

/** A file that a phone received. */
export interface ReceivedMedia {
  readonly filename: string;
  readonly mimetype: string;
  readonly caption: string | null;
  /** Size of the file. */
  readonly bytes: number;
  /** Hex digest of the file. */
  readonly sha256: string;
  /** The phone shows it as a voice note instead of a file. */
  readonly voiceNote: boolean;
}

/** A message that the network accepted for a phone. */
export interface PhoneMessage {
  readonly messageId: string;
  readonly connectionId: string;
  /** Digits of the sender. */
  readonly from: string;
  /** Null for a file; `media` contains its caption. */
  readonly text: string | null;
  readonly media?: ReceivedMedia;
  /** Virtual epoch ms. */
  readonly at: number;
}

/** Which people to list. */
export interface ContactPage {
  readonly where: Filter<ContactKey>;
  readonly skip: number;
  readonly limit: number;
}

/** The people on the network. A number that was never set has the default behavior in `assumptions.ts`. */
export interface Contacts {
  /** Absent fields are unchanged. */
  put(phone: string, behavior: Partial<ContactBehavior>): Promise<ContactBehavior>;
  get(phone: string): Promise<ContactBehavior>;
  /** Everybody whose behavior was put, and everybody who has written or was written to, ordered by number. */
  list(page: ContactPage): Promise<(ContactBehavior & { readonly phone: string })[]>;
  /** The messages that the network accepted for a phone, oldest first; all or a part. A double send appears twice. */
  received(phone: string, part?: { readonly skip: number; readonly limit: number }): Promise<PhoneMessage[]>;
}

/** [media.voice-note] */
function isVoiceNote(filename: string, mimetype: string): boolean {
  return /^voice-.*\.ogg$/.test(filename) && /^audio\/ogg\s*(;|$)/i.test(mimetype);
}

function toReceivedMedia(
  { filename, mimetype, bytes, sha256 }: Pick<MediaFile, 'filename' | 'mimetype' | 'bytes' | 'sha256'>,
  caption: string | null,
): ReceivedMedia {
  const digest = Buffer.from(sha256).toString('hex');
  return { filename, mimetype, caption, bytes, sha256: digest, voiceNote: isVoiceNote(filename, mimetype) };
}

/** The present behavior of the person with a number. */
export async function readBehavior(db: Queryable, phone: string): Promise<ContactBehavior> {
  const { onNetwork, deliverAfterMs, readAfterMs, failAfterMs, autoReply } = contacts;
  const [row] = await orm(db)
    .select({ onNetwork, deliverAfterMs, readAfterMs, failAfterMs, autoReply })
    .from(contacts)
    .where(eq(contacts.phone, phone));
  return row ?? ASSUMPTIONS.unknownNumber.value;
}

/** The numbers of everybody who has a behavior, has written, or was written to. */
function knownPeople(db: Queryable) {
  // What was written to a connection whose session does not work.
  const report = sql`${heldReports.report}::json`;
  return union(
    orm(db).select({ phone: contacts.phone }).from(contacts),
    orm(db).select({ phone: phoneMessages.phone }).from(phoneMessages),
    orm(db).select({ phone: messages.peer }).from(messages),
    orm(db)
      .select({ phone: sql<string>`${report} #>> '{message,from}'` })
      .from(heldReports)
      .where(sql`${report} ->> 'kind' = 'message'`),
  ).as('people');
}

export function createContacts(database: Queryable, changeState: ChangeState): Contacts {
  return {
    get: (phone) => readBehavior(database, phone),

    async list({ where, skip, limit }) {
      const people = knownPeople(database);
      const { phone } = people;
      const { onNetwork, deliverAfterMs, readAfterMs, failAfterMs, autoReply } = contacts;
      const unknown = ASSUMPTIONS.unknownNumber.value;
      const network = sql`case when coalesce(${onNetwork}, ${unknown.onNetwork}) then 'yes' else 'no' end`;
      const rows = await orm(database)
        .select({ phone, behavior: { onNetwork, deliverAfterMs, readAfterMs, failAfterMs, autoReply } })
        .from(people)
        .leftJoin(contacts, eq(contacts.phone, phone))
        .where(filterSql(where, { keys: { contact: phone, network }, texts: [phone, autoReply] }))
        .orderBy(asc(phone))
        .offset(skip)
        .limit(limit);
      return rows.map(({ phone, behavior }) => ({ phone, ...(behavior ?? unknown) }));
    },

    put: (phone, behavior) =>
      changeState(async ({ tx }) => {
        const next = { ...(await readBehavior(tx, phone)), ...behavior };
        await orm(tx)
          .insert(contacts)
          .values({ phone, ...next })
          .onConflictDoUpdate({ target: contacts.phone, set: next });
        return next;
      }),

    async received(phone, part) {
      const { filename, mimetype, bytes, sha256 } = media;
      const { messageId, connectionId, sender: from, text, at } = phoneMessages;
      const query = orm(database)
        .select({
          message: { messageId, connectionId, from, text, at },
          file: { filename, mimetype, bytes, sha256 },
        })
        .from(phoneMessages)
        .leftJoin(media, eq(media.id, phoneMessages.mediaId))
        .where(eq(phoneMessages.phone, phone))
        .orderBy(phoneMessages.position);
      const rows = await (part === undefined ? query : query.offset(part.skip).limit(part.limit));
      return rows.map(({ message, file }) =>
        file === null ? message : { ...message, text: null, media: toReceivedMedia(file, message.text) },
      );
    },
  };
}
