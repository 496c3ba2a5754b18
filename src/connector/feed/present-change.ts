import { getTableColumns } from 'drizzle-orm';
import type {
  Change,
  ConnectionChangeData,
  MessageChangeData,
  PersonErasedData,
} from '../../contract/connector/changes.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { CONNECTION_FIELDS } from '../db/connection-rows.ts';
import { changes } from '../db/feed-tables.ts';
import { selectList } from '../db/input-columns.ts';
import { shownFields } from '../db/message-tables.ts';
import { presentOutbound, type StoredOutbound } from '../outbox/stored-outbound.ts';

const { batch: _batch, position: _position, source: _source, via: _via, ...SHOWN } = getTableColumns(changes);

/** A row of `connector.changes` with its number. Times are epoch ms, also in `data`. */
export type StoredChange = { readonly seq: number } & Readonly<
  Pick<typeof changes.$inferSelect, keyof typeof SHOWN>
>;

/** SQL: the columns of `connector.changes`, as the row `alias`, that `presentChange` needs. */
export const changeColumns = (alias: string): string => selectList(SHOWN, alias);

/** SQL: from the change `h` whose number a row has as `seq`; no row if the feed no longer has it. */
export const fromChangeOf = (row: string): string => `
  FROM (SELECT * FROM connector.change_batches n WHERE n.last_seq >= ${row}.seq ORDER BY n.last_seq LIMIT 1) b
  JOIN connector.changes h ON h.batch = b.id AND h.at = b.changed_at AND h.position = b.size - (b.last_seq - ${row}.seq)`;

/**
 * Converts a stored change to the shape of the contract. Throws a TypeError for a type that this version does
 * not know.
 */
export function presentChange(row: StoredChange): Change {
  const head = {
    seq: row.seq,
    at: toIso(row.at),
    accountId: row.accountId,
    connectionId: row.connectionId,
  };
  const messageId = row.messageId ?? '';
  switch (row.type) {
    case 'message.created':
    case 'message.updated':
      return { ...head, type: row.type, messageId, data: presentMessage(row, messageId) };
    case 'message.status': {
      const historic = row.historic ?? false;
      const data = { status: row.status ?? 'sent', previous: row.previousStatus, historic };
      return { ...head, type: row.type, messageId, data };
    }
    case 'connection.updated':
      return { ...head, type: row.type, data: presentConnection(row) };
    case 'outbound.updated': {
      const ofMessage = row.messageId === null ? {} : { messageId: row.messageId };
      // Written only by the statements of the outbox.
      const data = presentOutbound(row.data as unknown as StoredOutbound);
      return { ...head, type: row.type, ...ofMessage, data };
    }
    case 'person.erased':
      // Written only by `tellErasures`.
      return { ...head, type: row.type, data: row.data as PersonErasedData };
    default:
      row.type satisfies never;
      throw new TypeError('the feed contains a change of a type that this version does not know');
  }
}

function presentMessage(row: StoredChange, id: string): MessageChangeData {
  const { seq: _seq, type: _type, at, accountId: _account, messageId: _id, ...rest } = row;
  const { previousStatus: _previous, data: _data, ...message } = rest;
  return {
    ...message,
    id,
    direction: row.direction ?? 'incoming',
    createdAt: toIso(row.createdAt ?? at),
    firstSeenBy: row.firstSeenBy ?? 'webhook',
    historic: row.historic ?? false,
    ...shownFields(row),
  };
}

const UNKNOWN = Object.fromEntries(CONNECTION_FIELDS.map((name) => [name, null])) as Readonly<
  Record<(typeof CONNECTION_FIELDS)[number], null>
>;

/** `data` as written by `CONNECTION_DATA` of the merge; an absent field is unknown. */
function presentConnection({ data, connectionId, accountId, at }: StoredChange): ConnectionChangeData {
  type Stored = Partial<Omit<ConnectionChangeData, 'licenseExpires' | 'deletedAt'>> & {
    readonly licenseExpires?: number | null;
    readonly deletedAt?: number | null;
  };
  const {
    licenseExpires = null,
    deletedAt = null,
    visible = true,
    changed = null,
    ...rest
  } = (data ?? {}) as Stored;
  return {
    ...UNKNOWN,
    ...rest,
    id: connectionId,
    accountId,
    visible,
    licenseExpires: toIsoOrNull(licenseExpires),
    deletedAt: toIsoOrNull(deletedAt),
    updatedAt: toIso(at),
    changed,
  };
}
