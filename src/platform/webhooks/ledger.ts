import { and, desc, gt, lt, sql } from 'drizzle-orm';
import type { EventType, WebhookEvent } from '../../contract/service/events.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { ledger, ledgerPosition } from '../db/webhook-tables.ts';

/** An event that a state change causes. `at` is virtual time in epoch milliseconds. */
export interface NewEvent {
  readonly workspaceId: string;
  readonly connectionId: string;
  readonly messageId: string | null;
  readonly event: EventType;
  /** The status in a `message.status`; null for other events. */
  readonly status: string | null;
  readonly payload: WebhookEvent;
  readonly at: number;
}

/** An event in the ledger, with its payload as the bytes that all attempts send. */
export interface RecordedEvent {
  readonly id: number;
  readonly workspaceId: string;
  /** OAuth apps that receive it, besides its workspace. */
  readonly appIds: readonly string[];
  readonly connectionId: string;
  readonly messageId: string | null;
  readonly event: EventType;
  readonly status: string | null;
  readonly at: number;
  readonly body: Buffer;
}

/** One entry of the numbered ledger. */
export interface LedgerEntry {
  readonly seq: number;
  readonly at: number;
  readonly workspaceId: string;
  readonly connectionId: string;
  readonly messageId: string | null;
  readonly event: EventType;
  readonly status: string | null;
  /** The body, parsed. */
  readonly payload: Record<string, unknown>;
}

/**
 * The apps that receive an event: with a webhook, and with a live grant over its connection that covers it. Grants from
 * before the cut-over cover only `message.received`. [events.granted] [events.oauth.legacy]
 */
const SUBSCRIBED_APPS = `ARRAY(
  SELECT DISTINCT g.app_id FROM platform.oauth_grants g
  JOIN platform.oauth_apps a ON a.id = g.app_id
  JOIN platform.webhook_configurations w ON w.subscription_id = a.id
  WHERE g.workspace_id = given.workspace_id AND given.connection_id = ANY(g.connection_ids) AND a.enabled
    AND g.revoked_at IS NULL AND g.expires_at > given.at AND 'messaging.events' = ANY(g.scopes)
    AND (given.event = 'message.received' OR NOT g.legacy))`;

/** Inserts any number of events and finds the apps of each. It is SQL, because drizzle has no such insert. */
export const INSERT_EVENTS = `
  INSERT INTO platform.ledger (workspace_id, connection_id, message_id, event, status, at, body, app_ids)
  SELECT workspace_id, connection_id, message_id, event, status, at, body, ${SUBSCRIBED_APPS}
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
    WITH ORDINALITY AS given (workspace_id, connection_id, message_id, event, status, at, body, position)
  ORDER BY position
  RETURNING id, app_ids`;

/**
 * Writes events into the ledger, in the transaction of the state change that causes them. The caller passes the result
 * to delivery after the commit. Each payload is serialized once, here.
 */
export async function recordEvents(tx: Queryable, events: readonly NewEvent[]): Promise<RecordedEvent[]> {
  if (events.length === 0) return [];
  const bodies = events.map((event) => JSON.stringify(event.payload));
  const rows = await tx.query<{ id: number; app_ids: string[] }>(INSERT_EVENTS, [
    events.map((event) => event.workspaceId),
    events.map((event) => event.connectionId),
    events.map((event) => event.messageId),
    events.map((event) => event.event),
    events.map((event) => event.status),
    events.map((event) => event.at),
    bodies,
  ]);
  // Ids are assigned in the order of the rows, so the first event has the smallest.
  const inOrder = rows.toSorted((a, b) => a.id - b.id);
  return events.map(({ payload: _, ...event }, index) => {
    const row = inOrder[index];
    if (row === undefined) throw new Error('the ledger stored fewer events than it was given');
    return { ...event, id: row.id, appIds: row.app_ids, body: Buffer.from(bodies[index] ?? '') };
  });
}

const { id, seq, at, workspaceId, connectionId, messageId, event, status, body, appIds } = ledger;
const COLUMNS = { id, workspaceId, connectionId, messageId, event, status, at };

/** Reads events by id, in the order of `ids`; unknown ids are left out. */
export async function loadEvents(db: Queryable, ids: readonly number[]): Promise<RecordedEvent[]> {
  const rows = await orm(db)
    .select({ ...COLUMNS, body, appIds })
    .from(ledger)
    .where(isAnyOf(id, ids));
  const byId = new Map(rows.map((row) => [row.id, { ...row, body: Buffer.from(row.body) }]));
  return ids.flatMap((one) => byId.get(one) ?? []);
}

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
   * Entries after a `seq`, at most `limit`, in order. Events committed since the last read are numbered first: only
   * readers need the numbers, so delivery does not assign them.
   */
  read(after: number, limit: number): Promise<LedgerEntry[]>;
  /** The same between two `seq`, both exclusive, from either end. */
  readBetween(range: LedgerRange, limit: number): Promise<LedgerEntry[]>;
  /** The last `seq`, after numbering the events committed since the last read; 0 if there is none. */
  lastSeq(): Promise<number>;
}

export function createLedger({ database }: { readonly database: Queryable }): Ledger {
  const readBetween: Ledger['readBetween'] = async ({ after, before, newestFirst = false }, limit) => {
    await numberLedger(database);
    const rows = await orm(database)
      .select({ ...COLUMNS, seq: sql<number>`${seq}`, body })
      .from(ledger)
      .where(and(gt(seq, after ?? 0), before === undefined ? undefined : lt(seq, before)))
      .orderBy(newestFirst ? desc(seq) : seq)
      .limit(limit);
    return rows.map(({ id: _, body: text, ...entry }) => ({ ...entry, payload: JSON.parse(text) }));
  };

  return {
    readBetween,
    read: (after, limit) => readBetween({ after }, limit),
    async lastSeq() {
      await numberLedger(database);
      const [row] = await orm(database).select({ lastSeq: ledgerPosition.lastSeq }).from(ledgerPosition);
      return row?.lastSeq ?? 0;
    },
  };
}
