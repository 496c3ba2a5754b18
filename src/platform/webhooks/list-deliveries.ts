import { and, desc, eq, lt, max, type SQL, sql } from 'drizzle-orm';
import type { Filter } from '../../contract/sandbox/filter.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { filterSql } from '../db/filter-sql.ts';
import { deliveries, ledger } from '../db/webhook-tables.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { selectDeliveries, toRecord } from './delivery-rows.ts';

/** Which deliveries to list, newest first. `before` is an id: only older deliveries. */
export interface DeliveryFilter {
  /** Default: all. */
  readonly where?: Filter<DeliveryValue>;
  readonly before?: number;
  readonly limit: number;
}

/** What filters compare, and the texts that they search. */
const FILTERED = {
  keys: {
    status: deliveries.outcome,
    type: ledger.event,
    workspace: ledger.workspaceId,
    connection: ledger.connectionId,
    message: ledger.messageId,
    webhook: deliveries.subscriptionId,
    reason: deliveries.reason,
    url: deliveries.url,
    copy: sql`${deliveries.variant} ->> 'of'`,
    mark: {
      each: sql`jsonb_array_elements(${deliveries.attempts}) as attempt, jsonb_array_elements_text(attempt -> 'marks') as one(value)`,
    },
  },
  texts: [
    sql`coalesce(${deliveries.variant} ->> 'body', ${ledger.body})`,
    deliveries.url,
    sql`${deliveries.attempts}::text`,
  ],
};

/** What deliveries can be filtered by. */
export type DeliveryValue = keyof (typeof FILTERED)['keys'];

/** Deliveries, newest first. */
export async function listDeliveries(
  db: Queryable,
  { where = [], before, limit }: DeliveryFilter,
): Promise<DeliveryRecord[]> {
  const older = before === undefined ? undefined : lt(deliveries.id, before);
  const rows = await selectDeliveries(db)
    .where(and(older, filterSql(where, FILTERED)))
    .orderBy(desc(deliveries.id))
    .limit(limit);
  return rows.map(toRecord);
}

/** How many deliveries match; `held` are pending ones. */
export interface DeliveryCount {
  readonly pending: number;
  readonly held: number;
  readonly delivered: number;
  readonly dropped: number;
}

/** Counts deliveries by their outcome. */
export async function countDeliveries(db: Queryable, where: Filter<DeliveryValue>): Promise<DeliveryCount> {
  const of = (condition: SQL): SQL<number> => sql<number>`count(*) filter (where ${condition})`;
  const { outcome, held } = deliveries;
  const [row] = await orm(db)
    .select({
      pending: of(eq(outcome, 'pending')),
      held: of(eq(held, true)),
      delivered: of(eq(outcome, 'delivered')),
      dropped: of(eq(outcome, 'dropped')),
    })
    .from(deliveries)
    .innerJoin(ledger, eq(ledger.id, deliveries.eventId))
    .where(filterSql(where, FILTERED));
  return row ?? { pending: 0, held: 0, delivered: 0, dropped: 0 };
}

/** A delivery; null for an unknown id. */
export async function findDelivery(db: Queryable, id: number): Promise<DeliveryRecord | null> {
  const [row] = await selectDeliveries(db).where(eq(deliveries.id, id));
  return row === undefined ? null : toRecord(row);
}

/** The id of the newest delivery; 0 if there is none. */
export async function lastDeliveryId(db: Queryable): Promise<number> {
  const [row] = await orm(db)
    .select({ id: max(deliveries.id) })
    .from(deliveries);
  return row?.id ?? 0;
}
