import type { MergeTerms } from './merge-inputs.ts';

/**
 * The ladder is the order of the enum: sent, delivered, read, failed. [status.consumer.rank]
 * [status.consumer.never-back]
 */
const STATUS_RISES = `((excluded.status > m.status AND m.status <> 'read')
        OR (m.status IS NULL AND excluded.status IS NOT NULL))`;

const CONFLICT = `(m.status_conflict OR excluded.status_conflict
        OR coalesce((m.status = 'read' AND excluded.status = 'failed')
                 OR (m.status = 'failed' AND excluded.status = 'read'), false))`;

const CREATED_AT = `CASE WHEN m.polled THEN m.created_at
              WHEN excluded.polled THEN excluded.created_at
              ELSE least(m.created_at, excluded.created_at) END`;

/** Fields that the first source to tell them fills. */
const FILLED = ['peer', 'text', 'media_url', 'media_type', 'error_message', 'wa_message_id'];

const FIELDS_CHANGE = `(${FILLED.map(
  (field) => `(m.${field} IS NULL AND excluded.${field} IS NOT NULL)`,
).join(`
        OR `)}
        OR m.created_at <> ${CREATED_AT})`;

const BOOKKEEPING_CHANGES = `(m.webhook_seen | excluded.webhook_seen <> m.webhook_seen
        OR (excluded.polled AND NOT m.polled))`;

const CONFLICT_APPEARS = `(${CONFLICT} AND NOT m.status_conflict)`;

/**
 * CTE `merged`: the messages that the batch created or changed, with the bits of `CHANGE`.
 * [delivery.duplicates] [events.received.dedupe]
 */
export function mergedMessages({ now, source, via }: MergeTerms): string {
  // What a walk or a replay brings came by no webhook.
  const webhookAt = via === 'NULL' ? `CASE WHEN i.webhook_seen <> 0 THEN ${now} END` : 'NULL::bigint';
  return `merged AS (
  INSERT INTO connector.messages AS m
    (connection_id, id, account_id, direction, peer, text, media_url, media_type, status, error_message,
     wa_message_id, created_at, first_seen_by, first_seen_at, polled, previous_status, change_mask,
     webhook_seen, status_conflict, webhook_at)
  SELECT i.connection_id, i.id, i.account_id, i.direction, i.peer, i.text, i.media_url, i.media_type, i.status,
         i.error_message, i.wa_message_id, i.created_at, ${source}, ${now}, i.polled, NULL,
         (CASE WHEN i.status IS NULL THEN 13 ELSE 15 END) | (CASE WHEN i.status_conflict THEN 16 ELSE 0 END),
         i.webhook_seen, i.status_conflict, ${webhookAt}
    FROM input_messages i JOIN owners o ON o.connection_id = i.connection_id AND o.account_id = i.account_id
   ORDER BY i.connection_id, i.id
  ON CONFLICT (connection_id, id) DO UPDATE
     SET ${FILLED.map((field) => `${field} = coalesce(m.${field}, excluded.${field})`).join(`,
         `)},
         created_at = ${CREATED_AT},
         polled = m.polled OR excluded.polled,
         previous_status = m.status,
         status = CASE WHEN ${STATUS_RISES} THEN excluded.status ELSE m.status END,
         change_mask = CASE WHEN ${STATUS_RISES} THEN 2 ELSE 0 END
                     | CASE WHEN ${FIELDS_CHANGE} THEN 4 ELSE 0 END
                     | CASE WHEN ${BOOKKEEPING_CHANGES} THEN 8 ELSE 0 END
                     | CASE WHEN ${CONFLICT_APPEARS} THEN 16 ELSE 0 END,
         webhook_seen = m.webhook_seen | excluded.webhook_seen,
         status_conflict = ${CONFLICT},
         webhook_at = coalesce(excluded.webhook_at, m.webhook_at)
   WHERE ${STATUS_RISES} OR ${FIELDS_CHANGE} OR ${BOOKKEEPING_CHANGES} OR ${CONFLICT_APPEARS}
  RETURNING m.connection_id, m.id, m.account_id, m.change_mask, m.status, m.previous_status, m.direction, m.peer,
            m.text, m.media_url, m.media_type, m.error_message, m.created_at, m.first_seen_by
)`;
}
