import type { ListMessagesAnswer, ListMessagesQuery, Message } from '../../contract/service/messages.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readVisible } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { concerned } from '../kernel/decision-trace.ts';
import type { MediaAddress } from '../media/media-address.ts';
import { oldestServed } from '../media/media-store.ts';
import type { PageCursors } from './page-cursor.ts';
import { type MessageRow, readPage } from './read-page.ts';

const EMPTY: ListMessagesAnswer = { messages: [], nextCursor: null, hasMore: false };

/** The address of a message's file; null once the file is too old to be served. */
function mediaUrl(row: MessageRow, { mediaAddress, now }: ListContext): string | null {
  if (row.mediaId === null || row.createdAt <= oldestServed(now)) return null;
  return mediaAddress(row.mediaId);
}

function toMessage(row: MessageRow, context: ListContext): Message {
  const { id, waMessageId, connectionId, direction, text, mediaType, status, errorMessage } = row;
  return {
    ...{ id, waMessageId, connectionId, direction, text },
    ...{ mediaUrl: mediaUrl(row, context), mediaType, status, errorMessage },
    createdAt: toIso(row.createdAt),
  };
}

/** Dependencies of the list. */
export interface ListContext {
  readonly database: Queryable;
  readonly cursors: PageCursors;
  readonly mediaAddress: MediaAddress;
  /** Virtual epoch ms. */
  readonly now: number;
}

/**
 * A page of messages, newest first, of the connections that are visible to the credential now. Any other connection
 * has an empty page. Throws `invalid_request` for a cursor of another workspace or filter.
 * Implements `Rules per endpoint`, 9.
 */
export async function listMessages(
  context: ListContext,
  credential: Credential,
  query: ListMessagesQuery,
): Promise<ListMessagesAnswer> {
  const { database, cursors, now } = context;
  const { workspaceId } = credential;
  const scope = { workspaceId, connectionId: query.connectionId ?? null };
  const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : cursors.read(scope, query.cursor);
  // [messages.list.scoped] [choice.unlicensed.hidden]
  const visible = await readVisible(database, credential, now);
  const ids = visible
    .map(({ id }) => id)
    // [messages.list.filter]
    .filter((id) => query.connectionId === undefined || id === query.connectionId);
  if (ids.length === 0) return EMPTY; // [messages.list.foreign-empty]
  if (query.connectionId !== undefined) concerned({ connectionId: query.connectionId });

  const range = { workspaceId, connectionIds: ids, below, limit: query.limit + 1 };
  const rows = await readPage(database, range);
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  // [messages.list.answer]
  const hasMore = rows.length > page.length && last !== undefined;
  return {
    messages: page.map((row) => toMessage(row, context)),
    // [messages.list.cursor]
    nextCursor: hasMore ? cursors.write(scope, last.position) : null,
    hasMore,
  };
}
