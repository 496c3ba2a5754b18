import { and, desc, gt, lt, sql } from 'drizzle-orm';
import type { WebhookEvent } from '../../contract/service/events.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { ledger, ledgerPosition } from '../db/webhook-tables.ts';

type EventRow = Omit<typeof ledger.$inferSelect, 'id' | 'seq' | 'body'>;

/** An event that a state change causes. `at` is virtual time in epoch milliseconds. */
export type NewEvent = EventRow & { readonly payload: WebhookEvent };

/** One entry of the numbered ledger, with its body parsed. */
export type LedgerEntry = EventRow & { readonly seq: number; readonly payload: Record<string, unknown> };

/**
 * The apps that receive an event: with a webhook, and with a live grant over its connection that covers it. Grants from
 * before the cut-over cover only `message.received`. [events.granted] [events.oauth.legacy]
 */
const SUBSCRIBED_APPS = `ARRAY(
  SELECT DISTINCT g.app_id FROM platform.oauth_grants g
  JOIN platform.oauth_apps a ON a.id = g.app_id
  JOIN platform.webhook_configurations w ON w.subscription_id = a.id
  WHERE g.workspace_id = recorded.workspace_id AND recorded.connection_id = ANY(g.connection_ids) AND a.enabled
    AND g.revoked_at IS NULL AND g.expires_at > recorded.at AND 'messaging.events' = ANY(g.scopes)
    AND (recorded.event = 'message.received' OR NOT g.legacy))`;

/**
 * Inserts any number of events and their deliveries: one to the workspace of each, and one to each of the apps. It is
 * SQL, because drizzle has no such insert.
 */
export const INSERT_EVENTS = `
  WITH recorded AS (
    INSERT INTO platform.ledger (workspace_id, connection_id, message_id, event, status, at, body)
    SELECT workspace_id, connection_id, message_id, event, status, at, body
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
      WITH ORDINALITY AS given (workspace_id, connection_id, message_id, event, status, at, body, position)
    ORDER BY position
    RETURNING id, workspace_id, connection_id, event, at
  )
  INSERT INTO platform.deliveries (event_id, subscription_id, created_at, due_at)
  SELECT recorded.id, receiver.id, $8::bigint, $8::bigint
  FROM recorded, unnest(array_prepend(workspace_id, ${SUBSCRIBED_APPS})) WITH ORDINALITY AS receiver (id, position)
  ORDER BY recorded.id, receiver.position
  RETURNING subscription_id`;

/**
 * Writes events into the ledger, and their deliveries, in the transaction of the state change that causes them. `now`
 * is wall-clock epoch milliseconds. Resolves with the subscriptions to wake after the commit. Each payload is
 * serialized once, here.
 */
export async function recordEvents(
  tx: Queryable,
  events: readonly NewEvent[],
  now: number,
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const rows = await tx.query<{ subscription_id: string }>(INSERT_EVENTS, [
    events.map((event) => event.workspaceId),
    events.map((event) => event.connectionId),
    events.map((event) => event.messageId),
    events.map((event) => event.event),
    events.map((event) => event.status),
    events.map((event) => event.at),
    events.map((event) => JSON.stringify(event.payload)),
    now,
  ]);
  return new Set(rows.map((row) => row.subscription_id));
}

const { seq, at, workspaceId, connectionId, messageId, event, status, body } = ledger;
const COLUMNS = { at, workspaceId, connectionId, messageId, event, status };

const NUMBERING_BATCH = 5_000;

/**
 * Assigns `seq` to all committed events without one, in the order of their ids and without gaps. The lock of the
 * position's row serializes the numbering across processes.
 */
async function numberLedger(db: Queryable): Promise<void> {
  for (;;) {
    const [row] = await orm(db)
      .select({ numbered: sql<number>`numbered` })
      .from(sql`platform.number_ledger(${NUMBERING_BATCH}) numbered`);
    if ((row?.numbered ?? 0) < NUMBERING_BATCH) return;
  }
}

/** A range of the ledger, and the end at which reading begins. */
export interface LedgerRange {
  /** Default: the beginning. */
  readonly after?: number;
  /** Default: the end. */
  readonly before?: number;
  readonly newestFirst?: boolean;
}

/** Reads the ledger, to which a receiver can be compared. */
export interface Ledger {
  /**
   * Entries between two `seq`, both exclusive, at most `limit`. Events committed since the last read are numbered first:
   * only readers need the numbers, so delivery does not assign them.
   */
  read(range: LedgerRange, limit: number): Promise<LedgerEntry[]>;
  /** The last `seq`, after numbering the events committed since the last read; 0 if there is none. */
  lastSeq(): Promise<number>;
}

export function createLedger({ database }: { readonly database: Queryable }): Ledger {
  return {
    async read({ after = 0, before, newestFirst = false }, limit) {
      await numberLedger(database);
      const rows = await orm(database)
        .select({ ...COLUMNS, seq: sql<number>`${seq}`, body })
        .from(ledger)
        .where(and(gt(seq, after), before === undefined ? undefined : lt(seq, before)))
        .orderBy(newestFirst ? desc(seq) : seq)
        .limit(limit);
      return rows.map(({ body: text, ...entry }) => ({ ...entry, payload: JSON.parse(text) }));
    },
    async lastSeq() {
      await numberLedger(database);
      const [row] = await orm(database).select({ lastSeq: ledgerPosition.lastSeq }).from(ledgerPosition);
      return row?.lastSeq ?? 0;
    },
  };
}
