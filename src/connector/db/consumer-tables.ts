import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import type {
  ConsumerFilter,
  ConsumerKind,
  ConsumerState,
  HistoryMode,
} from '../../contract/connector/consumers.ts';
import { connectorSchema, epochMs } from './column-types.ts';

/** `ordered`: a change that fails holds back the later ones of its connection. */
export interface HttpSettings {
  readonly url: string;
  readonly ordered: boolean;
}

export interface BullmqSettings {
  readonly queue: string;
  readonly prefix: string;
}

/** What receives the changes of the feed, each at least once. */
export const consumers = connectorSchema.table('consumers', {
  /** `handler` for the handler. */
  name: text('name').primaryKey(),
  kind: text('kind').$type<ConsumerKind>().notNull(),
  /** `disabled`: its receiver asked not to be called again. */
  state: text('state').$type<ConsumerState>().notNull().default('running'),
  disabledReason: text('disabled_reason'),
  /** Since when calls find it away, and why; null if it is not, as far as the processes that call it know. */
  unavailableSince: epochMs('unavailable_since'),
  unavailableReason: text('unavailable_reason'),
  filter: jsonb('filter').$type<ConsumerFilter>().notNull().default({}),
  /** Whether it receives history, and when. */
  historic: text('historic').$type<HistoryMode>().notNull().default('quiet'),
  /** Maximum number of changes of one call. */
  batch: integer('batch').notNull().default(1),
  /** Maximum number of connections that each process works on concurrently. */
  concurrency: integer('concurrency').notNull().default(50),
  /** Calls of one change before it becomes a dead letter. */
  attempts: integer('attempts').notNull().default(12),
  deadlineMs: integer('deadline_ms').notNull().default(30_000),
  /** A place is written after as many changes of its partition, or after `placeMs`. */
  placeChanges: integer('place_changes').notNull().default(500),
  placeMs: integer('place_ms').notNull().default(500),
  settings: jsonb('settings')
    .$type<HttpSettings | BullmqSettings | Record<string, never>>()
    .notNull()
    .default({}),
  /** Signs the calls of `http`. The previous one signs as well until `previousUntil`. */
  sealedSecret: text('sealed_secret'),
  sealedPreviousSecret: text('sealed_previous_secret'),
  previousUntil: epochMs('previous_until'),
  /** Address of the CRM's Redis, for `bullmq`. Null: the connector's own. */
  sealedRedisUrl: text('sealed_redis_url'),
  /** Increases with each change of the row, so that processes notice it. */
  version: bigint('version', { mode: 'number' }).notNull().default(1),
  createdAt: epochMs('created_at').notNull(),
});

/**
 * How far a consumer is in each of its 16 partitions: the newest row counts. Written about twice a second while changes
 * come, so what lies between is repeated after a death. Each write adds a row and deletes the one before: while
 * somebody holds a snapshot, a row that is updated is found behind all of its versions, and the newest entry of an index
 * at once.
 */
export const consumerPlaces = connectorSchema.table(
  'consumer_places',
  {
    consumer: text('consumer').notNull(),
    /** 0 to 15: a hash of the connection. */
    partition: integer('partition').notNull(),
    id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity().notNull(),
    /** Every change of the partition up to this `seq` was accepted, is a dead letter, or is in `parked_entries`. */
    place: bigint('place', { mode: 'number' }).notNull(),
    /** From the first read to an orderly stop. A new owner that finds it true knows that the previous one died. */
    open: boolean('open').notNull().default(false),
  },
  (table) => [
    primaryKey({ name: 'consumer_places_pkey', columns: [table.consumer, table.partition, table.id] }),
  ],
);

/** A key whose next change waits because a call failed, or that is far behind its partition. */
export const parked = connectorSchema.table(
  'parked',
  {
    consumer: text('consumer').notNull(),
    /** The connection; `<connectionId>/<seq>` for one change of a consumer that is not ordered. */
    key: text('key').notNull(),
    partition: integer('partition').notNull(),
    connectionId: text('connection_id').notNull(),
    /** The change that `attempts` counts for. */
    seq: bigint('seq', { mode: 'number' }).notNull(),
    dueAt: epochMs('due_at').notNull(),
    /** Calls that failed. */
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    since: epochMs('since').notNull(),
    /** Increases with every write. A write names the one it knows, so that none is lost. */
    revision: integer('revision').notNull().default(1),
  },
  (table) => [primaryKey({ name: 'parked_pkey', columns: [table.consumer, table.key] })],
);

/** Changes of parked keys that the place of their partition has passed. */
export const parkedEntries = connectorSchema.table(
  'parked_entries',
  {
    consumer: text('consumer').notNull(),
    key: text('key').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    /** Calls that failed before it became an entry. */
    attempts: integer('attempts').notNull().default(0),
  },
  (table) => [primaryKey({ name: 'parked_entries_pkey', columns: [table.consumer, table.key, table.seq] })],
);

/** Changes that a consumer failed to process. */
export const deadLetters = connectorSchema.table(
  'dead_letters',
  {
    consumer: text('consumer').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    connectionId: text('connection_id').notNull(),
    /** Null: the change is not about a message. */
    messageId: text('message_id'),
    attempts: integer('attempts').notNull(),
    lastError: text('last_error').notNull(),
    at: epochMs('at').notNull(),
  },
  (table) => [
    primaryKey({ name: 'dead_letters_pkey', columns: [table.consumer, table.seq] }),
    index('dead_letters_message').on(table.messageId).where(sql`${table.messageId} is not null`),
  ],
);
