import { getTableColumns } from 'drizzle-orm';
import { CONNECTION_DATA, changedFields, connectionChange, isReleased } from './connection-rows.ts';
import { CHANGE, type FactSource, IN_FEED } from './facts.ts';
import { type ChangeSource, changes } from './feed-tables.ts';
import type { FoldedConnection, FoldedMessage } from './fold-facts.ts';
import { columnNames, Parameters } from './input-columns.ts';
import { heldLease } from './lease.ts';
import {
  CONNECTION_COLUMNS,
  DELIVERY_COLUMNS,
  EVENT_COLUMNS,
  type LoggedDelivery,
  MEDIA_COPY,
  MESSAGE_COLUMNS,
  ORIGIN,
  PEER_NAMED,
} from './merge-columns.ts';
import { messages } from './message-tables.ts';
import { writeChanges } from './write-changes.ts';

/*
 * The merge: one SQL statement for a batch of any size. Parameters are arrays, so one prepared text serves
 * every size. `test/connector/statements/golden` contains the text of each of its forms. What it promises:
 *
 * - The merge is the deduplication. A second copy of a fact finds the row as it would make it and changes nothing.
 *   [delivery.duplicates] [events.received.dedupe]
 * - A status only rises. Equal to `patterns/message-status`; a test compares both over all pairs.
 * - An event of a connection counts only if it is newer than the last one. [delivery.order]
 * - A change is inserted after the changed row was locked, so the ids of one row's changes rise with them.
 * - Rows are locked in the order of their keys.
 *
 * A data-modifying CTE sees the tables as they were when the statement began. What it changed is therefore
 * read from its RETURNING, and a message row keeps its previous status and what changed for that purpose.
 *
 * The cost of a statement grows with its text, whatever its batch contains. So connection events, which are rare,
 * the fence, which only polls need, and the periods of messages are left out where they are not needed.
 */

/** A lease that must still be valid when the batch is written. */
export interface Fence {
  readonly lease: string;
  readonly fence: number;
}

/** The input of the statement for one batch. */
export interface MergeInput {
  /** Epoch ms; the time of all its changes. */
  readonly now: number;
  readonly source: FactSource;
  readonly deliveries: readonly LoggedDelivery[];
  /** The concatenated bodies of the deliveries: text if they are UTF-8. */
  readonly bodies: string | Uint8Array;
  readonly messages: readonly FoldedMessage[];
  readonly connections: readonly FoldedConnection[];
  /** The walk or command that reported the facts; undefined for a webhook or a send. */
  readonly via: string | undefined;
  readonly fence: Fence | undefined;
  /** Messages may be in several periods: see `message-periods.ts`. */
  readonly divided: boolean;
  /** Further CTEs, comma-separated, with parameters numbered from `$1`. */
  readonly also: { readonly ctes: string; readonly params: readonly unknown[] } | undefined;
}

/** A text and the values of its parameters. */
export interface MergeStatement {
  readonly text: string;
  readonly valuesOf: (input: MergeInput) => unknown[];
}

const statements = new Map<string, MergeStatement>();
const MAX_STATEMENTS = 64;

/** The statement for an input. Inputs of the same form have the same text, so that it is prepared once. */
export function mergeStatement(input: MergeInput): MergeStatement {
  const form = {
    events: input.connections.some(({ event }) => event !== null),
    via: input.via !== undefined,
    fenced: input.fence !== undefined,
    utf8: typeof input.bodies === 'string',
    divided: input.divided,
    also: input.also?.ctes ?? '',
  };
  const key = `${form.events} ${form.via} ${form.fenced} ${form.utf8} ${form.divided} ${form.also}`;
  const known = statements.get(key);
  if (known !== undefined) return known;
  const statement = compose(form);
  if (statements.size < MAX_STATEMENTS) statements.set(key, statement);
  return statement;
}

