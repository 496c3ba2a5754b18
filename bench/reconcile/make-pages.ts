import { textOf } from '../ingest/service-events.ts';

/** Messages of a page, the most that the service gives. */
const PAGE = 100;
const NEWEST = Date.UTC(2026, 0, 15, 12);
/** From a message to the next. */
export const BETWEEN_MS = 20_000;
/** The whole list in pages, newest first: the body of each, by the cursor that leads to it. */
export function makePages(messages: number, connections: number): ReadonlyMap<string | null, Buffer> {
  const pages = new Map<string | null, Buffer>();
  for (let from = 0; from < messages; from += PAGE) {
    const count = Math.min(PAGE, messages - from);
    const hasMore = from + count < messages;
    const body = {
      messages: Array.from({ length: count }, (_, index) => makeMessage(from + index, connections)),
      nextCursor: hasMore ? `page-${from + PAGE}` : null,
      hasMore,
    };
    pages.set(from === 0 ? null : `page-${from}`, Buffer.from(JSON.stringify(body)));
  }
  return pages;
}

/** Ids of the connections that `makePages` spreads the messages over. */
export function connectionName(index: number): string {
  return `cmconnection${String(index).padStart(13, '0')}`;
}

/** Half comes in, half goes out; texts of 1 to 40 words, a file now and then, the newest still under way. */
export function makeMessage(index: number, connections: number) {
  const id = `cm${(0xabcdef + index * 7919).toString(16).padStart(23, '0')}`;
  const outgoing = index % 2 === 0;
  const file = index % 12 === 5;
  return {
    id,
    waMessageId: `3EB0${(index * 104_729).toString(16).toUpperCase().padStart(16, '0')}`,
    connectionId: connectionName(index % connections),
    direction: outgoing ? 'outgoing' : 'incoming',
    text: file ? null : textOf(index),
    mediaUrl: file ? `https://media.example.com/files/${id}/1f4c0a9d7e3b5a68` : null,
    mediaType: file ? 'image/jpeg' : null,
    status: outgoing && index < 20 ? 'delivered' : 'read',
    errorMessage: null,
    createdAt: new Date(NEWEST - index * BETWEEN_MS).toISOString(),
  };
}
