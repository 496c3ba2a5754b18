import { and, eq, lte, not, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { deliveries, ledger } from '../db/webhook-tables.ts';
import type { Destination } from './configuration.ts';
import type { Attempt, DeliveryOutcome, DeliveryRecord, DropReason, Envelope } from './delivery-record.ts';
import { signEvent } from './sign-event.ts';
import { deliveryHeaders } from './signed-body.ts';

const { id, eventId, subscriptionId, createdAt, outcome, reason, held, made } = deliveries;
const { url, secret, signedAt, attempts, variant } = deliveries;
const { workspaceId, event, connectionId, messageId, body } = ledger;

/** What a record is made of. */
export const ROW = { id, eventId, subscriptionId, createdAt, outcome, reason, held, made };
const SIGNED = { url, secret, signedAt, attempts, variant };
const EVENT = { workspaceId, event, connectionId, messageId, body };

/** All columns of a record, for a query that joins the ledger. */
export const COLUMNS = { ...ROW, ...SIGNED, ...EVENT };

type Row = Pick<typeof deliveries.$inferSelect, keyof typeof ROW | keyof typeof SIGNED> &
  Pick<typeof ledger.$inferSelect, keyof typeof EVENT>;

/** The record of a row. */
export function toRecord({ secret, signedAt, variant, ...row }: Row): DeliveryRecord {
  const text = variant?.body ?? row.body;
  let envelope: Envelope | null = null;
  if (row.url !== null && secret !== null && signedAt !== null) {
    const bytes = Buffer.from(text);
    const signature = signEvent(secret, signedAt, bytes);
    const own = variant === null ? {} : { headers: variant.headers };
    envelope = { url: row.url, secret, timestamp: signedAt, signature, body: bytes, ...own };
  }
  const headers = envelope === null ? {} : deliveryHeaders(envelope);
  return { ...row, body: text, envelope, headers, variantOf: variant?.of ?? null };
}

/** Which deliveries to claim. */
export interface Claim {
  readonly subscriptionId: string;
  /** Wall-clock epoch milliseconds: those that are due by then, earliest first. */
  readonly now: number;
  readonly limit: number;
  /** What the first attempts are sent to and signed with; null: no webhook is set. */
  readonly destination: Destination | null;
}

/** Begins the next attempt of deliveries that are due. Resolves with them, in the order of their ids. */
export async function claimDeliveries(db: Queryable, claim: Claim): Promise<DeliveryRecord[]> {
  const { now, limit, destination } = claim;
  const due = orm(db)
    .select({ id })
    .from(deliveries)
    .where(and(eq(subscriptionId, claim.subscriptionId), lte(deliveries.dueAt, now), not(held)))
    .orderBy(deliveries.dueAt, id)
    .limit(limit)
    .for('update', { skipLocked: true })
    .as('due');
  const first = (column: typeof url | typeof secret | typeof signedAt, value: string | number | null): SQL =>
    sql`coalesce(${column}, ${value})`;
  // [delivery.identical]
  const rows = await orm(db)
    .update(deliveries)
    .set({
      dueAt: null,
      made: sql`${made} + 1`,
      url: first(url, destination?.url ?? null),
      secret: first(secret, destination?.secret ?? null),
      signedAt: first(signedAt, destination === null ? null : now),
    })
    .from(due)
    .innerJoin(ledger, sql`true`)
    .where(and(eq(id, due.id), eq(ledger.id, eventId)))
    .returning(COLUMNS);
  return rows.map(toRecord).sort((a, b) => a.id - b.id);
}

/** An attempt that has ended, and how its delivery goes on. */
export interface EndedAttempt {
  readonly delivery: DeliveryRecord;
  /** The requests of the attempt, to be added to the record. */
  readonly attempts: readonly Attempt[];
  readonly outcome: DeliveryOutcome;
  readonly reason: DropReason | null;
  /** When the next attempt may begin; null if there is none. */
  readonly dueAt: number | null;
}

/** Stores any number of ends, each once. It is SQL, because drizzle has no such update. */
export const END_ATTEMPTS = `
  UPDATE platform.deliveries AS d
  SET attempts = d.attempts || e.attempts, outcome = e.outcome, reason = e.reason, due_at = e.due_at,
    held = d.held AND e.outcome = 'pending'
  FROM unnest($1::bigint[], $2::smallint[], $3::jsonb[], $4::text[], $5::text[], $6::bigint[])
    AS e (id, made, attempts, outcome, reason, due_at)
  WHERE d.id = e.id AND d.made = e.made AND d.due_at IS NULL AND d.outcome = 'pending'
  RETURNING d.id, d.attempts, d.held`;

/**
 * Stores the ends of attempts that were claimed, each once, however often it is called. Resolves with the records as
 * they are then.
 */
export async function endAttempts(db: Queryable, ended: readonly EndedAttempt[]): Promise<DeliveryRecord[]> {
  const rows = await db.query<Pick<DeliveryRecord, 'id' | 'attempts' | 'held'>>(END_ATTEMPTS, [
    ended.map(({ delivery }) => delivery.id),
    ended.map(({ delivery }) => delivery.made),
    ended.map((end) => JSON.stringify(end.attempts)),
    ended.map((end) => end.outcome),
    ended.map((end) => end.reason),
    ended.map((end) => end.dueAt),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ended.map(({ delivery, outcome, reason }) => ({
    ...delivery,
    outcome,
    reason,
    ...byId.get(delivery.id),
  }));
}

/**
 * Drops every delivery that is not over: the process that delivered it has ended or ends, and there is no long
 * redelivery queue. Resolves with their number. [delivery.dropped]
 */
export async function dropPending(db: Queryable): Promise<number> {
  const dropped = await orm(db)
    .update(deliveries)
    .set({ outcome: 'dropped', reason: 'interrupted', dueAt: null, held: false })
    .where(eq(outcome, 'pending'))
    .returning({ id });
  return dropped.length;
}
