import type { Change, PersonErasedData } from '../../contract/connector/changes.ts';
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

const OF_PERSON = `connector.connections c
    JOIN connector.messages m ON m.connection_id = c.connection_id AND m.peer = ANY($1::text[])`;

const KNOWN = `
SELECT m.account_id AS "accountId", m.connection_id AS "connectionId", array_agg(m.id) AS ids
  FROM ${OF_PERSON} GROUP BY m.account_id, m.connection_id`;

// Locked in the order of their keys, as the merge does. The row stays without its texts, so that a poll that reads the
// message again finds it and changes nothing.
const MESSAGES = `
WITH locked AS (
  SELECT m.connection_id, m.id FROM ${OF_PERSON}
   ORDER BY m.connection_id, m.id FOR UPDATE OF m
), erased AS (${emptyMessage('$2::text[]', '$3::bigint')}
    FROM locked l WHERE m.connection_id = l.connection_id AND m.id = l.id
  RETURNING m.account_id, m.connection_id, m.id
)
SELECT account_id AS "accountId", connection_id AS "connectionId", array_agg(id) AS ids
  FROM erased GROUP BY account_id, connection_id`;

/** SQL: a change that had no number yet when `seq` was the last one. As an array, so that no plan reads all changes. */
const since = (seq: string): string => `batch = ANY (ARRAY(
  SELECT b.id FROM connector.change_batches b WHERE b.last_seq > ${seq}::bigint
   UNION ALL SELECT b.id FROM connector.change_batches b WHERE b.last_seq IS NULL))`;

// Messages that have expired are in the feed only, where not each of their changes names the person.
const expired = (when = 'true'): string => `
SELECT h.account_id AS "accountId", h.connection_id AS "connectionId", array_agg(DISTINCT h.message_id) AS ids
  FROM connector.changes h
 WHERE ${when} AND h.peer = ANY($1::text[]) AND NOT EXISTS (
   SELECT FROM connector.messages m WHERE m.id = h.message_id AND m.connection_id = h.connection_id AND NOT m.expired)
 GROUP BY h.account_id, h.connection_id`;

/** SQL: the messages of `namesOf`, which are `$1` and `$2`. */
export const NAMED = `(SELECT t.connection_id, t.id FROM unnest($1::text[], $2::text[]) t(connection_id, id))`;

export const namesOf = (erased: readonly ErasedMessages[]): readonly string[][] => [
  erased.flatMap(({ connectionId, ids }) => ids.map(() => connectionId)),
  erased.flatMap(({ ids }) => ids),
];

const emptyChanges = (when = 'true'): string => `
UPDATE connector.changes SET ${emptied([...CHANGE_TEXTS, changes.mediaCopy.name])}
 WHERE ${when} AND type <> 'outbound.updated' AND ((connection_id, message_id) IN ${NAMED} OR peer = ANY($3::text[]))`;

// Sends that retention has deleted are in the feed only.
const emptySends = (when = 'true'): string => `
UPDATE connector.changes
   SET data = data || '{"to": "", "text": null, "mediaFilename": null, "mediaMimetype": null, "mediaCaption": null, "reference": ""}'
 WHERE ${when} AND type = 'outbound.updated' AND data ->> 'to' = ANY($1::text[])`;

/** A change that was read before an erasure, as it is read afterwards. */
export function emptyChange(change: Change, { messageIds, outboundIds }: PersonErasedData): Change {
  switch (change.type) {
    case 'message.created':
    case 'message.updated': {
      if (!messageIds.includes(change.messageId)) return change;
      const shown = MESSAGE_TEXTS.filter((name) => name in change.data);
      const texts = Object.fromEntries(shown.map((name) => [name, null]));
      return { ...change, data: { ...change.data, ...texts, personKey: null, mediaCopy: null } };
    }
    case 'outbound.updated': {
      if (!outboundIds.includes(change.data.id)) return change;
      return { ...change, data: { ...change.data, to: '', text: null, media: null, reference: '' } };
    }
    default:
      return change;
  }
}

