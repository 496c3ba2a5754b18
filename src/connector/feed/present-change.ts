import type {
  Change,
  ConnectionChangeData,
  MessageChangeData,
  StatusChangeData,
} from '../../contract/connector/changes.ts';

/** A row of `connector.changes`. Times are epoch ms, in `data` too. */
export interface StoredChange {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly account_id: string;
  readonly connection_id: string;
  readonly message_id: string | null;
  readonly data: unknown;
}

/** `data` as `MESSAGE_DATA` and `CONNECTION_DATA` of the merge statement write it. */
type StoredMessage = Omit<MessageChangeData, 'id' | 'connectionId' | 'createdAt'> & {
  readonly createdAt: number;
};
type StoredConnection = Omit<ConnectionChangeData, 'id' | 'accountId' | 'licenseExpires' | 'updatedAt'> & {
  readonly licenseExpires: number | null;
};

/** Shows a stored change as the contract has it: ids and ISO times inside `data`. */
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
    case 'message.updated': {
      const { createdAt, ...data } = row.data as StoredMessage;
      return {
        ...head,
        type: row.type,
        messageId,
        data: { id: messageId, connectionId: row.connection_id, ...data, createdAt: toIso(createdAt) },
      };
    }
    case 'message.status':
      return { ...head, type: row.type, messageId, data: row.data as StatusChangeData };
    case 'connection.updated': {
      const { licenseExpires, ...data } = row.data as StoredConnection;
      return {
        ...head,
        type: row.type,
        data: {
          id: row.connection_id,
          accountId: row.account_id,
          ...data,
          licenseExpires: licenseExpires === null ? null : toIso(licenseExpires),
          updatedAt: head.at,
        },
      };
    }
    default:
      throw new TypeError('the feed holds a change of a type that this version does not know');
  }
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
