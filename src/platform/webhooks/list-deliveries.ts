import { and, count, desc, eq, lt, not, sql } from 'drizzle-orm';
import type { DeliveryOutcome } from '../../contract/sandbox/deliveries.ts';
import { type Filter, matchesFilter } from '../../contract/sandbox/filter.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { filterSql } from '../db/filter-sql.ts';
import { deliveries, ledger } from '../db/webhook-tables.ts';
import type { ActiveDelivery } from './active-delivery.ts';
import { deliveryHeaders } from './attempt-slots.ts';
import type { Waiting } from './backlog.ts';
import type { DeliveryEnd, DeliveryRecord, Variant } from './delivery-record.ts';
import { loadEvents, type RecordedEvent } from './ledger.ts';

/** Which deliveries to list, newest first. `before` is an id: only older deliveries. */
export interface DeliveryFilter {
  /** Default: all. */
  readonly where?: Filter<DeliveryValue>;
  readonly before?: number;
  readonly limit: number;
}

/** A delivery in memory: waiting or in progress. */
type Pending = Waiting | ActiveDelivery;

/** The query for finished deliveries with their events. */
function select(db: Queryable) {
  const { id, eventId, subscriptionId, url, outcome, reason, createdAt } = deliveries;
  const { workspaceId, event, connectionId, messageId, body } = ledger;
  const { attempts, signedAt, signature, variant } = deliveries;
  return orm(db)
    .select({
      delivery: { id, eventId, subscriptionId, url, outcome, reason, createdAt },
      event: { workspaceId, event, connectionId, messageId, body },
      ...{ attempts, signedAt, signature, variant },
    })
    .from(deliveries)
    .innerJoin(ledger, eq(ledger.id, eventId));
}

function toRecord(row: Awaited<ReturnType<typeof select>>[number]): DeliveryRecord {
  const { signedAt: timestamp, signature } = row;
  const variant: Variant | null = row.variant === null ? null : JSON.parse(row.variant);
  const own = variant === null ? {} : { headers: variant.headers };
  return {
    ...row.delivery,
    ...row.event,
    headers:
      timestamp === null || signature === null ? {} : deliveryHeaders({ timestamp, signature, ...own }),
    body: variant?.body ?? row.event.body,
    attempts: JSON.parse(row.attempts),
    variantOf: variant?.of ?? null,
  };
}

/** The record of a delivery in memory, with its end if it has just ended. */
export function viewDelivery(pending: Pending, event: RecordedEvent, end?: DeliveryEnd): DeliveryRecord {
  const begun = 'attempts' in pending ? pending : null;
  const envelope = begun?.envelope ?? null;
  return {
    id: pending.id,
    eventId: pending.eventId,
    subscriptionId: pending.subscriptionId,
    workspaceId: event.workspaceId,
    event: event.event,
    connectionId: event.connectionId,
    messageId: event.messageId,
    url: envelope?.url ?? null,
    outcome: end?.outcome ?? 'pending',
    reason: end?.reason ?? null,
    createdAt: pending.createdAt,
    headers: envelope === null ? {} : deliveryHeaders(envelope),
    body: pending.variant?.body ?? event.body.toString(),
    variantOf: pending.variant?.of ?? null,
    attempts: begun === null ? [] : [...begun.attempts],
  };
}

/** The values of a delivery that filters compare; for null, the texts that are searched. */
function valuesOf(record: DeliveryRecord, key: DeliveryValue | null): readonly string[] {
  const { outcome, event, workspaceId, connectionId, messageId, subscriptionId, reason, url } = record;
  if (key === null) return [record.body, url ?? '', JSON.stringify(record.attempts)];
  if (key === 'mark') return record.attempts.flatMap(({ marks = [] }) => marks);
  const value = {
    status: outcome,
    type: event,
    workspace: workspaceId,
    connection: connectionId,
    message: messageId,
    webhook: subscriptionId,
    reason,
    url,
    copy: record.variantOf,
  }[key];
  return value === null ? [] : [String(value)];
}

/** The same values of finished deliveries. */
const COLUMNS = {
  keys: {
    status: deliveries.outcome,
    type: ledger.event,
    workspace: ledger.workspaceId,
    connection: ledger.connectionId,
    message: ledger.messageId,
    webhook: deliveries.subscriptionId,
    reason: deliveries.reason,
    url: deliveries.url,
    copy: sql`${deliveries.variant}::json ->> 'of'`,
    mark: {
      each: sql`json_array_elements(${deliveries.attempts}::json) as attempt, json_array_elements_text(attempt -> 'marks') as one(value)`,
    },
  },
  texts: [
    sql`coalesce(${deliveries.variant}::json ->> 'body', ${ledger.body})`,
    deliveries.url,
    deliveries.attempts,
  ],
};

