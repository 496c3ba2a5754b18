/** Numbers the parameters of a statement in the order in which its text takes them. */
export class ParamNumbers {
  #last = 0;

  /** The next parameters, one for each type: `$1::text[], $2::bigint[]`. */
  take(...types: readonly string[]): string {
    return types.map((type) => `$${this.next()}::${type}`).join(', ');
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** What the pieces of one merge statement share. */
export interface MergeTerms {
  /** The time of the batch and the source of its facts. */
  readonly now: string;
  readonly source: string;
  /** Whether connection events are among the facts. */
  readonly events: boolean;
  /** What brought polled facts: the walk. NULL for others. */
  readonly via: string;
}

/**
 * Deliveries for the raw log. Their bodies are one value, cut apart here: an array of them is slow to read. UTF-8
 * is sent as it is, anything else as hexadecimal digits, which are twice as long.
 */
export function inputDeliveries(params: ParamNumbers, where: string, utf8: boolean): string {
  const columns = params.take(
    ...['text[]', 'text[]', 'bigint[]', 'bigint[]', 'integer[]', 'integer[]'],
    ...['text[]', 'text[]', 'text[]', 'text[]', 'text[]', 'integer[]', 'smallint[]'],
  );
  const bodies = utf8 ? `(SELECT convert_to(${params.take('text')}, 'UTF8'))` : params.take('bytea');
  return `input_deliveries AS (
  SELECT d.*, substring(${bodies} FROM d.starts_at FOR d.bytes) AS body
    FROM unnest(${columns})
      WITH ORDINALITY
      AS d(subscription_id, account_id, received_at, signed_at, starts_at, bytes, event, connection_id, message_id,
           outcome, reason, secret_version, credit, position)${where}
)`;
}

/** One row for each message and account. */
export function inputMessages(params: ParamNumbers, where: string): string {
  const columns = params.take(
    ...['text[]', 'text[]', 'text[]', 'text[]', 'text[]', 'text[]', 'text[]', 'text[]'],
    ...[
      'text[]::connector.message_status[]',
      'text[]',
      'text[]',
      'bigint[]',
      'boolean[]',
      'smallint[]',
      'boolean[]',
    ],
  );
  return `input_messages AS (
  SELECT m.* FROM unnest(${columns})
    AS m(connection_id, id, account_id, direction, peer, text, media_url, media_type, status, error_message,
         wa_message_id, created_at, polled, webhook_seen, status_conflict)${where}
)`;
}

/** One row for each connection and account that the batch names, with the newest event that tells of it. */
export function inputConnections(params: ParamNumbers, where: string, events: boolean): string {
  const event = [
    'text[]',
    'text[]',
    'text[]',
    'boolean[]',
    'text[]',
    'bigint[]',
    'text[]',
    'bigint[]',
    'smallint[]',
  ];
  const names = `, phone_number, label, status, needs_reconnect, license_status, license_expires, reason, event_at,
         event_rank`;
  return `input_connections AS (
  SELECT i.* FROM unnest(${params.take('text[]', 'text[]', ...(events ? event : []))})
    WITH ORDINALITY
    AS i(connection_id, account_id${events ? names : ''}, position)${where}
)`;
}
