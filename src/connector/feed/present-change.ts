import { getTableColumns } from 'drizzle-orm';
import type { Change, ConnectionChangeData, MessageChangeData } from '../../contract/connector/changes.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { selectList } from '../db/column-sql.ts';
import { changes } from '../db/feed-tables.ts';
import { presentOutbound, type StoredOutbound } from '../outbox/stored-outbound.ts';

const { batch: _batch, position: _position, source: _source, via: _via, ...SHOWN } = getTableColumns(changes);

/** A row of `connector.changes` with its number. Times are epoch ms, also in `data`. */
export type StoredChange = { readonly seq: number } & Readonly<
  Pick<typeof changes.$inferSelect, keyof typeof SHOWN>
>;

/** SQL: the columns of `connector.changes`, as the row `alias`, that `presentChange` needs. */
export const changeColumns = (alias: string): string => selectList(SHOWN, alias);

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
      const data = { status: row.status ?? 'sent', previous: row.previousStatus };
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
    default:
      row.type satisfies never;
      throw new TypeError('the feed contains a change of a type that this version does not know');
  }
}

function presentMessage(row: StoredChange, id: string): MessageChangeData {
  return {
    id,
    connectionId: row.connectionId,
    direction: row.direction ?? 'incoming',
    peer: row.peer,
    text: row.text,
    mediaUrl: row.mediaUrl,
    mediaType: row.mediaType,
    status: row.status,
    errorMessage: row.errorMessage,
    createdAt: toIso(row.createdAt ?? row.at),
    firstSeenBy: row.firstSeenBy ?? 'webhook',
  };
}

/** `data` as written by `CONNECTION_DATA` of the merge; an absent field is unknown. */
function presentConnection({ data, connectionId, accountId, at }: StoredChange): ConnectionChangeData {
  const stored = (data ?? {}) as Partial<Omit<ConnectionChangeData, 'licenseExpires' | 'deletedAt'>> & {
    readonly licenseExpires?: number | null;
    readonly deletedAt?: number | null;
  };
  const { licenseExpires = null, deletedAt = null } = stored;
  return {
    id: connectionId,
    accountId,
    phoneNumber: stored.phoneNumber ?? null,
    label: stored.label ?? null,
    provider: stored.provider ?? null,
    tier: stored.tier ?? null,
    status: stored.status ?? null,
    needsReconnect: stored.needsReconnect ?? null,
    reason: stored.reason ?? null,
    isDefault: stored.isDefault ?? null,
    profilePicUrl: stored.profilePicUrl ?? null,
    licenseValid: stored.licenseValid ?? null,
    licenseStatus: stored.licenseStatus ?? null,
    licenseExpires: licenseExpires === null ? null : toIso(licenseExpires),
    visible: stored.visible ?? true,
    customerRef: stored.customerRef ?? null,
    deletedAt: deletedAt === null ? null : toIso(deletedAt),
    updatedAt: toIso(at),
    changed: stored.changed ?? null,
  };
}
