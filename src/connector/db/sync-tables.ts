import { bigint, boolean, index, integer, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/** The polling progress of an account. Written only under the account's lease. */
export const coverage = connectorSchema.table('coverage', {
  accountId: text('account_id').primaryKey(),
  /** Service time: polling has read every visible message created before it. Null if it has read none. */
  watermark: epochMs('watermark'),
  /** The watermark when connections were last listed: until then, nothing of a listed connection was missed. */
  listedWatermark: epochMs('listed_watermark'),
  /** When connections were last listed, on our clock. */
  listedAt: epochMs('listed_at'),
});

/** What polling does next for an account, and the result of the last poll. */
export const pollStates = connectorSchema.table('poll_states', {
  accountId: text('account_id').primaryKey(),
  /** When it is to be polled next. If in the past, it is due or being polled. */
  dueAt: epochMs('due_at'),
  lastStartedAt: epochMs('last_started_at'),
  lastGoodAt: epochMs('last_good_at'),
  /** Service time at the last successful poll; a full sweep measures the age of open statuses from there. */
  lastGoodReference: epochMs('last_good_reference'),
  /** Failures since the last successful poll. */
  failures: integer('failures').notNull().default(0),
  lastErrorCode: text('last_error_code'),
  lastErrorAt: epochMs('last_error_at'),
  /** No call before then: the service's `Retry-After`, or our own back-off. */
  notBefore: epochMs('not_before'),
  /** True if the service requested the wait. */
  askedToWait: boolean('asked_to_wait').notNull().default(false),
  /** The credential with this version was refused permanently. */
  refusedCredentialVersion: bigint('refused_credential_version', { mode: 'number' }),
  needsFullSweep: boolean('needs_full_sweep').notNull().default(true),
  /** Statuses that stayed open beyond the widest horizon, as last counted. */
  unresolved: integer('unresolved').notNull().default(0),
});

/**
 * Ranges of the message list that have not been read. `slot` distinguishes gaps of a kind: `coverage` gaps are
 * numbered from the oldest, a `visibility` gap has the id of its connection, a `sweep` gap the name of its
 * horizon. One of kind `unread` is a day with records that were left out, for a version of the reader.
 */
export const gaps = connectorSchema.table(
  'gaps',
  {
    accountId: text('account_id').notNull(),
    kind: text('kind').$type<'coverage' | 'visibility' | 'sweep' | 'unread'>().notNull(),
    slot: text('slot').notNull(),
    top: epochMs('top'),
    floor: epochMs('floor'),
    cursor: text('cursor'),
    nextTop: epochMs('next_top'),
    restarts: integer('restarts').notNull(),
    openedAt: epochMs('opened_at').notNull(),
  },
  (table) => [primaryKey({ name: 'gaps_pkey', columns: [table.accountId, table.kind, table.slot] })],
);

/** When open statuses of each age were last swept. */
export const sweeps = connectorSchema.table(
  'sweeps',
  {
    accountId: text('account_id').notNull(),
    horizon: text('horizon').notNull(),
    lastAt: epochMs('last_at').notNull(),
    /** Service time then. */
    lastReference: epochMs('last_reference').notNull(),
  },
  (table) => [primaryKey({ name: 'sweeps_pkey', columns: [table.accountId, table.horizon] })],
);

/**
 * What polling found before any webhook delivered it. The row is judged once all attempts of the webhook are
 * over.
 */
export const repairs = connectorSchema.table(
  'repairs',
  {
    connectionId: text('connection_id').notNull(),
    messageId: text('message_id').notNull(),
    /** The bit of `messages.webhook_seen` that was missing. */
    what: smallint('what').notNull(),
    accountId: text('account_id').notNull(),
    observedAt: epochMs('observed_at').notNull(),
  },
  (table) => [
    primaryKey({ name: 'repairs_pkey', columns: [table.connectionId, table.messageId, table.what] }),
    index('repairs_due').on(table.accountId, table.observedAt),
  ],
);

/** How much polling has repaired, per connection. */
export const repairTotals = connectorSchema.table('repair_totals', {
  connectionId: text('connection_id').primaryKey(),
  accountId: text('account_id').notNull(),
  messages: bigint('messages', { mode: 'number' }).notNull(),
  statuses: bigint('statuses', { mode: 'number' }).notNull(),
  lastAt: epochMs('last_at').notNull(),
});
