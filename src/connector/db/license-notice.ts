/** A license that ends within this time is announced: long enough to renew it after a weekend. */
export const NOTICE_BEFORE_MS = 3 * 24 * 3_600_000;

/**
 * What may be said of the end of a license by its date alone, from the row `c` at the time `now`, while the service
 * is heard:
 *
 * - `ends_soon`: the end that the service last told lies within three days.
 * - Null: there is nothing to say. The service calls the license over already, hides the connection, or told no end.
 *
 * Whether a license holds is for the service to say. A date never makes it invalid here.
 */
export function noticeWhileHeard(row: string, now: string): string {
  return `CASE WHEN ${row}.license_valid IS NOT FALSE AND ${row}.license_expires > ${now}
             AND ${row}.license_expires <= ${now} + ${NOTICE_BEFORE_MS} THEN 'ends_soon' END`;
}

/**
 * The same by time alone, with one case more: `end_passed` when the end that the service last told has passed, and
 * the service has listed nothing since. The license may be over or renewed; nobody here knows.
 * `listedAt` is when the account's connections were last listed.
 */
export function noticeByTime(row: string, now: string, listedAt: string): string {
  return `CASE WHEN NOT ${row}.visible OR ${row}.deleted_at IS NOT NULL THEN NULL
            WHEN ${row}.license_valid IS NOT FALSE AND ${row}.license_expires <= ${now}
             AND coalesce(${listedAt}, 0) < ${row}.license_expires THEN 'end_passed'
            ELSE ${noticeWhileHeard(row, now)} END`;
}
