import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import type { MediaCopy, MediaState, MessageOrigin } from '../../contract/connector/messages.ts';
import { personKey } from '../../patterns/phone-variants.ts';
import { connectorSchema, epochMs } from './column-types.ts';

/** The status ladder: a status can only advance in this order. */
export const messageStatusEnum = connectorSchema.enum('message_status', [
  'sent',
  'delivered',
  'read',
  'failed',
]);

/** What is known of the copy of a file. `removing`: the person was erased, and the object may still exist. */
export interface StoredCopy {
  readonly state: MediaState | 'removing';
  /** Written before the object, so that whatever ends the process, no object is without its row. */
  readonly key?: string;
  readonly sha256?: string;
  /** In bytes. */
  readonly size?: number;
  /** Why there is none. */
  readonly error?: string;
  /** Attempts to fetch or store it that failed. */
  readonly attempts?: number;
  /** The last of them, in a row, that were answered in a way that a proxy may answer while it restarts. */
  readonly doubts?: number;
  /** When a client asked for it, its address was renewed, or it was to be removed, epoch ms. Absent: when the message was first seen. */
  readonly since?: number;
  /** A poll brought another address after the file was gone. */
  readonly renewed?: true;
}

/** While this table has its row, messages with a file are stored as `pending`. A worker with a store adds it. */
export const mediaKeeping = connectorSchema.table('media_keeping', {
  only: boolean('only').primaryKey().default(true),
});

/** SQL: messages of which the worker has something to do. */
export const COPY_WAITS = `media_copy ->> 'state' IN ('pending', 'removing')`;

/** Texts that sources report about a message, and that its changes show. The first value is kept, if `merge-columns.ts` names no other rule. */
export const messageTexts = {
  /** The other party's digits. */
  peer: text('peer'),
  text: text('text'),
  mediaUrl: text('media_url'),
  mediaType: text('media_type'),
  errorMessage: text('error_message'),
  /** The CRM's own id of the send of this connector that made it. */
  reference: text('reference'),
};

/**
 * The known state of each message, from all sources. Only the merge statement writes it. Its texts contain no
 * NUL and no lone surrogate (they become U+FFFD); the raw bytes are in the inbox. It is divided into periods: see
 * `message-periods.ts`.
 */
