import type { Queryable } from '../../runtime/database/database.ts';
import { toIso } from '../iso-time.ts';

/** A field of a message that is not as the kept inbox says. Long texts are cut. */
export interface FieldDifference {
  readonly field: string;
  readonly live: string | null;
  readonly rebuilt: string | null;
}

/**
 * How a live message differs from what the kept inbox explains:
 * - `missing`: there is none. The merge would make it.
 * - `behind`: the merge would fill fields or raise the status.
 * - `differs`: both know a value, and not the same. The first one stands, so the merge would change nothing.
 * - `unexplained`: it knows more than the inbox, and neither a poll nor a send can have told it.
 */
export type DifferenceKind = 'missing' | 'behind' | 'differs' | 'unexplained';

export interface MessageDifference {
  readonly connectionId: string;
  readonly messageId: string;
  readonly kind: DifferenceKind;
  readonly fields: readonly FieldDifference[];
}

/** A page of the comparison. */
export interface ComparedPage {
  readonly compared: number;
  readonly differences: readonly MessageDifference[];
  /** The last message that was compared; null: there were none left. */
  readonly last: MessageKey | null;
}

export interface MessageKey {
  readonly messageId: string;
  readonly connectionId: string;
}

/** Longest text of a field that is shown. */
const SHOWN = 120;
const PAGE = 2_000;

const FILLED = {
  peer: 'peer',
  text: 'text',
  mediaUrl: 'media_url',
  mediaType: 'media_type',
  waMessageId: 'wa_message_id',
} as const;

interface Term {
  readonly field: string;
  readonly column: string;
  readonly when: string;
}

/** What the merge would add to the live row `m` from the rebuilt row `r`. The same rule as `merge-messages.ts`. */
const ADDED: readonly Term[] = [
  ...Object.entries(FILLED).map(([field, column]) => ({
    field,
    column,
    when: `m.${column} IS NULL AND r.${column} IS NOT NULL`,
  })),
  {
    field: 'status',
    column: 'status',
    when: `r.status IS NOT NULL AND (m.status IS NULL OR (r.status > m.status AND m.status <> 'read'))`,
  },
  { field: 'createdAt', column: 'created_at', when: 'NOT m.polled AND r.created_at < m.created_at' },
  { field: 'webhookSeen', column: 'webhook_seen', when: 'r.webhook_seen & ~m.webhook_seen <> 0' },
];

/*
 * A value that another source told first stands for good, so only what a webhook made known first can differ from
 * what webhooks told. Of `read` and `failed` the one stands that was stored
 * first, which the kept days need not show; that both were told is noted.
 */
const DIFFERING: readonly Term[] = [
  ...Object.entries(FILLED).map(([field, column]) => ({
    field,
    column,
    when: `m.first_seen_by = 'webhook' AND m.direction = 'incoming' AND m.${column} <> r.${column}`,
  })),
  {
    field: 'status',
    column: 'status',
    when: `NOT (m.status_conflict OR r.status_conflict) AND (m.status, r.status) IN (('read', 'failed'), ('failed', 'read'))`,
  },
  { field: 'direction', column: 'direction', when: 'm.direction <> r.direction' },
];

/** Webhooks alone made it, all of them are kept, and nothing was written since the replay began. */
const WEBHOOKS_ALONE = `m.first_seen_by = 'webhook' AND NOT m.polled AND m.first_seen_at >= $3::bigint
  AND coalesce(m.webhook_at, 0) < $4::bigint AND NOT EXISTS (SELECT FROM connector.changes c WHERE c.message_id = m.id AND c.source <> 'webhook')`;
const UNEXPLAINED: readonly Term[] = [
  ...Object.entries(FILLED).map(([field, column]) => ({
    field,
    column,
    when: `m.${column} IS NOT NULL AND r.${column} IS NULL`,
  })),
  {
    field: 'status',
    column: 'status',
    when: 'm.status IS NOT NULL AND (r.status IS NULL OR (m.status > r.status AND NOT r.status_conflict))',
  },
];

