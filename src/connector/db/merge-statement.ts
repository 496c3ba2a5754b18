import type { ExtraCtes } from './commit-batch.ts';

/*
 * The merge: one SQL statement for a batch of any size. Parameters are arrays, so one prepared text serves
 * every size. What it promises:
 *
 * - The merge is the dedupe. A second copy of a fact finds the row as it would make it and changes nothing.
 * - A status only rises. Equal to `patterns/message-status`; a test compares both over all pairs.
 * - A change is inserted after the changed row was locked, so the ids of one row's changes rise with them.
 * - Rows are locked in the order of their keys.
 *
 * A data-modifying CTE sees the tables as they were when the statement began. What it changed is therefore
 * read from its RETURNING, and a message row keeps its previous status and what changed for that purpose.
 */

const deliveries = (guard: string): string => `
input_deliveries AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[], $7::text[],
                       $8::text[], $9::text[], $10::text[], $11::smallint[])
    WITH ORDINALITY
    AS d(subscription_id, account_id, received_at, signed_at, body, event, connection_id, message_id, outcome,
         reason, credit, position)${guard}
)`;

const messages = (guard: string): string => `
input_messages AS (
  SELECT * FROM unnest($12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
                       $19::text[], $20::text[]::connector.message_status[], $21::text[], $22::text[],
                       $23::bigint[], $24::boolean[], $25::smallint[], $26::boolean[])
    AS m(connection_id, id, account_id, direction, peer, text, media_url, media_type, status, error_message,
         wa_message_id, created_at, polled, webhook_seen, status_conflict)${guard}
)`;

const connections = (guard: string): string => `
input_connections AS (
  SELECT * FROM unnest($27::text[], $28::text[], $29::text[], $30::text[], $31::text[], $32::boolean[],
                       $33::text[], $34::bigint[], $35::text[], $36::bigint[], $37::smallint[])
    WITH ORDINALITY
    AS i(connection_id, account_id, phone_number, label, status, needs_reconnect, license_status,
         license_expires, reason, event_at, event_rank, position)${guard}
)`;

/** The time of the batch and the source of its facts. */
const NOW = '$38::bigint';
const SOURCE = '$39::text';
const FIRST_FREE_PARAM = 40;

/*
 * A connection belongs to one account. An unknown one is made for the account whose fact names it first. If
 * another statement makes it at the same time, the update that changes nothing still returns its owner.
 */
const OWNERS = `
known AS (
  SELECT c.connection_id, c.account_id FROM connector.connections c
   WHERE c.connection_id IN (SELECT i.connection_id FROM input_connections i)
),
made AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, phone_number, label, status, needs_reconnect, license_status, license_expires,
     reason, last_event_at, last_event_rank, visible, version, updated_at)
  SELECT DISTINCT ON (i.connection_id)
         i.connection_id, i.account_id, i.phone_number, i.label, i.status, i.needs_reconnect, i.license_status,
         i.license_expires, i.reason, i.event_at, i.event_rank, true, 1, ${NOW}
    FROM input_connections i
   WHERE NOT EXISTS (SELECT FROM known k WHERE k.connection_id = i.connection_id)
   ORDER BY i.connection_id, i.position
  ON CONFLICT (connection_id) DO UPDATE SET account_id = c.account_id
  RETURNING c.*, c.xmax = 0 AS is_new
),
owners AS (
  SELECT connection_id, account_id FROM known
  UNION ALL
  SELECT connection_id, account_id FROM made
)`;

/** Connection events compare only with the last event, by payload time. */
const CONNECTION_EVENTS = `
moved AS (
  UPDATE connector.connections c
     SET phone_number = coalesce(e.phone_number, c.phone_number),
         label = coalesce(e.label, c.label),
         status = e.status,
         needs_reconnect = e.needs_reconnect,
         license_status = coalesce(e.license_status, c.license_status),
         license_expires = coalesce(e.license_expires, c.license_expires),
         reason = e.reason,
         last_event_at = e.event_at,
         last_event_rank = e.event_rank,
         version = c.version + 1,
         updated_at = ${NOW}
    FROM (SELECT i.* FROM input_connections i JOIN connector.connections k USING (connection_id, account_id)
           WHERE i.event_at IS NOT NULL ORDER BY i.connection_id FOR UPDATE OF k) e
   WHERE c.connection_id = e.connection_id
     AND (c.last_event_at IS NULL OR (e.event_at, e.event_rank) > (c.last_event_at, c.last_event_rank))
  RETURNING c.*
)`;

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

const MERGE = `
merged AS (
  INSERT INTO connector.messages AS m
    (connection_id, id, account_id, direction, peer, text, media_url, media_type, status, error_message,
     wa_message_id, created_at, first_seen_by, first_seen_at, polled, previous_status, change_mask,
     webhook_seen, status_conflict, updated_at)
  SELECT i.connection_id, i.id, i.account_id, i.direction, i.peer, i.text, i.media_url, i.media_type, i.status,
         i.error_message, i.wa_message_id, i.created_at, ${SOURCE}, ${NOW}, i.polled, NULL,
         (CASE WHEN i.status IS NULL THEN 13 ELSE 15 END) | (CASE WHEN i.status_conflict THEN 16 ELSE 0 END), i.webhook_seen, i.status_conflict, ${NOW}
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
         updated_at = ${NOW}
   WHERE ${STATUS_RISES} OR ${FIELDS_CHANGE} OR ${BOOKKEEPING_CHANGES} OR ${CONFLICT_APPEARS}
  RETURNING m.*
)`;

