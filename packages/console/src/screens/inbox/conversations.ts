import type { Change } from '../../../../../src/contract/connector/changes.ts';
import type { ConnectorMessage } from '../../../../../src/contract/connector/messages.ts';

/** What was said with one contact over one connection. */
export interface Conversation {
  /** `<connection>~<number of the contact>`; nothing after `~` if no source has named the contact. */
  readonly id: string;
  readonly connectionId: string;
  readonly peer: string | null;
  readonly last: ConnectorMessage;
}

export function conversationId({
  connectionId,
  peer,
}: Pick<ConnectorMessage, 'connectionId' | 'peer'>): string {
  return `${connectionId}~${peer ?? ''}`;
}

/** What the id of a conversation names. */
export function readConversationId(id: string): Pick<Conversation, 'connectionId' | 'peer'> {
  const place = id.lastIndexOf('~');
  if (place === -1) return { connectionId: id, peer: null };
  return { connectionId: id.slice(0, place), peer: id.slice(place + 1) || null };
}

/** Messages by conversation; the one with the newest message comes first. */
export function conversationsOf(messages: readonly ConnectorMessage[]): readonly Conversation[] {
  const found = new Map<string, Conversation>();
  for (const last of messages) {
    const id = conversationId(last);
    const known = found.get(id);
    if (known === undefined || Date.parse(known.last.createdAt) < Date.parse(last.createdAt))
      found.set(id, { id, connectionId: last.connectionId, peer: last.peer, last });
  }
  return [...found.values()].sort((a, b) => Date.parse(b.last.createdAt) - Date.parse(a.last.createdAt));
}

/** The message that a change is about, as it is now; undefined if it is about none or an unknown one. */
export function messageOf(
  change: Change,
  known: (id: string) => ConnectorMessage | undefined,
): ConnectorMessage | undefined {
  switch (change.type) {
    case 'message.created':
    case 'message.updated':
      return { ...change.data, customerRef: known(change.messageId)?.customerRef ?? null };
    case 'message.status': {
      const before = known(change.messageId);
      return before && { ...before, status: change.data.status };
    }
    default:
      return undefined;
  }
}
