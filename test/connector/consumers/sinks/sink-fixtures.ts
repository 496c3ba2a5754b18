import type { SinkCall } from '../../../../src/connector/consumers/sinks/sink.ts';
import type { Change } from '../../../../src/contract/connector/changes.ts';

const head = (seq: number) => ({
  seq,
  at: '2026-01-15T12:00:00.000Z',
  accountId: 'settings',
  connectionId: 'connection-1',
});

/** A change whose JSON is not ASCII. Each is about another message, unless one is given. */
export function statusChange(
  seq: number,
  status: 'sent' | 'delivered' | 'read' = 'read',
  messageId = `größer 😀 ${seq}`,
): Change {
  return {
    ...head(seq),
    messageId,
    type: 'message.status',
    data: { status, previous: null, historic: false },
  };
}

/** The first change of a message. */
export function createdChange(seq: number, id: string, text: string, peer = '15551234567'): Change {
  const data = {
    id,
    connectionId: 'connection-1',
    direction: 'outgoing',
    peer,
    personKey: peer,
    text,
    mediaUrl: null,
    mediaType: null,
    mediaCopy: null,
    status: 'sent',
    errorMessage: null,
    createdAt: '2026-01-15T12:00:00.000Z',
    firstSeenBy: 'webhook',
    historic: false,
    origin: 'elsewhere',
    reference: null,
  } as const;
  return { ...head(seq), messageId: id, type: 'message.created', data };
}

/** A first call with these changes. */
export function callOf(...changes: readonly Change[]): SinkCall {
  return {
    changes: changes.map((change) => ({ change, key: `3f9a1c22b04d-${change.seq}-crm` })),
    attempt: 1,
    stop: new AbortController().signal,
  };
}

/** A first call with the changes of these numbers. */
export function callWith(...seqs: readonly number[]): SinkCall {
  return callOf(...seqs.map((seq) => statusChange(seq)));
}
