import type { RecordedEvent } from '../../../src/platform/webhooks/ledger.ts';

/** An event as the ledger gives it, where nothing but its id and size matters. */
export function recordedEvent(id: number, bytes = 10): RecordedEvent {
  return {
    id,
    workspaceId: 'cworkspace',
    appIds: [],
    connectionId: 'cconnection',
    messageId: null,
    event: 'message.received',
    status: null,
    at: 0,
    body: Buffer.alloc(bytes),
  };
}
