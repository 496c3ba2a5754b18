import { CONNECTION_DATA, changedFields, connectionChange } from './connection-changes.ts';
import { noticeWhileHeard } from './license-notice.ts';
import type { MergeTerms } from './merge-inputs.ts';

/** What is told of a connection that only a message has named; a reader takes an absent field for null. */
const NAMED_ONLY = `'{"visible": true}'::jsonb`;

/**
 * CTEs `known`, `made` and `owners`. A connection belongs to one account; an unknown one is made for the account
 * whose fact names it first. If another statement makes it at the same time, the update that changes nothing
 * still returns its owner.
 */
export function connectionOwners({ now, events }: MergeTerms): string {
  const told = `phone_number, label, status, needs_reconnect, license_status, license_expires, reason`;
  const columns = events ? `, ${told}, last_event_at, last_event_rank, webhook_at` : '';
  const values = events
    ? `, ${told}, event_at, event_rank, CASE WHEN event_at IS NOT NULL THEN ${now} END`
    : '';
  return `known AS (
  SELECT c.connection_id, c.account_id FROM connector.connections c
   WHERE c.connection_id IN (SELECT i.connection_id FROM input_connections i)
),
made AS (
  INSERT INTO connector.connections AS c (connection_id, account_id, visible, version, updated_at${columns})
  SELECT DISTINCT ON (connection_id) connection_id, account_id, true, 1, ${now}${values}
    FROM input_connections i
   WHERE NOT EXISTS (SELECT FROM known k WHERE k.connection_id = i.connection_id)
   ORDER BY connection_id, position
  ON CONFLICT (connection_id) DO UPDATE SET account_id = c.account_id
  RETURNING c.connection_id, c.account_id, c.xmax = 0 AS is_new, ${events ? CONNECTION_DATA : NAMED_ONLY} AS data
),
owners AS (
  SELECT connection_id, account_id FROM known
  UNION ALL
  SELECT connection_id, account_id FROM made
)`;
}

const CHANGED = changedFields('c', '(e.was)');

/** What an event leaves of a row, for the notice that its licence ends. */
const LICENSE = `(SELECT c.license_valid, coalesce(e.license_expires, c.license_expires) AS license_expires) l`;

/**
 * CTE `moved`: connections that an event moved on. Events compare only with the last event, by payload time. One
 * that tells what is known already has `told` false. [delivery.order]
 */
export function movedConnections({ now }: MergeTerms): string {
  return `moved AS (
  UPDATE connector.connections c
     SET phone_number = coalesce(e.phone_number, c.phone_number),
         label = coalesce(e.label, c.label),
         status = e.status,
         needs_reconnect = e.needs_reconnect,
         license_status = coalesce(e.license_status, c.license_status),
         license_expires = coalesce(e.license_expires, c.license_expires),
         license_notice = (SELECT ${noticeWhileHeard('l', now)} FROM ${LICENSE}),
         reason = e.reason,
         last_event_at = e.event_at,
         last_event_rank = e.event_rank,
         webhook_at = ${now},
         version = c.version + 1,
         updated_at = ${now}
    FROM (SELECT i.*, k AS was FROM input_connections i JOIN connector.connections k USING (connection_id, account_id)
           WHERE i.event_at IS NOT NULL ORDER BY i.connection_id FOR UPDATE OF k) e
   WHERE c.connection_id = e.connection_id
     AND (c.last_event_at IS NULL OR (e.event_at, e.event_rank) > (c.last_event_at, c.last_event_rank))
  RETURNING c.connection_id, c.account_id, ${connectionChange(CHANGED)} AS data, ${CHANGED} <> '[]' AS told
)`;
}

/*
 * A connection that two statements made at once, one of them from an event: `moved` did not see the row, so the
 * event would be lost. It fails as a serialization failure does, and the retry sees the row.
 */
export const RACED = `(SELECT count(connector.fail_for_retry())
          FROM made c JOIN input_connections i ON i.connection_id = c.connection_id AND i.account_id = c.account_id
         WHERE NOT c.is_new AND i.event_at IS NOT NULL)`;
