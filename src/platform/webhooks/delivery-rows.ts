import { and, eq, lte, not } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { deliveries, ledger } from '../db/webhook-tables.ts';
import type { Destination } from './configuration.ts';
import type { Attempt, DeliveryOutcome, DeliveryRecord, DropReason, Envelope } from './delivery-record.ts';
import { signEvent } from './sign-event.ts';
import { deliveryHeaders } from './signed-body.ts';

const { id, eventId, subscriptionId, createdAt, outcome, reason, held, made } = deliveries;
const { url, secret, signedAt, attempts, variant } = deliveries;
const { workspaceId, event, connectionId, messageId, body } = ledger;

/** What a record is made of. */
const ROW = { id, eventId, subscriptionId, createdAt, outcome, reason, held, made };
const SIGNED = { url, secret, signedAt, attempts, variant };
const EVENT = { workspaceId, event, connectionId, messageId, body };

/** Deliveries with their events, in all columns of a record. */
export const selectDeliveries = (db: Queryable) =>
  orm(db)
    .select({ ...ROW, ...SIGNED, ...EVENT })
    .from(deliveries)
    .innerJoin(ledger, eq(ledger.id, eventId));

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
  /** Those whose attempts go on. */
  readonly except: readonly number[];
  /** What the first attempts are sent to and signed with; null: no webhook is set. */
  readonly destination: Destination | null;
  /** When they are signed, by the present clock of the machine. */
  readonly signedAt: number;
}

/**
 * Deliveries whose next attempt is due, as they are when it has begun, in the order of their ids. Nothing is written
 * before the attempt ends: only one process delivers.
 */
export async function claimDeliveries(db: Queryable, claim: Claim): Promise<DeliveryRecord[]> {
  const { now, limit, destination, signedAt, except } = claim;
  const rows = await selectDeliveries(db)
    .where(
      and(
        eq(subscriptionId, claim.subscriptionId),
        lte(deliveries.dueAt, now),
        not(held),
        not(isAnyOf(id, except)),
      ),
    )
    .orderBy(deliveries.dueAt, id)
    .limit(limit);
  const begun = rows.map((row) => ({
    ...row,
    made: row.made + 1,
    // [delivery.identical]
    ...(row.signedAt === null && destination !== null ? { ...destination, signedAt } : {}),
  }));
  return begun.map(toRecord).sort((a, b) => a.id - b.id);
}

const BY_INDEX = `SELECT set_config(unnest('{enable_sort,enable_seqscan,enable_hashjoin}'::text[]), 'off', true)`;

/** The same, in the order of the index: with a plan from when the tables were small, a claim reads all that is due. */
export async function claimByIndex(tx: Queryable, claim: Claim): Promise<DeliveryRecord[]> {
  await tx.query(BY_INDEX);
  return await claimDeliveries(tx, claim);
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

/** Stores any number of ends, each once. All rows exist: a conflict is found by the index, whatever the planner knows. */
export const END_ATTEMPTS = `
  INSERT INTO platform.deliveries AS d OVERRIDING SYSTEM VALUE
  SELECT e.* FROM jsonb_populate_recordset(NULL::platform.deliveries, $1) AS e
  ON CONFLICT (id) DO UPDATE
  SET (made, outcome, reason, due_at) = ROW (excluded.made, excluded.outcome, excluded.reason, excluded.due_at),
    attempts = d.attempts || excluded.attempts, held = d.held AND excluded.outcome = 'pending',
    url = coalesce(d.url, excluded.url), secret = coalesce(d.secret, excluded.secret),
    signed_at = coalesce(d.signed_at, excluded.signed_at)
  WHERE d.made = excluded.made - 1 AND d.outcome = 'pending'
  RETURNING d.id, d.attempts, d.held`;

/**
 * Stores the ends of attempts, each once, however often it is called. Resolves with the records as they are then.
 */
export async function endAttempts(db: Queryable, ended: readonly EndedAttempt[]): Promise<DeliveryRecord[]> {
  const values = ended.map(({ delivery: { envelope, ...row }, attempts, outcome, reason, dueAt }) => ({
    ...{ id: row.id, event_id: row.eventId, subscription_id: row.subscriptionId, created_at: row.createdAt },
    ...{ made: row.made, held: row.held, attempts, outcome, reason, due_at: dueAt },
    ...{ url: envelope?.url, secret: envelope?.secret, signed_at: envelope?.timestamp },
  }));
  const rows = await db.query<Pick<DeliveryRecord, 'id' | 'attempts' | 'held'>>(END_ATTEMPTS, [
    JSON.stringify(values),
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
