import {
  type ReadConnectionListItem,
  type ReadItems,
  type ReadMessage,
  readMessagePage,
} from '../../contract/service/read-answers.ts';
import { type MessageStatus, messageStatus } from '../../contract/service/statuses.ts';

/** A message as polling uses it. */
export interface PolledMessage extends Omit<ReadMessage, 'direction' | 'status' | 'createdAt'> {
  readonly direction: 'incoming' | 'outgoing';
  /** Null for a status that this version does not know. */
  readonly status: MessageStatus | null;
  /** Epoch milliseconds. `NaN` if the page contains no readable time. */
  readonly createdAt: number;
  /**
   * False if the direction or the time could not be read. The direction is then assumed to be `incoming`, because
   * a contact's message must not be lost, and the time is that of a neighbour in the list.
   */
  readonly certain: boolean;
}

/** A page of messages, newest first. */
export interface PolledPage extends ReadItems<PolledMessage> {
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

export interface PolledConnections extends ReadItems<ReadConnectionListItem> {
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it had none. */
  readonly date: number | null;
}

/** Reads a page of `GET /messages`. Throws a `ZodError` if the value is not a page. */
export function readPolledPage(body: unknown): PolledPage {
  const page = readMessagePage(body);
  let neighbour = page.items.find(({ createdAt }) => createdAt !== null)?.createdAt ?? Number.NaN;
  const items = page.items.map((item) => {
    neighbour = item.createdAt ?? neighbour;
    return {
      ...item,
      direction: item.direction ?? 'incoming',
      status: messageStatus.safeParse(item.status?.trim().toLowerCase()).data ?? null,
      createdAt: neighbour,
      certain: item.direction !== null && item.createdAt !== null,
    };
  });
  return { ...page, items };
}
