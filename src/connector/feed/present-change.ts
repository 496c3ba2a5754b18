import type { Change, ConnectionChangeData, MessageChangeData } from '../../contract/connector/changes.ts';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { presentOutbound, type StoredOutbound } from '../outbox/stored-outbound.ts';

/** A row of `connector.changes` with its number. Times are epoch ms, also in `data`. */
export interface StoredChange {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly account_id: string;
  readonly connection_id: string;
  readonly message_id: string | null;
  readonly status: MessageStatus | null;
  readonly previous_status: MessageStatus | null;
  readonly direction: MessageChangeData['direction'] | null;
  readonly peer: string | null;
  readonly text: string | null;
  readonly media_url: string | null;
  readonly media_type: string | null;
  readonly error_message: string | null;
  readonly created_at: number | null;
  readonly first_seen_by: MessageChangeData['firstSeenBy'] | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** The columns of `connector.changes` that `presentChange` needs. */
export const CHANGE_COLUMNS = `type, at, account_id, connection_id, message_id, status, previous_status,
  direction, peer, text, media_url, media_type, error_message, created_at, first_seen_by, data`;

/**
 * Converts a stored change to the shape of the contract. Throws a TypeError for a type that this version does
 * not know.
 */
export function presentChange(row: StoredChange): Change {
  const head = {
    seq: row.seq,
    at: toIso(row.at),
    accountId: row.account_id,
    connectionId: row.connection_id,
  };
  const messageId = row.message_id ?? '';
  switch (row.type) {
    case 'message.created':
    case 'message.updated':
      return { ...head, type: row.type, messageId, data: presentMessage(row, messageId) };
    case 'message.status': {
      const data = { status: row.status ?? 'sent', previous: row.previous_status };
      return { ...head, type: row.type, messageId, data };
    }
    case 'connection.updated':
      return { ...head, type: row.type, data: presentConnection(row) };
    case 'outbound.updated': {
      const ofMessage = row.message_id === null ? {} : { messageId: row.message_id };
      // Written only by the statements of the outbox.
      const data = presentOutbound(row.data as unknown as StoredOutbound);
      return { ...head, type: row.type, ...ofMessage, data };
    }
    default:
      throw new TypeError('the feed contains a change of a type that this version does not know');
  }
}

function presentMessage(row: StoredChange, id: string): MessageChangeData {
  return {
    id,
    connectionId: row.connection_id,
    direction: row.direction ?? 'incoming',
    peer: row.peer,
    text: row.text,
    mediaUrl: row.media_url,
    mediaType: row.media_type,
    status: row.status,
    errorMessage: row.error_message,
    createdAt: toIso(row.created_at ?? row.at),
    firstSeenBy: row.first_seen_by ?? 'webhook',
  };
}

/** `data` as written by `CONNECTION_DATA` of the merge; an absent field is unknown. */
function presentConnection({ data, connection_id, account_id, at }: StoredChange): ConnectionChangeData {
  const stored = (data ?? {}) as Partial<Omit<ConnectionChangeData, 'licenseExpires' | 'deletedAt'>> & {
    readonly licenseExpires?: number | null;
    readonly deletedAt?: number | null;
  };
  const { licenseExpires = null, deletedAt = null } = stored;
  return {
    id: connection_id,
    accountId: account_id,
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
    licenseNotice: stored.licenseNotice ?? null,
    visible: stored.visible ?? true,
    customerRef: stored.customerRef ?? null,
    deletedAt: deletedAt === null ? null : toIso(deletedAt),
    updatedAt: toIso(at),
    changed: stored.changed ?? null,
  };
}
