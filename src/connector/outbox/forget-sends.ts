import type { Queryable } from '../../runtime/database/database.ts';

const DAY_MS = 24 * 60 * 60_000;
/** How long the file of a send that failed is kept, so that an operator can try it again. */
const FILES_KEPT_MS = 7 * DAY_MS;
/** How long a send is kept after its end. As long its reference stands for it. */
const SENDS_KEPT_MS = 90 * DAY_MS;
/** Sends that one statement forgets. */
const MOST = 1_000;

// A send is not over before it began, so the index of creation leads to those that may be old enough.
const OVER = `updated_at < $1::bigint and state not in ('queued', 'sending')`;
const FORGET_SENDS = `
  delete from connector.outbound where ${OVER} and id in (
    select id from connector.outbound where created_at < $1::bigint and ${OVER}
     order by created_at, id limit ${MOST})
  returning 1`;

const FORGET_FILES = `
  delete from connector.outbound_media f using connector.outbound o
   where o.id = f.outbound_id and o.state in ('rejected', 'unknown') and o.updated_at < $1::bigint`;

/** Forgets what old sends left behind: their files after a week, themselves after 90 days. Throws as `query` does. */
export async function forgetOldSends(database: Queryable, now: number): Promise<void> {
  await database.query(FORGET_FILES, [now - FILES_KEPT_MS]);
  for (let forgotten = MOST; forgotten === MOST; ) {
    forgotten = (await database.query(FORGET_SENDS, [now - SENDS_KEPT_MS])).length;
  }
}
