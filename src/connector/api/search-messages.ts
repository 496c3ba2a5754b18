import type { ConnectorMessage, ListConnectorMessagesQuery } from '../../contract/connector/messages.ts';
import { ApiError } from './api-error.ts';
import type { Operations } from './operations.ts';

/** How many of the newest messages are read where no index finds a text. */
export const SEARCHED = 5_000;
const PAGE = 1_000;

/** A page of a search, newest first. */
interface FoundPage {
  /** The messages of the page that contain the text. */
  readonly messages: readonly ConnectorMessage[];
  /** When the oldest message that was read was created, epoch ms; everything newer has been searched. */
  readonly readUntil: number;
  /** Nothing is left to search. */
  readonly complete: boolean;
}

/**
 * Searches messages for a part of their text, or yields all if there is no text. The optional index finds a text among
 * all messages. Without it, only the newest 5,000 are read, and the last page then says that it is not complete.
 * Throws what the operation throws.
 */
export async function* searchMessages(
  { listMessages }: Required<Pick<Operations, 'listMessages'>>,
  query: Omit<ListConnectorMessagesQuery, 'limit' | 'cursor'>,
): AsyncGenerator<FoundPage> {
  const { text, ...others } = query;
  const wanted = text?.toLowerCase() ?? '';
  const list = (filter: typeof query, cursor: string | undefined) =>
    listMessages({ id: '', body: undefined, query: { ...filter, limit: PAGE, cursor } });
  let filter = query;
  let cursor: string | undefined;
  for (let read = 0; read < SEARCHED; read += PAGE) {
    const { messages, nextCursor } = await list(filter, cursor).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'search_off') throw error;
      filter = others;
      return list(filter, cursor);
    });
    yield {
      messages:
        filter === query
          ? messages
          : messages.filter((message) => message.text?.toLowerCase().includes(wanted) === true),
      readUntil: Date.parse(messages.at(-1)?.createdAt ?? ''),
      complete: nextCursor === null,
    };
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