const DELIVERIES = `DELETE FROM connector.inbox WHERE (connection_id, message_id) IN ${NAMED}`;

/** Outcomes of deliveries that became no message, so that only their bytes name the person. */
export const UNMERGED: readonly DeliveryOutcome[] = ['invalid', 'unmergeable', 'unknown_event', 'foreign'];
const UNMERGED_DELIVERIES = `
DELETE FROM connector.inbox i
 WHERE i.outcome = ANY($2::text[])
   AND EXISTS (SELECT FROM unnest($1::text[]) p WHERE position(convert_to('"' || p || '"', 'UTF8') IN i.body) > 0)`;

const EMPTY_RECENT = `${emptyChanges(since('$4'))}
RETURNING type, connection_id AS of, message_id AS id`;

const keyOf = (connectionId: string, id: string): string => `${connectionId} ${id}`;

/** Each connection once, and each message. */
function unite(found: readonly ErasedMessages[]): ErasedMessages[] {
  const united = new Map<string, ErasedMessages>();
  for (const { ids, ...of } of found) {
    const known = united.get(of.connectionId)?.ids ?? [];
    united.set(of.connectionId, { ...of, ids: [...new Set([...known, ...ids])] });
  }
  return [...united.values()];
}

/** What was erased before rows of messages are locked. */
export interface ErasedChanges {
  readonly messages: readonly ErasedMessages[];
  /** Changes up to this number were read. */
  readonly lastSeq: number;
}

/**
 * Removes the number, texts, files and references of a person from the changes and the raw log. It reads all of the feed,
 * so it locks no row that a delivery changes.
 */
export async function eraseChanges(tx: Queryable, phones: readonly string[]): Promise<ErasedChanges> {
  // First: what is committed later gets a higher number.
  const [feed] = await tx.query<{ seq: number }>('SELECT connector.last_seq() AS seq');
  const messages = await tx.query<ErasedMessages>(KNOWN, [phones]);
  messages.push(...(await tx.query<ErasedMessages>(expired(), [phones])));
  const named = namesOf(messages);
  await tx.query(emptyChanges(), [...named, phones]);
  await tx.query(emptySends(), [phones]);
  await tx.query(DELIVERIES, named);
  return { messages, lastSeq: feed?.seq ?? 0 };
}

/**
 * Removes them from the messages, and from what came meanwhile. The worker removes the kept files except for those that
 * were removed before, by their keys. From here on, deliveries about these messages wait for the commit.
 */
export async function eraseMessages(
  tx: Queryable,
  phones: readonly string[],
  removedFiles: readonly string[],
  { messages, lastSeq }: ErasedChanges,
  now: number,
): Promise<readonly ErasedMessages[]> {
  // First: they are locked by what merges them later, whose message is then there to be erased.
  await tx.query(UNMERGED_DELIVERIES, [phones, UNMERGED]);
  const found = await tx.query<ErasedMessages>(MESSAGES, [phones, removedFiles, now]);
  found.push(...(await tx.query<ErasedMessages>(expired(since('$2')), [phones, lastSeq])));
  const erased = unite([...messages, ...found]);
  const named = namesOf(erased);
  const recent = await tx.query<{ type: string; of: string; id: string }>(EMPTY_RECENT, [
    ...named,
    phones,
    lastSeq,
  ]);
  const created = recent.filter(({ type }) => type === 'message.created').map(({ of, id }) => keyOf(of, id));
  const read = new Set([
    ...created,
    ...messages.flatMap(({ connectionId, ids }) => ids.map((id) => keyOf(connectionId, id))),
  ]);
  // Messages that were there before, and whose person was named meanwhile: their earlier changes name nobody.
  const late = erased.map(({ ids, ...of }) => ({
    ...of,
    ids: ids.filter((id) => !read.has(keyOf(of.connectionId, id))),
  }));
  if (late.some(({ ids }) => ids.length > 0)) await tx.query(emptyChanges(), [...namesOf(late), []]);
  await tx.query(emptySends(since('$2')), [phones, lastSeq]);
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
