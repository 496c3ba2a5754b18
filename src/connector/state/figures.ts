import type { Queryable } from '../../runtime/database/database.ts';
import type { HealthFacts } from '../connections/judge-health.ts';
import { noticeByTime } from '../db/license-notice.ts';

/*
 * How the work stands, over all processes, as it is in the database: metrics and the doctor show the same figures.
 * Each function throws as `query` does.
 */

/** What waits, and since when the oldest of it does (epoch ms; null: nothing waits). */
export interface Waiting {
  readonly waiting: number;
  readonly oldestAt: number | null;
}

/** How long the oldest has waited, in milliseconds; 0 when nothing waits. */
export function oldestWaitMs({ oldestAt }: Waiting, now: number): number {
  return oldestAt === null ? 0 : Math.max(0, now - oldestAt);
}

/** More are not counted. */
const MOST = 10_000;

/** Sends that are queued or under way, at most 10,000. By the index of the lanes, which holds unfinished sends only. */
export async function readSends(db: Queryable): Promise<Waiting> {
  const [row] = await db.query<Waiting>(
    `select count(*) as waiting, min(created_at) as "oldestAt"
       from (select created_at from connector.outbound where state in ('queued', 'sending') limit ${MOST}) w`,
  );
  return row ?? { waiting: 0, oldestAt: null };
}

/** Committed batches of changes without a number, at most 10,000, which nobody can read yet; and the last number. */
export async function readFeed(db: Queryable): Promise<Waiting & { readonly lastSeq: number }> {
  const [row] = await db.query<Waiting & { lastSeq: number }>(
    `select (select count(*) from (select from connector.change_batches where last_seq is null limit ${MOST}) w) as waiting,
            (select c.at from (select id from connector.change_batches where last_seq is null order by id limit 1) b
               join connector.changes c on c.batch = b.id and c.position = 1) as "oldestAt",
            (select last_seq from connector.feed) as "lastSeq"`,
  );
  return row ?? { waiting: 0, oldestAt: null, lastSeq: 0 };
}

// The first change of a queue is its oldest, and what is not in a queue yet is newer than all that ever was.
const HANDOVER = `
SELECT f.last_seq - h.cursor + l.waiting AS waiting, l.set_aside AS "deadLetters",
       coalesce(
         (SELECT min(c.at) FROM connector.handover_lanes w
           CROSS JOIN LATERAL connector.handover_head(w.connection_id, 1) q
           CROSS JOIN LATERAL (
             SELECT n.at FROM connector.changes n WHERE n.batch = q.batch AND n.position = q.position OFFSET 0) c
           WHERE w.waiting > 0),
         (SELECT c.at FROM (SELECT b.id FROM connector.change_batches b
                             WHERE b.last_seq > h.cursor ORDER BY b.last_seq LIMIT 1) b
            JOIN connector.changes c ON c.batch = b.id AND c.position = 1)) AS "oldestAt"
  FROM connector.handover h CROSS JOIN connector.feed f
 CROSS JOIN (SELECT coalesce(sum(waiting), 0)::bigint AS waiting, coalesce(sum(set_aside), 0)::bigint AS set_aside
               FROM connector.handover_lanes) l`;

/** Changes that were committed and not handed over yet, and dead letters; null where no handler has ever run. */
export async function readHandover(
  db: Queryable,
): Promise<(Waiting & { readonly deadLetters: number }) | null> {
  const [row] = await db.query<Waiting & { deadLetters: number }>(HANDOVER);
  return row ?? null;
}

/** Requests to create a connection whose answer was lost and is not known yet. */
export async function countDoubtfulCreations(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select count(*) as count from connector.creations where connection_id is null and unsettled > 0',
  );
  return row?.count ?? 0;
}

/** Whether the licence of the connection `c` ends, at the time `$1`, by the date that the listing `v` has told. */
const NOTICE = noticeByTime('c', '$1::bigint', 'v.listed_at');

/** So many connections of an account are alike in what decides their health, and in the end of their licence. */
export interface ConnectionCount extends HealthFacts {
  readonly accountId: string;
  readonly notice: 'ends_soon' | 'end_passed' | null;
  readonly count: number;
}

/** Counts the connections of all accounts. */
export async function countConnections(db: Queryable, now: number): Promise<ConnectionCount[]> {
  return await db.query<ConnectionCount>(
    `select c.account_id as "accountId", c.visible, c.deleted_at as "deletedAt", c.license_valid as "licenseValid",
            c.status, c.needs_reconnect as "needsReconnect", n.notice, count(*) as count
       from connector.connections c left join connector.coverage v using (account_id)
      cross join lateral (select ${NOTICE} as notice) n
      group by 1, 2, 3, 4, 5, 6, 7`,
    [now],
  );
}

/** A number that is listed, with what keeps it from working. Times in epoch ms. */
export interface ListedNumber {
  readonly connectionId: string;
  readonly label: string | null;
  readonly visible: boolean;
  readonly licenseValid: boolean | null;
  readonly licenseStatus: string | null;
  readonly licenseExpires: number | null;
  readonly notice: ConnectionCount['notice'];
  readonly needsReconnect: boolean | null;
  readonly reason: string | null;
  /** When that it needs to be paired again became known. */
  readonly since: number;
}

const MOST_NUMBERS = 1_000;

/** The connections of an account that a listing has shown and nobody deleted, at most 1,000. */
export async function listNumbers(db: Queryable, accountId: string, now: number): Promise<ListedNumber[]> {
  return await db.query<ListedNumber>(
    `select c.connection_id as "connectionId", c.label, c.visible, c.license_valid as "licenseValid",
            c.license_status as "licenseStatus", c.license_expires as "licenseExpires", ${NOTICE} as notice,
            c.needs_reconnect as "needsReconnect", c.reason, coalesce(c.last_event_at, c.updated_at) as since
       from connector.connections c left join connector.coverage v using (account_id)
      where c.account_id = $2 and c.listed_at is not null and c.deleted_at is null
      order by c.connection_id limit ${MOST_NUMBERS}`,
    [now, accountId],
  );
}