/** What a change says of a message, from the row `m`. Times are epoch ms; readers present them. */
export const MESSAGE_DATA = `jsonb_build_object('direction', m.direction, 'peer', m.peer, 'text', m.text,
         'mediaUrl', m.media_url, 'mediaType', m.media_type, 'status', m.status, 'errorMessage', m.error_message,
         'createdAt', m.created_at, 'firstSeenBy', m.first_seen_by)`;

/** What a change says of a connection, from the row `c`. Times are epoch ms; readers present them. */
export const CONNECTION_DATA = `jsonb_build_object('phoneNumber', c.phone_number, 'label', c.label,
         'provider', c.provider, 'tier', c.tier, 'status', c.status, 'needsReconnect', c.needs_reconnect,
         'licenseValid', c.license_valid, 'licenseStatus', c.license_status,
         'licenseExpires', c.license_expires, 'reason', c.reason, 'isDefault', c.is_default,
         'profilePicUrl', c.profile_pic_url, 'customerRef', c.customer_ref, 'visible', c.visible)`;

const CHANGES = `
changed AS (
  INSERT INTO connector.changes (type, at, account_id, connection_id, message_id, source, data)
  SELECT 'connection.updated', ${NOW}, c.account_id, c.connection_id, NULL, ${SOURCE}, ${CONNECTION_DATA}
    FROM made c WHERE c.is_new
  UNION ALL
  SELECT 'connection.updated', ${NOW}, c.account_id, c.connection_id, NULL, ${SOURCE}, ${CONNECTION_DATA}
    FROM moved c
  UNION ALL
  SELECT kind.type, ${NOW}, m.account_id, m.connection_id, m.id, ${SOURCE},
         CASE kind.bit WHEN 2 THEN jsonb_build_object('status', m.status, 'previous', m.previous_status)
                       ELSE ${MESSAGE_DATA} END
    FROM merged m
    JOIN (VALUES ('message.created', 1), ('message.status', 2), ('message.updated', 4)) kind(type, bit)
      ON m.change_mask & kind.bit <> 0 AND (kind.bit = 1 OR m.change_mask & 1 = 0)
)`;

const LOG = `
logged AS (
  INSERT INTO connector.inbox
    (received_at, subscription_id, account_id, signed_at, body, event, connection_id, message_id, outcome, reason,
     change_mask)
  SELECT d.received_at, d.subscription_id, d.account_id, d.signed_at, d.body, d.event, d.connection_id,
         d.message_id,
         CASE WHEN d.outcome IS NOT NULL THEN d.outcome
              WHEN o.account_id IS DISTINCT FROM d.account_id THEN 'foreign'
              WHEN coalesce(m.change_mask, k.change_mask, 0) & d.credit & 7 <> 0 THEN 'merged'
              ELSE 'unchanged' END,
         d.reason, coalesce(m.change_mask, k.change_mask, 0) & d.credit
    FROM input_deliveries d
    LEFT JOIN owners o ON o.connection_id = d.connection_id
    LEFT JOIN merged m ON m.connection_id = d.connection_id AND m.id = d.message_id AND m.account_id = d.account_id
    LEFT JOIN (SELECT connection_id, account_id, 4 AS change_mask FROM moved
               UNION ALL
               SELECT connection_id, account_id, 5 FROM made WHERE is_new) k
      ON d.message_id IS NULL AND k.connection_id = d.connection_id AND k.account_id = d.account_id
   ORDER BY d.position
  RETURNING outcome
)`;

/*
 * A connection that two statements made at once, one of them from an event: `moved` did not see the row, so
 * the event would be lost. It fails as a serialization failure does, and the retry sees the row.
 */
const RESULT = (applied: string): string => `
SELECT ${applied} AS applied,
       (SELECT json_object_agg(l.outcome, l.total)
          FROM (SELECT outcome, count(*) AS total FROM logged GROUP BY outcome) l) AS outcomes,
       (SELECT json_agg(json_build_array(m.connection_id, m.id, m.change_mask, m.status, m.previous_status))
          FROM merged m) AS messages,
       (SELECT count(connector.fail_for_retry())
          FROM made c JOIN input_connections i ON i.connection_id = c.connection_id AND i.account_id = c.account_id
         WHERE NOT c.is_new AND i.event_at IS NOT NULL) AS raced`;

const texts = new Map<string, string>();
const MOST_TEXTS = 64;

/**
 * The statement's text; the same pieces give the same text, so that it is prepared once. Its parameters are
 * the columns of deliveries, messages and connections, then the time, the source, lease and fence if it is
 * fenced, and the extra ones.
 */
export function mergeStatement(fenced: boolean, also: ExtraCtes | undefined): string {
  const key = `${fenced} ${also?.ctes ?? ''}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = compose(fenced, also?.ctes);
  if (texts.size < MOST_TEXTS) texts.set(key, text);
  return text;
}

function compose(fenced: boolean, extra: string | undefined): string {
  const guard = fenced
    ? `guard AS (SELECT FROM connector.leases l WHERE l.name = $${FIRST_FREE_PARAM} AND l.fence = $${FIRST_FREE_PARAM + 1} FOR SHARE)`
    : undefined;
  const guarded = fenced ? '\n   WHERE EXISTS (SELECT FROM guard)' : '';
  const firstExtra = FIRST_FREE_PARAM + (fenced ? 2 : 0);
  const ctes = [
    guard,
    deliveries(guarded),
    messages(guarded),
    connections(guarded),
    OWNERS,
    CONNECTION_EVENTS,
    MERGE,
    CHANGES,
    LOG,
    extra === undefined ? undefined : shiftParams(extra, firstExtra - 1),
  ].filter((cte) => cte !== undefined);
  return `WITH ${ctes.join(',')}${RESULT(fenced ? 'EXISTS (SELECT FROM guard)' : 'true')}`;
}

function shiftParams(text: string, by: number): string {
  return text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + by}`);
}
