/** What an event changes, as one statement of SQL that Postgres and SQLite (D1) know. Repeating it changes nothing. */
import { createHash } from 'node:crypto';

export interface Statement {
  /** With the parameters `?1`, `?2` and so on. In Postgres, they are `$1`, `$2`. */
  readonly text: string;
  readonly values: Value[];
}

type Value = string | number | null;
type Event = { event?: string; connection_id?: Value; message?: Record<string, Value> | null };

/** Higher ranks win. `read` and `failed` never replace each other. */
const RANKS = new Map<unknown, number>(Object.entries({ sent: 1, delivered: 2, read: 3, failed: 3 }));

/** A message may come twice, or after its status. */
const MESSAGE = `INSERT INTO messages (id, connection_id, sender, text, media_url, media_type, sent_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET sender = excluded.sender, text = excluded.text,
  media_url = excluded.media_url, media_type = excluded.media_type, sent_at = excluded.sent_at`;

/** A status may come twice, late, or before its message. */
const STATUS = `INSERT INTO messages (id, connection_id, status, status_rank) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, status_rank = excluded.status_rank
WHERE messages.status_rank < excluded.status_rank`;

/** An error would make the service send it twice more, and then drop it. */
const UNREAD = 'INSERT INTO unread_events (digest, body) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING';

/** Undefined for bytes that are no JSON, and for events that it does not know: the service may add some. */
export function toStatement(body: Uint8Array): Statement | undefined {
  const { event, connection_id: connection = null, message } = parse(body) ?? {};
  if (event !== 'message.received' && event !== 'message.status') return undefined;
  const { id = null, from = null, text = null, media_url = null, media_type = null } = message ?? {};
  const { timestamp = null, status = null } = message ?? {};
  const isRead =
    [id, connection].every((value) => typeof value === 'string') &&
    [from, text, media_url, media_type].every((value) => value === null || typeof value === 'string') &&
    (timestamp === null || Number.isSafeInteger(timestamp));
  if (!isRead) {
    const digest = createHash('sha256').update(body).digest('hex');
    return { text: UNREAD, values: [digest, Buffer.from(body).toString('base64')] };
  }
  if (event === 'message.received')
    return { text: MESSAGE, values: [id, connection, from, text, media_url, media_type, timestamp] };
  const rank = RANKS.get(status);
  return rank === undefined ? undefined : { text: STATUS, values: [id, connection, status, rank] };
}

/** Postgres stores no NUL in a text. */
const withoutNul = (_: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;

function parse(body: Uint8Array): Event | null {
  try {
    return JSON.parse(new TextDecoder().decode(body), withoutNul);
  } catch {
    return null;
  }
}
