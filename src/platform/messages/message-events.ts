import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Connection } from '../connections/read-connections.ts';
import type { NewEvent } from '../webhooks/ledger.ts';

interface Received {
  readonly id: string;
  readonly waMessageId: string | null;
  readonly from: string;
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  /** Virtual epoch ms, the same as `createdAt`. */
  readonly at: number;
}

/** [events.received.exact] */
export function messageReceived(connection: Connection, message: Received): NewEvent {
  return {
    workspaceId: connection.workspaceId,
    connectionId: connection.id,
    messageId: message.id,
    event: 'message.received',
    status: null,
    at: message.at,
    payload: {
      event: 'message.received',
      connection_id: connection.id,
      message: {
        id: message.id,
        wa_id: message.waMessageId,
        from: message.from,
        // [events.received.text] [events.received.text-null]
        text: message.text,
        // [events.received.media] [events.received.media-null]
        media_url: message.mediaUrl,
        media_type: message.mediaType,
        timestamp: message.at, // [events.received.timestamp]
      },
    },
  };
}

interface StatusReport {
  readonly id: string;
  readonly waMessageId: string | null;
  readonly status: MessageStatus;
  /** When it happened, virtual epoch ms. */
  readonly at: number;
}

/** [events.status.exact] */
export function messageStatusEvent(connection: Connection, report: StatusReport): NewEvent {
  return {
    workspaceId: connection.workspaceId,
    connectionId: connection.id,
    messageId: report.id,
    event: 'message.status',
    status: report.status,
    at: report.at,
    payload: {
      event: 'message.status',
      connection_id: connection.id,
      // [events.status.id] [events.status.timestamp]
      message: { id: report.id, wa_id: report.waMessageId, status: report.status, timestamp: report.at },
    },
  };
}