const listTerms = (terms: readonly Term[]): string =>
  `array_remove(ARRAY[${terms
    .map(
      ({ field, column, when }) =>
        `CASE WHEN ${when} THEN jsonb_build_object('field', '${field}', 'live', left(m.${column}::text, ${SHOWN}), 'rebuilt', left(r.${column}::text, ${SHOWN})) END`,
    )
    .join(',\n')}], NULL)`;

const known = Object.entries({ ...FILLED, status: 'status', createdAt: 'created_at' })
  .map(
    ([field, column]) =>
      `CASE WHEN r.${column} IS NOT NULL THEN jsonb_build_object('field', '${field}', 'live', NULL, 'rebuilt', left(r.${column}::text, ${SHOWN})) END`,
  )
  .join(', ');

/** `scratch` is the schema of the rebuilt messages. */
function pageStatement(scratch: string): string {
  return `
WITH page AS MATERIALIZED (
  SELECT * FROM ${scratch}.messages r WHERE (r.id, r.connection_id) > ($1, $2)
   ORDER BY r.id, r.connection_id LIMIT ${PAGE}
),
compared AS (
  SELECT r.id, r.connection_id, m.id IS NULL AS missing,
         array_remove(ARRAY[${known}], NULL) AS known,
         ${listTerms(ADDED)} AS added, ${listTerms(DIFFERING)} AS differing,
         CASE WHEN ${WEBHOOKS_ALONE} THEN ${listTerms(UNEXPLAINED)} ELSE '{}' END AS unexplained
    FROM page r LEFT JOIN connector.messages m ON m.id = r.id AND m.connection_id = r.connection_id
),
told AS (
  SELECT d.id, d.connection_id,
         CASE WHEN d.missing THEN 'missing' WHEN cardinality(d.added) > 0 THEN 'behind'
              WHEN cardinality(d.differing) > 0 THEN 'differs' ELSE 'unexplained' END AS kind,
         to_jsonb(CASE WHEN d.missing THEN d.known ELSE d.added || d.differing || d.unexplained END) AS fields
    FROM compared d
   WHERE d.missing OR cardinality(d.added || d.differing || d.unexplained) > 0
)
SELECT (SELECT count(*) FROM page) AS compared,
       (SELECT jsonb_build_array(p.id, p.connection_id) FROM page p
         ORDER BY p.id DESC, p.connection_id DESC LIMIT 1) AS last,
       (SELECT jsonb_agg(jsonb_build_object('messageId', t.id, 'connectionId', t.connection_id, 'kind', t.kind,
                                            'fields', t.fields) ORDER BY t.id, t.connection_id) FROM told t)
         AS differences`;
}

interface PageRow {
  readonly compared: number;
  readonly last: readonly [string, string] | null;
  readonly differences: MessageDifference[] | null;
}

/** Times are stored as epoch ms. */
function present({ fields, ...rest }: MessageDifference): MessageDifference {
  const toTime = (ms: string | null): string | null => (ms === null ? null : toIso(Number(ms)));
  const shown = fields.map(({ field, live, rebuilt }) =>
    field === 'createdAt'
      ? { field, live: toTime(live), rebuilt: toTime(rebuilt) }
      : { field, live, rebuilt },
  );
  return { ...rest, fields: shown };
}

export interface CompareRequest {
  /** The schema of the rebuilt messages. */
  readonly scratch: string;
  readonly after: MessageKey | null;
  /** Since when the inbox keeps deliveries, and when the replay began to read it; epoch ms. */
  readonly keptSince: number;
  readonly begunAt: number;
}

/** Compares the next rebuilt messages with the live ones, in the order of their ids. Throws as `query` does. */
export async function comparePage(db: Queryable, request: CompareRequest): Promise<ComparedPage> {
  const { scratch, after, keptSince, begunAt } = request;
  const params = [after?.messageId ?? '', after?.connectionId ?? '', keptSince, begunAt];
  const [row] = await db.query<PageRow>(pageStatement(scratch), params, { deadlineMs: 60_000 });
  const last = row?.last ?? null;
  return {
    compared: row?.compared ?? 0,
    differences: (row?.differences ?? []).map(present),
    last: last === null ? null : { messageId: last[0], connectionId: last[1] },
  };
}
