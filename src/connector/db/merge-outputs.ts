import type { MergeTerms } from './merge-inputs.ts';
import { tellChanges } from './tell-changes.ts';

/** CTEs of `tellChanges`: what the CRM is told. A status change tells the status alone, the others the whole row. */
export function insertedChanges({ now, source, via, events }: MergeTerms): string {
  const moved = `
  UNION ALL
  SELECT 'connection.updated', ${now}, c.account_id, c.connection_id, NULL, ${source}, NULL, c.data,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM moved c WHERE c.told`;
  const whole = (column: string): string => `CASE kind.bit WHEN 2 THEN NULL ELSE m.${column} END`;
  const message = (type: string, column: (name: string) => string): string =>
    `SELECT ${type}, ${now}, m.account_id, m.connection_id, m.id, ${source}, ${via}, NULL, m.status, m.previous_status,
         ${MESSAGE_COLUMNS.map(column).join(', ')}`;
  return tellChanges({
    made: ['merged', 'made', ...(events ? ['moved'] : [])],
    columns: `type, at, account_id, connection_id, message_id, source, via, data, status, previous_status,
    ${MESSAGE_COLUMNS.join(', ')}`,
    rows: `SELECT 'connection.updated', ${now}, c.account_id, c.connection_id, NULL, ${source}, NULL, c.data,
         NULL::connector.message_status, NULL::connector.message_status, NULL, NULL, NULL, NULL, NULL, NULL,
         NULL::bigint, NULL
    FROM made c WHERE c.is_new${events ? moved : ''}
  UNION ALL
  ${message(`'message.created'`, (column) => `m.${column}`)}
    FROM merged m WHERE m.change_mask & 1 <> 0
  UNION ALL
  ${message('kind.type', whole)}
    FROM merged m
    JOIN (VALUES ('message.status', 2), ('message.updated', 4)) kind(type, bit) ON m.change_mask & kind.bit <> 0
   WHERE m.change_mask & 1 = 0`,
  });
}

/** What a change tells of a message beside its statuses. */
const MESSAGE_COLUMNS = [
  'direction',
  'peer',
  'text',
  'media_url',
  'media_type',
  'error_message',
  'created_at',
  'first_seen_by',
];

/**
 * CTE `logged`: the raw log, each delivery with what became of it, the changes that it is credited with and the
 * batch in which the CRM is told of them.
 */
export function loggedDeliveries({ events }: MergeTerms): string {
  const effect = events ? 'coalesce(m.change_mask, e.change_mask, 0)' : 'coalesce(m.change_mask, 0)';
  const connectionEffects = `
    LEFT JOIN (SELECT connection_id, account_id, CASE WHEN told THEN 4 ELSE 8 END AS change_mask FROM moved
               UNION ALL
               SELECT connection_id, account_id, 5 FROM made WHERE is_new) e
      ON d.message_id IS NULL AND e.connection_id = d.connection_id AND e.account_id = d.account_id`;
  return `logged AS (
  INSERT INTO connector.inbox
    (received_at, subscription_id, account_id, signed_at, body, event, connection_id, message_id, outcome, reason,
     change_mask, change_batch, secret_version)
  SELECT d.received_at, d.subscription_id, d.account_id, d.signed_at, d.body, d.event, d.connection_id,
         d.message_id,
         CASE WHEN d.outcome IS NOT NULL THEN d.outcome
              WHEN o.account_id IS DISTINCT FROM d.account_id THEN 'foreign'
              WHEN ${effect} & d.credit & 7 <> 0 THEN 'merged'
              ELSE 'unchanged' END,
         d.reason, ${effect} & d.credit,
         CASE WHEN ${effect} & d.credit & 7 <> 0 THEN (SELECT b.id FROM batch b) END, d.secret_version
    FROM input_deliveries d
    LEFT JOIN owners o ON o.connection_id = d.connection_id
    LEFT JOIN merged m ON m.connection_id = d.connection_id AND m.id = d.message_id AND m.account_id = d.account_id${events ? connectionEffects : ''}
   ORDER BY d.position
  RETURNING outcome
)`;
}
