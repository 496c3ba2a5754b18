import type { z } from 'zod';
import type { listedContact, PhoneMessage } from '../../../../../src/contract/sandbox/contacts.ts';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';

export type ListedContact = z.output<typeof listedContact>;

/** A chat on a phone. */
export interface Chat {
  /** Who is at the other end: a number, or the id of a connection. */
  readonly other: string;
  readonly last: StoredMessage;
}

/** The chats of a phone, with their newest message, in the order of its messages. */
export function chatsOf(
  messages: readonly StoredMessage[],
  otherOf: (message: StoredMessage) => string,
): readonly Chat[] {
  const chats = new Map<string, Chat>();
  for (const last of messages) {
    const other = otherOf(last);
    if (!chats.has(other)) chats.set(other, { other, last });
  }
  return [...chats.values()];
}

/** What a phone has received although the service stores no record of it, as new as the messages that are shown. */
export function unrecorded(
  received: readonly PhoneMessage[],
  stored: readonly StoredMessage[],
  connectionId: string,
  isWhole: boolean,
): readonly PhoneMessage[] {
  const ids = new Set(stored.map(({ id }) => id));
  const from = isWhole ? '' : (stored.at(-1)?.createdAt ?? '');
  return received.filter(
    (message) => message.connectionId === connectionId && message.at >= from && !ids.has(message.messageId),
  );
}

const seconds = (ms: number): string => `${ms / 1_000} s`;

/** How a person behaves, in a few words. */
export function describeContact(contact: Omit<ListedContact, 'phone'>): string {
  const { onNetwork, deliverAfterMs, readAfterMs, failAfterMs, autoReply } = contact;
  if (!onNetwork) return 'not on the network';
  const words = [
    failAfterMs === null ? null : `fails after ${seconds(failAfterMs)}`,
    deliverAfterMs === null && readAfterMs === null ? 'receives nothing' : null,
    deliverAfterMs !== null && readAfterMs === null ? 'never reads' : null,
    readAfterMs === null ? null : `reads after ${seconds(readAfterMs)}`,
    autoReply === null ? null : 'replies',
  ];
  return words.filter((word) => word !== null).join(', ');
}
