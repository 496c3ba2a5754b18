import type { EventType } from '../../contract/service/events.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { ActiveDelivery } from './active-delivery.ts';
import { deliveryHeaders } from './attempt-slots.ts';
import type { Waiting } from './backlog.ts';
import type { Attempt, DeliveryEnd, DeliveryOutcome, DeliveryRecord, DropReason } from './delivery-record.ts';
import type { Holdable } from './held-deliveries.ts';
import { loadEvents, type RecordedEvent } from './ledger.ts';

/** Which deliveries to list, newest first. `before` is an id: only older ones. */
export interface DeliveryFilter {
  readonly event?: EventType;
  readonly workspaceId?: string;
  readonly connectionId?: string;
  readonly outcome?: DeliveryOutcome;
  readonly before?: number;
  readonly limit: number;
}

interface Row {
  readonly id: number;
  readonly event_id: number;
  readonly subscription_id: string;
  readonly workspace_id: string;
  readonly event: EventType;
  readonly connection_id: string;
  readonly message_id: string | null;
  readonly url: string | null;
  readonly outcome: DeliveryOutcome;
  readonly reason: DropReason | null;
  readonly created_at: number;
  readonly signed_at: number | null;
  readonly signature: string | null;
  readonly body: string;
  readonly attempts: string;
}

/** A delivery that is in memory: it waits, or has begun. */
type Pending = Holdable<Waiting | ActiveDelivery>;

const SELECT = `
  SELECT d.id, d.event_id, d.subscription_id, l.workspace_id, l.event, l.connection_id, l.message_id, d.url, d.outcome, d.reason, d.created_at,
    d.signed_at, d.signature, l.body, d.attempts
  FROM platform.deliveries d JOIN platform.ledger l ON l.id = d.event_id`;

function fromRow(row: Row): DeliveryRecord {
  const { signed_at: timestamp, signature } = row;
  const attempts: Attempt[] = JSON.parse(row.attempts);
  return {
    id: row.id,
    eventId: row.event_id,
    subscriptionId: row.subscription_id,
    workspaceId: row.workspace_id,
    event: row.event,
    connectionId: row.connection_id,
    messageId: row.message_id,
    url: row.url,
    outcome: row.outcome,
    reason: row.reason,
    held: false,
    createdAt: row.created_at,
    headers: timestamp === null || signature === null ? {} : deliveryHeaders({ timestamp, signature }),
    body: row.body,
    attempts,
  };
}

/** A delivery that is in memory, with how it ended if it has just done so. */
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
    held: end === undefined && pending.held === true,
    createdAt: pending.createdAt,
    headers: envelope === null ? {} : deliveryHeaders(envelope),
    body: (envelope?.body ?? event.body).toString(),
    attempts: begun === null ? [] : [...begun.attempts],
  };
}

const PENDING_BATCH = 500;

/** The newest pending deliveries that fit; their events are read from the ledger as far as they are needed. */
async function listPending(
  db: Queryable,
  pending: readonly Pending[],
  filter: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  const { before = Number.POSITIVE_INFINITY, limit } = filter;
  if (filter.outcome !== undefined && filter.outcome !== 'pending') return [];
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
      if (filter.event !== undefined && event.event !== filter.event) continue;
      if (filter.workspaceId !== undefined && event.workspaceId !== filter.workspaceId) continue;
      if (filter.connectionId !== undefined && event.connectionId !== filter.connectionId) continue;
      found.push(viewDelivery(candidate, event));
    }
  }
  return found.slice(0, limit);
}

/** Deliveries that are over, newest first. */
async function listFinished(db: Queryable, filter: DeliveryFilter): Promise<DeliveryRecord[]> {
  if (filter.outcome === 'pending') return [];
  const rows = await db.query<Row>(
    `${SELECT}
     WHERE d.id < $1::bigint
       AND ($2::text IS NULL OR l.event = $2) AND ($3::text IS NULL OR l.connection_id = $3)
       AND ($4::text IS NULL OR d.outcome = $4) AND ($5::text IS NULL OR l.workspace_id = $5)
     ORDER BY d.id DESC LIMIT $6::integer`,
    [
      filter.before ?? Number.MAX_SAFE_INTEGER,
      filter.event ?? null,
      filter.connectionId ?? null,
      filter.outcome ?? null,
      filter.workspaceId ?? null,
      filter.limit,
    ],
  );
  return rows.map(fromRow);
}

/**
 * Pending and finished deliveries in one list. `pending` was taken before what had finished was stored, so
 * one that ends meanwhile is in both and the stored one counts.
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

/** One of the pending deliveries as it stands; null when its event is gone. */
export async function viewPending(db: Queryable, pending: Pending): Promise<DeliveryRecord | null> {
  const [event] = await loadEvents(db, [pending.eventId]);
  return event === undefined ? null : viewDelivery(pending, event);
}

/** One finished delivery; null when there is none of that id. */
export async function findDelivery(db: Queryable, id: number): Promise<DeliveryRecord | null> {
  const [row] = await db.query<Row>(`${SELECT} WHERE d.id = $1::bigint`, [id]);
  return row === undefined ? null : fromRow(row);
}
