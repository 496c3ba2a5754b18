/** What an event changes, as one statement of SQL that Postgres and SQLite (D1) know. Repeating it changes nothing. */

export interface Statement {
  /** With the parameters `?1`, `?2` and so on. In Postgres, they are `$1`, `$2`. */
  readonly text: string;
  readonly values: (string | number | null)[];
}

interface Message {
  readonly id: string;
  readonly [field: string]: string | number | null;
}

/** Higher ranks win. `read` and `failed` never replace each other. */
const RANKS: Readonly<Record<string, number>> = { sent: 1, delivered: 2, read: 3, failed: 3 };

/** A message may come twice, or after its status. */
const MESSAGE = `INSERT INTO messages (id, connection_id, sender, text, media_url, media_type, sent_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET sender = excluded.sender, text = excluded.text,
  media_url = excluded.media_url, media_type = excluded.media_type, sent_at = excluded.sent_at`;

/** A status may come twice, late, or before its message. */
const STATUS = `INSERT INTO messages (id, connection_id, status, status_rank) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, status_rank = excluded.status_rank
WHERE messages.status_rank < excluded.status_rank`;

/** Undefined for bytes that are no JSON, and for events that it does not know: the service may add some. */
export function toStatement(body: Uint8Array): Statement | undefined {
  const event = parse(body);
  const { connection_id: connection = '', message } = event ?? {};
  if (message === undefined) return undefined;
  const { id, from = null, text = null, media_url = null, media_type = null, timestamp = null } = message;
  if (event?.event === 'message.received') {
    return { text: MESSAGE, values: [id, connection, from, text, media_url, media_type, timestamp] };
  }
  const rank = RANKS[String(message['status'])];
  if (event?.event !== 'message.status' || rank === undefined) return undefined;
  return { text: STATUS, values: [id, connection, String(message['status']), rank] };
}

function parse(body: Uint8Array): { event?: string; connection_id?: string; message?: Message } | null {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return null;
  }
}
