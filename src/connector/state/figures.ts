import { and, count, desc, eq, gt, gte, isNotNull, isNull, lte, max, min, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { ConnectionHealth } from '../../contract/connector/connections.ts';
import type { ConsumerKind, ConsumerState } from '../../contract/connector/consumers.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { judgedHealth } from '../connections/judge-health.ts';
import { PARTITIONS } from '../consumers/partition-of.ts';
import { c } from '../db/newest-messages.ts';
import { IS_UNFINISHED } from '../db/outbox-tables.ts';
import {
  accounts,
  changeBatches,
  consumerPlaces,
  consumers,
  coverage,
  creations,
  deadLetters,
  oauthGrants,
  outbound,
  parked,
  parkedEntries,
  pollStates,
  processes,
} from '../db/schema.ts';
import { readPosition } from '../feed/read-changes.ts';
import type { WaitingSends } from '../outbox/due-queues.ts';

/*
 * The state of the work of all processes, as stored in the database. Metrics and the doctor show the same
 * figures. Each function throws as `query` does. Times are epoch ms of our clock.
 */

/** How many wait, and since when the oldest has waited (null if none waits). */
export type Waiting = WaitingSends;

/** How long the oldest has waited, in milliseconds; 0 if none waits. */
export function oldestWaitMs({ oldestAt }: Pick<Waiting, 'oldestAt'>, now: number): number {
  return oldestAt === null ? 0 : Math.max(0, now - oldestAt);
}

/** The count stops here. */
const MAX = 10_000;

/**
 * Accounts whose next poll is due and that no failure delays, and since when the oldest is due. Accounts by consent
 * count if they are of the app with this subscription: those of another are not polled.
 */
export async function readDuePolls(db: Queryable, now: number, app = ''): Promise<Waiting> {
  const { accountId, dueAt, lastStartedAt, lastErrorCode } = pollStates;
  const isPolled = sql`(${accounts.kind} <> 'oauth' or ${accounts.subscriptionId} = ${app})`;
  const [row] = await orm(db)
    .select({ waiting: count(), oldestAt: min(dueAt) })
    .from(pollStates)
    .innerJoin(accounts, eq(accounts.id, accountId))
    .where(and(lte(dueAt, now), gt(dueAt, lastStartedAt), isNull(lastErrorCode), isPolled));
  return row ?? { waiting: 0, oldestAt: null };
}

const MAX_QUEUES = 1_000;

/** The first unfinished send of each connection, at most 1,000. */
export async function listSendQueues(db: Queryable) {
  return await orm(db)
    .selectDistinctOn([outbound.connectionId], {
      connectionId: outbound.connectionId,
      lastError: outbound.lastError,
      nextAttemptAt: outbound.nextAttemptAt,
    })
    .from(outbound)
    .where(IS_UNFINISHED)
    .orderBy(outbound.connectionId, outbound.position)
    .limit(MAX_QUEUES);
}

/** How many of the newest 1,000 sends since a time failed, and the most frequent error of the rejected ones. */
export async function readFailedSends(
  db: Queryable,
  since: number,
): Promise<{ readonly unknown: number; readonly rejected: number; readonly code: string | null }> {
  const { state, lastError, createdAt, id } = outbound;
  const newest = orm(db)
    .select({ state, lastError })
    .from(outbound)
    .where(gte(createdAt, since))
    .orderBy(desc(createdAt), desc(id))
    .limit(MAX_QUEUES)
    .as('newest');
  const rejected = sql`filter (where ${newest.state} = 'rejected')`;
  const [row] = await orm(db)
    .select({
      unknown: sql<number>`count(*) filter (where ${newest.state} = 'unknown')`,
      rejected: sql<number>`count(*) ${rejected}`,
      code: sql<string | null>`mode() within group (order by ${newest.lastError}) ${rejected}`,
    })
    .from(newest);
  return row ?? { unknown: 0, rejected: 0, code: null };
}

/** Whether an account has sent something, or created a connection, since a time. */
export async function readUses(
  db: Queryable,
  accountId: string,
  since: number,
): Promise<{ readonly sends: boolean; readonly creates: boolean }> {
  const of = (table: typeof outbound | typeof creations): Promise<unknown[]> =>
    orm(db)
      .select({ createdAt: table.createdAt })
      .from(table)
      .where(and(eq(table.accountId, accountId), gte(table.createdAt, since)))
      .limit(1);
  return { sends: (await of(outbound)).length > 0, creates: (await of(creations)).length > 0 };
}

/**
 * Committed batches of changes without a number, at most 10,000, which no reader sees yet; and the last number. Of those
 * older than the last 10,000 with a number, nothing is read: see `number_changes`.
 */
export async function readFeed(db: Queryable): Promise<Waiting & { readonly lastSeq: number }> {
  const newest = orm(db)
    .select({ id: changeBatches.id })
    .from(changeBatches)
    .where(isNotNull(changeBatches.lastSeq))
    .orderBy(desc(changeBatches.lastSeq))
    .limit(1);
  const batches = orm(db)
    .select({ at: changeBatches.changedAt })
    .from(changeBatches)
    .where(
      and(
        isNull(changeBatches.lastSeq),
        gt(changeBatches.id, sql`coalesce((${newest}), 0) - ${MAX}::bigint`),
      ),
    )
    .orderBy(changeBatches.id)
    .limit(MAX)
    .as('batches');
  const [row] = await orm(db)
    .select({
      waiting: count(batches.at),
      oldestAt: min(batches.at),
      lastSeq: sql<number>`connector.last_seq()`,
    })
    .from(batches);
  return row ?? { waiting: 0, oldestAt: null, lastSeq: 0 };
}

/** How far a consumer is. */
export interface ConsumerFigures extends Waiting {
  readonly name: string;
  readonly kind: ConsumerKind;
  readonly state: ConsumerState;
  /** Connections that wait because a call failed, or are far behind. */
  readonly parked: number;
  readonly deadLetters: number;
}

/**
 * How far each consumer is, by name. What waits was numbered but is not done: at most half a second of it may be done
 * already, and changes that a filter drops are included until they are passed.
 */
export async function readConsumerFigures(db: Queryable): Promise<ConsumerFigures[]> {
  const { lastSeq } = await readPosition(db);
  const of = <T>(what: SQL<T>, table: PgTable & { readonly consumer: PgColumn }) =>
    sql<T>`(select ${what} from ${table} where ${table.consumer} = ${consumers.name})`;
  // Found as the newest of each partition, which costs the same however many were deleted.
  const newest = sql`(select n.place from ${consumerPlaces} n where n.consumer = ${consumers.name}
    and n.partition = p.number order by n.id desc limit 1)`;
  const place = sql<number>`(select min(${newest}) from generate_series(0, ${PARTITIONS - 1}) as p (number))`;
  const entered = of(sql<number | null>`min(${parkedEntries.seq})`, parkedEntries);
  const all = sql<number>`count(*)`;
  // The batch after the place, and the one with the first entry.
  const changedAt = (condition: SQL) =>
    sql`(select ${changeBatches.changedAt} from ${changeBatches} where ${condition} order by ${changeBatches.lastSeq} limit 1)`;
  return await orm(db)
    .select({
      name: consumers.name,
      kind: consumers.kind,
      state: consumers.state,
      // Numbers jump by multiples of 2^32.
      waiting: sql<number>`greatest(${lastSeq}::bigint - ${place}, 0) % 4294967296 + ${of(all, parkedEntries)}`,
      oldestAt: sql<number | null>`least(${changedAt(sql`${changeBatches.lastSeq} > ${place}`)},
        ${changedAt(sql`${changeBatches.lastSeq} >= ${entered}`)})`,
      parked: of(all, parked),
      deadLetters: of(all, deadLetters),
    })
    .from(consumers)
    .orderBy(consumers.name);
}

/** Creations whose answer was lost and whose outcome is unknown. */
const IN_DOUBT = and(isNull(creations.connectionId), sql`${creations.unsettled} > 0`);

/** Requests to create a connection whose answer was lost and whose outcome is unknown. */
export async function countDoubtfulCreations(db: Queryable): Promise<number> {
  return await orm(db).$count(creations, IN_DOUBT);
}

/** Those of an account since a time that are no longer repeated, newest first, up to `limit`. */
export async function listAbandonedCreations(db: Queryable, accountId: string, since: number, limit: number) {
  const { label, createdAt, lastError } = creations;
  return await orm(db)
    .select({ label, createdAt, lastError })
    .from(creations)
    .where(
      and(
        eq(creations.accountId, accountId),
        IN_DOUBT,
        isNull(creations.nextAttemptAt),
        gte(createdAt, since),
      ),
    )
    .orderBy(desc(createdAt))
    .limit(limit);
}

/** When a process that polls and sends last sent a heartbeat; null if none ever did. */
export async function readWorkers(db: Queryable): Promise<{ readonly last: number | null }> {
  const { beatAt, works } = processes;
  const [row] = await orm(db)
    .select({ last: max(beatAt) })
    .from(processes)
    .where(eq(works, true));
  return row ?? { last: null };
}

/** Active OAuth grants, and those that wait for a new consent. */
export async function countGrants(
  db: Queryable,
): Promise<{ readonly active: number; readonly ended: number }> {
  const [row] = await orm(db)
    .select({ ended: count(oauthGrants.endedAt), all: count() })
    .from(oauthGrants);
  const { ended, all } = row ?? { ended: 0, all: 0 };
  return { active: all - ended, ended };
}

/** A license that ends within this time ends soon: long enough to renew it after a weekend. */
const SOON_MS = 3 * 24 * 3_600_000;

/** What the last reported end of a license implies, see `noticeAt`. */
export type LicenseNotice = 'ends_soon' | 'end_passed';

/**
 * What the end of the license of `c` implies, with `coverage` joined. `ends_soon`: it is within three days.
 * `end_passed`: it has passed and the service has listed nothing since, so only the service knows whether the
 * license was renewed. Null: neither, or the service hides the connection.
 */
function noticeAt(now: number): SQL<LicenseNotice | null> {
  return sql`case when not ${c.visible} or ${c.deletedAt} is not null or ${c.licenseValid} is false then null
    when ${c.licenseExpires} > ${now}::bigint and ${c.licenseExpires} <= ${now + SOON_MS}::bigint then 'ends_soon'
    when ${c.licenseExpires} <= ${now}::bigint and coalesce(${coverage.listedAt}, 0) < ${c.licenseExpires} then 'end_passed'
    end`;
}

/** A number of connections of an account with the same health and the same end of their licenses. */
export interface ConnectionCount {
  readonly accountId: string;
  readonly health: ConnectionHealth;
  readonly notice: LicenseNotice | null;
  readonly count: number;
}

export async function countConnections(db: Queryable, now: number): Promise<ConnectionCount[]> {
  const { accountId } = c;
  return await orm(db)
    .select({ accountId, health: judgedHealth(c), notice: noticeAt(now), count: count() })
    .from(c)
    .leftJoin(coverage, eq(coverage.accountId, accountId))
    .groupBy(sql`1, 2, 3`);
}

const MAX_NUMBERS = 1_000;

/**
 * The connections of an account that a listing has shown and nobody deleted, at most 1,000, with what prevents
 * them from working. `since` is when it became known that they must be paired again.
 */
export async function listNumbers(db: Queryable, accountId: string, now: number) {
  return await orm(db)
    .select({
      connectionId: c.connectionId,
      label: c.label,
      visible: c.visible,
      licenseValid: c.licenseValid,
      licenseStatus: c.licenseStatus,
      licenseExpires: c.licenseExpires,
      notice: noticeAt(now),
      needsReconnect: c.needsReconnect,
      reason: c.reason,
      since: sql<number>`coalesce(${c.lastEventAt}, ${c.updatedAt})`,
    })
    .from(c)
    .leftJoin(coverage, eq(coverage.accountId, c.accountId))
    .where(and(eq(c.accountId, accountId), isNotNull(c.listedAt), isNull(c.deletedAt)))
    .orderBy(c.connectionId)
    .limit(MAX_NUMBERS);
}

export type ListedNumber = Awaited<ReturnType<typeof listNumbers>>[number];