/** How the columns of a known message are updated, and when that is a change of this kind. */
const MERGED = [...MESSAGE_COLUMNS, ORIGIN, PEER_NAMED, MEDIA_COPY].flatMap(({ name, merge }) =>
  merge === undefined ? [] : [{ name, ...merge }],
);
const isChanged = (bit: keyof typeof CHANGE): string =>
  `(${MERGED.flatMap((column) => column.changes[bit] ?? []).join('\n        OR ')})`;
const KINDS = ['status', 'fields', 'bookkeeping', 'conflict'] as const;

const EVENT_CHANGED = changedFields('c', '(excluded.was)');
/** Events compare only with the last event, by the time of their payload. */
const isNewer = (event: string): string =>
  `(c.last_event_at IS NULL OR (${event}.last_event_at, ${event}.last_event_rank) > (c.last_event_at, c.last_event_rank))`;
const isTaken = `${isReleased('c')} AND excluded.last_event_at IS NOT NULL AND ${isNewer('excluded')}`;
const TAKE_EVENT = EVENT_COLUMNS.map(
  ({ name, merged }) => `,\n         ${name} = CASE WHEN ${isTaken} THEN ${merged} ELSE c.${name} END`,
).join('');

const isAccount = (row: string): string =>
  `EXISTS (SELECT FROM connector.accounts a WHERE a.id = ${row}.account_id)`;

/** What is reported about a connection that only a message has named; readers treat an absent field as null. */
const NAMED_ONLY = `'{"visible": true}'::jsonb`;

const IDENTITY = ['accountId', 'connectionId', 'messageId', 'status', 'previousStatus'];
/** The fields of a message in a change, from the columns that both tables have. A status change omits them. */
const SHOWN = Object.fromEntries(
  Object.entries(getTableColumns(messages)).flatMap(([key, { name }]) =>
    key in changes && !IDENTITY.includes(key) ? [[key, `m.${name}`]] : [],
  ),
);
const SHOWN_UNLESS_STATUS = Object.fromEntries(
  Object.entries(SHOWN).map(([name, sql]) => [
    name,
    name === 'historic' ? sql : `CASE kind.bit WHEN ${CHANGE.status} THEN NULL ELSE ${sql} END`,
  ]),
);

/** A change of the message in the row `m`, without its type, time and source. */
const MESSAGE_CHANGE = {
  accountId: 'm.account_id',
  connectionId: 'm.connection_id',
  messageId: 'm.id',
  status: 'm.status',
  previousStatus: 'm.previous_status',
  ...SHOWN,
};

/** CTEs of `writeChanges` that write one `message.updated` for each row of the CTE `rows`. `at` is an SQL expression. */
export const messageUpdates = (rows: string, at: string, source: ChangeSource): string =>
  writeChanges({
    made: [rows],
    changes: [
      { ...MESSAGE_CHANGE, type: `'message.updated'`, at, source: `'${source}'`, from: `FROM ${rows} m` },
    ],
  });

interface MergeForm {
  readonly events: boolean;
  readonly via: boolean;
  readonly fenced: boolean;
  readonly utf8: boolean;
  readonly divided: boolean;
  readonly also: string;
}