export const messages = connectorSchema.table(
  'messages',
  {
    connectionId: text('connection_id').notNull(),
    id: text('id').notNull(),
    accountId: text('account_id').notNull(),
    direction: text('direction').$type<'incoming' | 'outgoing'>().notNull(),
    ...messageTexts,
    /** A client of the API named the other party. What the service reports replaces it. */
    peerNamed: boolean('peer_named').notNull().default(false),
    /** Null: the connector keeps no copy of a file. */
    mediaCopy: jsonb('media_copy').$type<StoredCopy>(),
    /** When the worker tries again to fetch or remove the copy. Null: at once, or never. */
    mediaDueAt: epochMs('media_due_at'),
    status: messageStatusEnum('status'),
    waMessageId: text('wa_message_id'),
    /** Of an outgoing message: see `origin` in `merge-columns.ts`. Null: an earlier version stored it. */
    origin: text('origin').$type<MessageOrigin>(),
    /** Polling found it, and it is older than the first listing of its connection. */
    historic: boolean('historic').notNull().default(false),
    /** The row has no texts, and nothing changes it: its person was erased, or it has expired. */
    erased: boolean('erased').notNull().default(false),
    /** It was older than messages are kept. */
    expired: boolean('expired').notNull().default(false),
    /** The service's own time, once a poll has read the message; until then the earliest timestamp of an event. */
    createdAt: epochMs('created_at').notNull(),
    firstSeenBy: text('first_seen_by').$type<'webhook' | 'poll' | 'send'>().notNull(),
    firstSeenAt: epochMs('first_seen_at').notNull(),
    /** The beginning of the period in which it was first stored. */
    filedAt: epochMs('filed_at').notNull().default(0),
    /** A poll has read it, so `created_at` is final. */
    polled: boolean('polled').notNull(),
    /** The status before the last write, and what that write changed: see `CHANGE` in `facts.ts`. */
    previousStatus: messageStatusEnum('previous_status'),
    changeMask: smallint('change_mask').notNull(),
    /** Which events a webhook has delivered: 1 received, 2 sent, 4 delivered, 8 read, 16 failed. */
    webhookSeen: smallint('webhook_seen').notNull(),
    /** Both `read` and `failed` were reported; the first one is kept. */
    statusConflict: boolean('status_conflict').notNull(),
    /** When a webhook last delivered something about it, on our clock. Null if none has. */
    webhookAt: epochMs('webhook_at'),
  },
  (table) => [
    /** The id comes first, because messages are also looked up by the id only. */
    primaryKey({ name: 'messages_pkey', columns: [table.id, table.connectionId, table.filedAt] }),
    /**
     * The newest of each direction. For both directions, read both and take the newest. The few messages of the
     * same millisecond are sorted when they are read: their ids in this index would slow each delivery down. A query
     * uses it only with the literal condition `NOT erased`.
     */
    index('messages_newest')
      .on(table.connectionId, table.direction, table.createdAt.desc().nullsFirst())
      .where(sql`not ${table.erased}`),
    /** A conversation, without the other messages of the connection. */
    index('messages_peer')
      .on(table.connectionId, table.peer, table.createdAt.desc().nullsFirst())
      .where(sql`${table.peer} is not null`),
    /** Messages whose sender no source has named. */
    index('messages_unknown_sender')
      .on(table.connectionId, table.createdAt.desc().nullsFirst())
      .where(sql`${table.peer} is null and ${table.direction} = 'incoming' and not ${table.erased}`),
    /** Few rows: late deliveries of them are deleted. */
    index('messages_erased')
      .on(table.connectionId, table.id)
      .where(sql`${table.erased} and not ${table.expired}`),
    /** Few rows: those whose send may still be answered. */
    index('messages_unknown_origin').on(table.connectionId).where(sql`${table.origin} = 'unknown'`),
    /** Few rows: the files that the worker has to fetch or remove. */
    index('messages_media_waits')
      .on(table.mediaDueAt.asc().nullsFirst(), table.firstSeenAt)
      .where(sql.raw(COPY_WAITS)),
    /** Few rows: `GET /v1/sync` counts them. */
    index('messages_conflicts').on(table.connectionId, table.createdAt).where(sql`${table.statusConflict}`),
  ],
);

/** Messages whose period was dropped: what is reported of them later changes nothing. */
export const expiredMessages = connectorSchema.table(
  'expired_messages',
  { id: text('id').notNull(), connectionId: text('connection_id').notNull() },
  (table) => [primaryKey({ name: 'expired_messages_pkey', columns: [table.id, table.connectionId] })],
);

/**
 * What is shown instead of stored columns. The key of a person follows from the address, so a number whose spellings
 * a later version learns needs no rewriting. An earlier version of the connector stored no origin.
 */
export function shownFields(row: {
  readonly direction: string | null;
  readonly origin: MessageOrigin | null;
  readonly peer: string | null;
  readonly mediaCopy: StoredCopy | null;
}): {
  readonly origin: MessageOrigin | null;
  readonly personKey: string | null;
  readonly mediaCopy: MediaCopy | null;
} {
  return {
    mediaCopy: showCopy(row.mediaCopy),
    origin: row.direction === 'outgoing' ? (row.origin ?? 'unknown') : null,
    personKey: row.peer === null ? null : personKey(row.peer),
  };
}

function showCopy(copy: StoredCopy | null): MediaCopy | null {
  if (copy === null || copy.state === 'removing') return null;
  const { state, key = null, sha256 = null, size = null, error = null } = copy;
  // Until it is stored, the key is only an intention.
  return state === 'stored'
    ? { state, key, sha256, size, error: null }
    : { state, key: null, sha256: null, size: null, error };
}
