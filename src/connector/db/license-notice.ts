/** A license that ends within this time gets a notice: long enough to renew it after a weekend. */
export const NOTICE_BEFORE_MS = 3 * 24 * 3_600_000;

/**
 * The notice about the end of a license by its date, for the row `c` at the time `now`, if the service can be
 * reached:
 *
 * - `ends_soon`: the last reported end is within three days.
 * - Null: no notice. The service already reports the license as ended, hides the connection, or reported no
 *   end.
 *
 * Only the service decides whether a license is valid. A date never makes it invalid here.
 */
export function noticeWhileHeard(row: string, now: string): string {
  return `CASE WHEN ${row}.license_valid IS NOT FALSE AND ${row}.license_expires > ${now}
             AND ${row}.license_expires <= ${now} + ${NOTICE_BEFORE_MS} THEN 'ends_soon' END`;
}

/**
 * The same by time only, with one more value: `end_passed` if the last reported end has passed and the service
 * has listed nothing since. The license may have ended or been renewed; this connector does not know.
 * `listedAt` is when the account's connections were last listed.
 */
export function noticeByTime(row: string, now: string, listedAt: string): string {
  return `CASE WHEN NOT ${row}.visible OR ${row}.deleted_at IS NOT NULL THEN NULL
            WHEN ${row}.license_valid IS NOT FALSE AND ${row}.license_expires <= ${now}
             AND coalesce(${listedAt}, 0) < ${row}.license_expires THEN 'end_passed'
            ELSE ${noticeWhileHeard(row, now)} END`;
}