function compose({ events, via, fenced, utf8, divided, also }: MergeForm): MergeStatement {
  const p = new Parameters<MergeInput>();
  const when = (wanted: boolean, sql: string): string => (wanted ? sql : '');
  const eventColumns = events ? EVENT_COLUMNS : [];
  const connectionColumns = [...CONNECTION_COLUMNS, ...eventColumns];
  const deliveries = p.arrays(DELIVERY_COLUMNS, (input) => input.deliveries);
  // One value, which is split in the statement: an array of bodies is slow to read. UTF-8 is sent as it is,
  // anything else as hexadecimal digits, which are twice as long.
  const bodies = utf8
    ? `(SELECT convert_to(${p.take('text', (input) => input.bodies)}, 'UTF8'))`
    : p.take('bytea', (input) => input.bodies);
  const messageRows = p.arrays(MESSAGE_COLUMNS, (input) => input.messages);
  const connections = p.arrays(connectionColumns, (input) => input.connections);
  const now = p.take('bigint', (input) => input.now);
  const source = p.take('text', (input) => input.source);
  const walk = via ? p.take('text', (input) => input.via) : 'NULL';
  const guard = fenced
    ? heldLease(
        p.take('text', (input) => input.fence?.lease),
        p.take('bigint', (input) => input.fence?.fence),
      )
    : '';
  // The facts of a walk: what is older than the connection's first listing is history.
  const historic = via ? `${source} = 'poll' AND coalesce(i.created_at < i.history_until, false)` : 'false';
  const whileHeld = when(fenced, '\n   WHERE EXISTS (SELECT FROM guard)');
  // The facts of a walk or a replay are not from a webhook.
  const webhookAt = via ? 'NULL::bigint' : `CASE WHEN i.webhook_seen <> 0 THEN ${now} END`;
  const connectionChanged = (from: string) => ({
    type: `'connection.updated'`,
    at: now,
    accountId: 'c.account_id',
    connectionId: 'c.connection_id',
    source,
    data: 'c.data',
    from,
  });
  const messageChanged = { ...MESSAGE_CHANGE, at: now, source, via: walk };
  const effect = `coalesce(m.change_mask${when(events, ', e.change_mask')}, 0) & d.credit`;

  const text = `WITH ${when(fenced, `guard AS (${guard}),\n`)}input_deliveries AS (
  SELECT d.*, substring(${bodies} FROM d.starts_at FOR d.bytes) AS body
    FROM unnest(${deliveries}) WITH ORDINALITY
      AS d(${columnNames(DELIVERY_COLUMNS)}, position)${whileHeld}
),
input_messages AS (
  SELECT m.* FROM unnest(${messageRows})
    AS m(${columnNames(MESSAGE_COLUMNS)})${whileHeld}
),
input_connections AS (
  SELECT i.* FROM unnest(${connections}) WITH ORDINALITY
    AS i(${columnNames(connectionColumns)}, position)${whileHeld}
),

-- A connection belongs to one account; an unknown one is made for the account whose fact names it first. That of a removed
-- account becomes that of the first account whose fact names it, with an event of it; late facts of the removed account,
-- and those that no account has claimed, do not change whose it is. If another statement makes it at the same time, the update that
-- changes nothing still returns its owner.
known AS (
  SELECT c.connection_id, c.account_id${when(via, ', c.history_until')} FROM connector.connections c
   WHERE c.connection_id IN (SELECT i.connection_id FROM input_connections i)
     AND NOT (${isReleased('c')} AND EXISTS (
       SELECT FROM input_connections i WHERE i.connection_id = c.connection_id AND ${isAccount('i')}))
),
made AS (
  INSERT INTO connector.connections AS c
    (${columnNames(connectionColumns)}${when(events, ', webhook_at')}, visible, version, updated_at)
  SELECT DISTINCT ON (connection_id) ${columnNames(connectionColumns)}${when(
    events,
    `, CASE WHEN last_event_at IS NOT NULL THEN ${now} END`,
  )}, true, 1, ${now}
    FROM input_connections i
   WHERE NOT EXISTS (SELECT FROM known k WHERE k.connection_id = i.connection_id)
     AND (${isAccount('i')}
          OR NOT EXISTS (SELECT FROM connector.connections k WHERE k.connection_id = i.connection_id))
   ORDER BY connection_id, position
  ON CONFLICT (connection_id) DO UPDATE
     SET account_id = CASE WHEN ${isReleased('c')} THEN excluded.account_id ELSE c.account_id END,
         visible = c.visible OR c.listed_at IS NULL${when(
           events,
           `${TAKE_EVENT},
         webhook_at = coalesce(excluded.webhook_at, c.webhook_at), version = c.version + 1, updated_at = excluded.updated_at`,
         )}
  RETURNING c.connection_id, c.account_id, ${when(via, 'c.history_until, ')}c.xmax = 0${when(
    events,
    ' OR EXISTS (SELECT FROM connector.connections k WHERE k.connection_id = c.connection_id)',
  )} AS is_new, ${events ? `c.last_event_at, c.last_event_rank, ${CONNECTION_DATA}` : NAMED_ONLY} AS data
),
owners AS (
  SELECT connection_id, account_id${when(via, ', history_until')} FROM known
  UNION ALL
  SELECT connection_id, account_id${when(via, ', history_until')} FROM made
),
${when(
  events,
  `
-- Connections that an event moved on.
moved AS (
  UPDATE connector.connections c
     SET ${EVENT_COLUMNS.map(({ name, merged }) => `${name} = ${merged}`).join(',\n         ')},
         webhook_at = ${now},
         version = c.version + 1,
         updated_at = ${now}
    FROM (SELECT i.*, k AS was FROM input_connections i JOIN known USING (connection_id, account_id)
            JOIN connector.connections k USING (connection_id, account_id)
           WHERE i.last_event_at IS NOT NULL ORDER BY i.connection_id FOR UPDATE OF k) excluded
   WHERE c.connection_id = excluded.connection_id AND ${isNewer('excluded')}
  RETURNING c.connection_id, c.account_id, ${connectionChange(EVENT_CHANGED)} AS data,
            ${EVENT_CHANGED} <> '[]' AS is_news
),
`,
)}
-- Each message with the period that it is filed under: that of its row, or the present one. An expired one has none.
filed AS (
  SELECT i.*${when(via, ', o.history_until')}${when(
    divided,
    `, CASE f.messages_from WHEN 0 THEN 0 ELSE coalesce((
           SELECT k.filed_at FROM connector.messages k WHERE k.id = i.id AND k.connection_id = i.connection_id LIMIT 1
         ), f.messages_from) END AS filed_at`,
  )}
    FROM input_messages i
    JOIN owners o ON o.connection_id = i.connection_id AND o.account_id = i.account_id${when(
      divided,
      `
   CROSS JOIN connector.feed f
   WHERE f.messages_from = 0
      OR (SELECT true FROM connector.expired_messages x WHERE x.id = i.id AND x.connection_id = i.connection_id) IS NULL`,
    )}
),
merged AS (
  INSERT INTO connector.messages${when(!divided, '_undivided')} AS m
    (${columnNames(MESSAGE_COLUMNS)},
     origin, media_copy, historic, first_seen_by, first_seen_at, previous_status, change_mask, webhook_at${when(divided, ', filed_at')})
  SELECT ${columnNames(MESSAGE_COLUMNS, 'i')},
         ${ORIGIN.reported(source, via)}, ${MEDIA_COPY.reported}, ${historic},
         ${source}, ${now}, NULL,
         ${CHANGE.created | CHANGE.fields | CHANGE.bookkeeping}
           | CASE WHEN i.status IS NULL THEN 0 ELSE ${CHANGE.status} END
           | CASE WHEN i.status_conflict THEN ${CHANGE.conflict} ELSE 0 END, ${webhookAt}${when(divided, ', i.filed_at')}
    FROM filed i
   ORDER BY i.connection_id, i.id
  ON CONFLICT (connection_id, id, filed_at) DO UPDATE
     SET ${MERGED.map(({ name, value }) => `${name} = ${value}`).join(',\n         ')},
         previous_status = m.status,
         change_mask = ${KINDS.map(
           (kind) => `CASE WHEN ${isChanged(kind)} THEN ${CHANGE[kind]} ELSE 0 END`,
         ).join('\n                     | ')},
         webhook_at = coalesce(excluded.webhook_at, m.webhook_at)
   WHERE NOT m.erased AND (${KINDS.map(isChanged).join('\n      OR ')})
  RETURNING m.connection_id, m.id, m.account_id, m.change_mask, m.status, m.previous_status,
            ${Object.values(SHOWN).join(', ')}
),

${writeChanges({
  made: ['merged', 'made', ...(events ? ['moved'] : [])],
  changes: [
    connectionChanged('FROM made c WHERE c.is_new'),
    ...(events ? [connectionChanged('FROM moved c WHERE c.is_news')] : []),
    {
      ...messageChanged,
      type: `'message.created'`,
      from: `FROM merged m WHERE m.change_mask & ${CHANGE.created} <> 0`,
    },
    {
      ...messageChanged,
      ...SHOWN_UNLESS_STATUS,
      type: 'kind.type',
      from: `FROM merged m
    JOIN (VALUES ('message.status', ${CHANGE.status}), ('message.updated', ${CHANGE.fields})) kind(type, bit)
      ON m.change_mask & kind.bit <> 0
   WHERE m.change_mask & ${CHANGE.created} = 0`,
    },
  ],
})},

-- The raw log: each delivery with what became of it, the changes that it is credited with, and their batch.
logged AS (
  INSERT INTO connector.inbox
    (received_at, subscription_id, account_id, signed_at, body, event, connection_id, message_id, outcome, reason,
     change_mask, change_batch, secret_version)
  SELECT d.received_at, d.subscription_id, d.account_id, d.signed_at, d.body, d.event, d.connection_id,
         d.message_id,
         CASE WHEN d.outcome IS NOT NULL THEN d.outcome
              WHEN o.account_id IS DISTINCT FROM d.account_id THEN 'foreign'
              WHEN ${effect} & ${IN_FEED} <> 0 THEN 'merged'
              ELSE 'unchanged' END,
         d.reason, ${effect},
         CASE WHEN ${effect} & ${IN_FEED} <> 0 THEN (SELECT b.id FROM batch b) END, d.secret_version
    FROM input_deliveries d
    LEFT JOIN owners o ON o.connection_id = d.connection_id
    LEFT JOIN merged m ON m.connection_id = d.connection_id AND m.id = d.message_id AND o.account_id = d.account_id
${when(
  events,
  `
    LEFT JOIN (SELECT connection_id, account_id,
                      CASE WHEN is_news THEN ${CHANGE.fields} ELSE ${CHANGE.bookkeeping} END AS change_mask FROM moved
               UNION ALL
               SELECT connection_id, account_id, ${CHANGE.created | CHANGE.fields} FROM made WHERE is_new) e
      ON d.message_id IS NULL AND e.connection_id = d.connection_id AND e.account_id = d.account_id`,
)}
   ORDER BY d.position
  RETURNING outcome
)${also === '' ? '' : `,${shiftParameters(also, p.count)}`}
SELECT ${fenced ? 'EXISTS (SELECT FROM guard)' : 'true'} AS applied,
       (SELECT string_agg(l.outcome, ' ') FROM logged l) AS outcomes,
       (SELECT json_object_agg(c.change_mask, c.count)
          FROM (SELECT m.change_mask, count(*) FROM merged m GROUP BY m.change_mask) c) AS masks
${when(
  events,
  `
-- If two statements made a connection at once, one of them from an event, \`moved\` did not see the row, and the event
-- would be lost. It fails as a serialization failure does, and the retry sees the row.
       , (SELECT count(connector.fail_for_retry())
          FROM made c JOIN input_connections i ON i.connection_id = c.connection_id AND i.account_id = c.account_id
         WHERE i.last_event_at IS NOT NULL AND ${isNewer('i')}) AS raced`,
)}`;
  return {
    text: withoutComments(text),
    valuesOf: (input) => [...p.valuesOf(input), ...(input.also?.params ?? [])],
  };
}

/** The comments are only for readers of this file. */
function withoutComments(sql: string): string {
  return sql
    .replace(/^ *--.*\n/gm, '')
    .replace(/\n+/g, '\n')
    .trimEnd();
}

function shiftParameters(sql: string, by: number): string {
  return sql.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + by}`);
}