/** What deliveries can be filtered by. */
export type DeliveryValue = keyof (typeof COLUMNS)['keys'];

/** Whether a filter leaves any delivery with one of these outcomes. */
function allows(where: Filter<DeliveryValue>, ...outcomes: readonly DeliveryOutcome[]): boolean {
  const ofOutcome = where.filter((clause) => clause.every(({ key }) => key === 'status'));
  return outcomes.some((outcome) => matchesFilter(ofOutcome, () => [outcome]));
}

const PENDING_BATCH = 500;

/** The newest pending deliveries that match; their events are read from the ledger as far as they are needed. */
async function listPending(
  db: Queryable,
  pending: readonly Pending[],
  { where = [], before = Number.POSITIVE_INFINITY, limit }: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  if (!allows(where, 'pending')) return [];
  const candidates = pending.filter(({ id }) => id < before).sort((a, b) => b.id - a.id);
  const found: DeliveryRecord[] = [];
  for (let from = 0; from < candidates.length && found.length < limit; from += PENDING_BATCH) {
    const batch = candidates.slice(from, from + PENDING_BATCH);
    const events = await loadEvents(
      db,
      batch.map(({ eventId }) => eventId),
    );
    const byId = new Map(events.map((event) => [event.id, event]));
    for (const candidate of batch) {
      const event = byId.get(candidate.eventId);
      if (event === undefined) continue;
      const record = viewDelivery(candidate, event);
      if (matchesFilter(where, (key) => valuesOf(record, key))) found.push(record);
    }
  }
  return found.slice(0, limit);
}

/** Finished deliveries, newest first. */
async function listFinished(
  db: Queryable,
  { where = [], before, limit }: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  if (!allows(where, 'delivered', 'dropped')) return [];
  const older = before === undefined ? undefined : lt(deliveries.id, before);
  const rows = await select(db)
    .where(and(older, filterSql(where, COLUMNS)))
    .orderBy(desc(deliveries.id))
    .limit(limit);
  return rows.map(toRecord);
}

/**
 * Pending and finished deliveries in one list. `pending` was read before finished deliveries were stored, so a delivery
 * that ends in between is in both, and the stored one is used.
 */
export async function listDeliveries(
  db: Queryable,
  pending: readonly Pending[],
  filter: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  const finished = await listFinished(db, filter);
  const ended = new Set(finished.map(({ id }) => id));
  const open = (await listPending(db, pending, filter)).filter(({ id }) => !ended.has(id));
  return [...open, ...finished].sort((a, b) => b.id - a.id).slice(0, filter.limit);
}

/** How many deliveries match. Pending ones by their ids. */
export interface DeliveryCount {
  readonly pendingIds: readonly number[];
  readonly delivered: number;
  readonly dropped: number;
}

/** Counts deliveries. As in the list, a delivery that ends in between is counted once. */
export async function countDeliveries(
  db: Queryable,
  pending: readonly Pending[],
  where: Filter<DeliveryValue>,
): Promise<DeliveryCount> {
  const open = await listPending(db, pending, { where, limit: Number.POSITIVE_INFINITY });
  const pendingIds = open.map(({ id }) => id);
  const rows = await orm(db)
    .select({ outcome: deliveries.outcome, total: count() })
    .from(deliveries)
    .innerJoin(ledger, eq(ledger.id, deliveries.eventId))
    .where(and(filterSql(where, COLUMNS), not(isAnyOf(deliveries.id, pendingIds))))
    .groupBy(deliveries.outcome);
  const totals = Object.fromEntries(rows.map(({ outcome, total }) => [outcome, total]));
  return { pendingIds, delivered: totals['delivered'] ?? 0, dropped: totals['dropped'] ?? 0 };
}

/** The record of a pending delivery; null if its event no longer exists. */
export async function viewPending(db: Queryable, pending: Pending): Promise<DeliveryRecord | null> {
  const [event] = await loadEvents(db, [pending.eventId]);
  return event === undefined ? null : viewDelivery(pending, event);
}

/** A finished delivery; null for an unknown id. */
export async function findDelivery(db: Queryable, id: number): Promise<DeliveryRecord | null> {
  const [row] = await select(db).where(eq(deliveries.id, id));
  return row === undefined ? null : toRecord(row);
}
