import type { Queryable } from '../../runtime/database/database.ts';
import { type DeliveryOutcome, MESSAGE_TEXTS } from './facts.ts';
import { changes } from './feed-tables.ts';
import { messages } from './message-tables.ts';
import { writeChanges } from './write-changes.ts';

/** The messages of a person in one connection. */
export interface ErasedMessages {
  readonly accountId: string;
  readonly connectionId: string;
  readonly ids: readonly string[];
}

const emptied = (names: readonly string[]): string => names.map((name) => `${name} = NULL`).join(', ');

/**
 * Empties the row `m` of a message. The worker removes its file, unless it is among `removed`, after those that it is to
 * fetch by then.
 */
export const emptyMessage = (removed: string, now: string): string => `
  UPDATE connector.messages m
     SET ${emptied(MESSAGE_TEXTS.map((name) => messages[name].name))}, origin = NULL, erased = true,
         media_due_at = ${now},
         media_copy = CASE WHEN m.media_copy ->> 'key' IS NOT NULL AND m.media_copy ->> 'key' <> ALL (${removed})
                           THEN jsonb_build_object('state', 'removing', 'key', m.media_copy ->> 'key', 'since', ${now}) END`;

const CHANGE_TEXTS = MESSAGE_TEXTS.flatMap((name) => (name in changes ? [changes[name as 'text'].name] : []));

// Locked in the order of their keys, as the merge does. The row stays without its texts, so that a poll that reads the
// message again finds it and changes nothing.
const MESSAGES = `
WITH locked AS (
  SELECT m.connection_id, m.id FROM connector.connections c
    JOIN connector.messages m ON m.connection_id = c.connection_id AND m.peer = ANY($1::text[])
   ORDER BY m.connection_id, m.id FOR UPDATE OF m
), erased AS (${emptyMessage('$2::text[]', '$3::bigint')}
    FROM locked l WHERE m.connection_id = l.connection_id AND m.id = l.id
  RETURNING m.account_id, m.connection_id, m.id
)
SELECT account_id AS "accountId", connection_id AS "connectionId", array_agg(id ORDER BY id) AS ids
  FROM erased GROUP BY account_id, connection_id ORDER BY connection_id`;

// Messages that have expired are in the feed only, where not each of their changes names the person.
const EXPIRED = `
SELECT h.account_id AS "accountId", h.connection_id AS "connectionId", array_agg(DISTINCT h.message_id) AS ids
  FROM connector.changes h
 WHERE h.peer = ANY($1::text[]) AND NOT EXISTS (
   SELECT FROM connector.messages m WHERE m.id = h.message_id AND m.connection_id = h.connection_id AND NOT m.expired)
 GROUP BY h.account_id, h.connection_id`;

/** SQL: the messages of `namesOf`, which are `$1` and `$2`. */
export const NAMED = `(SELECT t.connection_id, t.id FROM unnest($1::text[], $2::text[]) t(connection_id, id))`;

export const namesOf = (erased: readonly ErasedMessages[]): readonly string[][] => [
  erased.flatMap(({ connectionId, ids }) => ids.map(() => connectionId)),
  erased.flatMap(({ ids }) => ids),
];

const CHANGES = `
UPDATE connector.changes SET ${emptied([...CHANGE_TEXTS, changes.mediaCopy.name])}
 WHERE type <> 'outbound.updated' AND ((connection_id, message_id) IN ${NAMED} OR peer = ANY($3::text[]))`;

// Sends that retention has deleted are in the feed only.
const SENDS = `
UPDATE connector.changes
   SET data = data || '{"to": "", "text": null, "mediaFilename": null, "mediaMimetype": null, "mediaCaption": null, "reference": ""}'
 WHERE type = 'outbound.updated' AND data ->> 'to' = ANY($1::text[])`;

const DELIVERIES = `DELETE FROM connector.inbox WHERE (connection_id, message_id) IN ${NAMED}`;

/** Outcomes of deliveries that became no message, so that only their bytes name the person. */
export const UNMERGED: readonly DeliveryOutcome[] = ['invalid', 'unmergeable', 'unknown_event', 'foreign'];
const UNMERGED_DELIVERIES = `
DELETE FROM connector.inbox i
 WHERE i.outcome = ANY($2::text[])
   AND EXISTS (SELECT FROM unnest($1::text[]) p WHERE position(convert_to('"' || p || '"', 'UTF8') IN i.body) > 0)`;

/**
 * Removes the number, texts, files and references of a person from messages, changes and the raw log. The worker removes
 * the kept files except for those that were removed before, by their keys.
 */
export async function eraseMessages(
  tx: Queryable,
  phones: readonly string[],
  removedFiles: readonly string[],
  now: number,
): Promise<ErasedMessages[]> {
  // First: they are locked by what merges them later, whose message is then there to be erased.
  await tx.query(UNMERGED_DELIVERIES, [phones, UNMERGED]);
  const erased = await tx.query<ErasedMessages>(MESSAGES, [phones, removedFiles, now]);
  erased.push(...(await tx.query<ErasedMessages>(EXPIRED, [phones])));
  const named = namesOf(erased);
  await tx.query(CHANGES, [...named, phones]);
  await tx.query(SENDS, [phones]);
  await tx.query(DELIVERIES, named);
  return erased;
}

/** Deliveries of the last days are looked through, each hour; all of them may be more than one statement can. */
const LATE_MS = 2 * 86_400_000;

/**
 * Deletes deliveries of messages that were erased before: a repeated delivery may arrive after the erasure, and its bytes
 * may name the person.
 */
export async function deleteErasedDeliveries(db: Queryable, now: number): Promise<void> {
  await db.query(
    `DELETE FROM connector.inbox i USING connector.messages m
      WHERE i.received_at >= $1::bigint
        AND m.erased AND NOT m.expired AND i.message_id = m.id AND i.connection_id = m.connection_id`,
    [now - LATE_MS],
  );
}

/** What consumers are told of an erasure in one connection. */
export interface Erasure {
  readonly accountId: string;
  readonly connectionId: string;
  readonly messageIds: readonly string[];
  readonly outboundIds: readonly string[];
}

const TELL = `
WITH told AS (
  SELECT t."accountId" AS account_id, t."connectionId" AS connection_id,
         jsonb_build_object('messageIds', t."messageIds", 'outboundIds', t."outboundIds") AS data
    FROM jsonb_to_recordset(($1::text)::jsonb)
      AS t("accountId" text, "connectionId" text, "messageIds" jsonb, "outboundIds" jsonb)
),
${writeChanges({
  made: ['told'],
  changes: [
    {
      type: `'person.erased'`,
      at: '$2::bigint',
      accountId: 't.account_id',
      connectionId: 't.connection_id',
      source: `'api'`,
      data: 't.data',
      from: 'FROM told t',
    },
  ],
})}
SELECT count(*) AS count FROM told`;

/** Writes a `person.erased` for each of them. */
export async function tellErasures(tx: Queryable, erasures: readonly Erasure[], now: number): Promise<void> {
  if (erasures.length > 0) await tx.query(TELL, [JSON.stringify(erasures), now]);
}
