/** Messages of a page, the most that the service gives. */
const PAGE = 100;
const NEWEST = Date.UTC(2026, 0, 15, 12);
/** From a message to the next. */
export const BETWEEN_MS = 20_000;
const WORDS =
  'good morning is the parcel on its way or shall I call the shop again before noon we are open until six'.split(
    ' ',
  );

/** The whole list in pages, newest first: the body of each, by the number that its cursor carries. */
export function makePages(messages: number, connections: number): readonly Buffer[] {
  const pages: Buffer[] = [];
  for (let from = 0; from < messages; from += PAGE) {
    const count = Math.min(PAGE, messages - from);
    const hasMore = from + count < messages;
    const body = {
      messages: Array.from({ length: count }, (_, index) => makeMessage(from + index, connections)),
      nextCursor: hasMore ? encodePage(pages.length + 1) : null,
      hasMore,
    };
    pages.push(Buffer.from(JSON.stringify(body)));
  }
  return pages;
}

/** Ids of the connections that `makePages` spreads the messages over. */
export function connectionName(index: number): string {
  return `cmconnection${String(index).padStart(13, '0')}`;
}

/** A cursor as opaque as one of the service. */
function encodePage(number: number): string {
  return Buffer.from(`page ${number} of the bench, signed 0123456789abcdef0123456789abcdef`).toString(
    'base64url',
  );
}

/** The number of the page that a cursor asks for. */
export function decodePage(cursor: string | null): number {
  if (cursor === null) return 0;
  return Number(/^page (\d+) /.exec(Buffer.from(cursor, 'base64url').toString('utf8'))?.[1]);
}

/** Half comes in, half goes out; texts of 20 to 250 characters, a file now and then, the newest still under way. */
export function makeMessage(index: number, connections: number) {
  const id = `cm${(0xabcdef + index * 7919).toString(16).padStart(23, '0')}`;
  const outgoing = index % 2 === 0;
  const file = index % 12 === 5;
  return {
    id,
    waMessageId: `3EB0${(index * 104_729).toString(16).toUpperCase().padStart(16, '0')}`,
    connectionId: connectionName(index % connections),
    direction: outgoing ? 'outgoing' : 'incoming',
    text: file ? null : makeText(index),
    mediaUrl: file ? `https://media.example.com/files/${id}/1f4c0a9d7e3b5a68` : null,
    mediaType: file ? 'image/jpeg' : null,
    status: outgoing && index < 20 ? 'delivered' : 'read',
    errorMessage: null,
    createdAt: new Date(NEWEST - index * BETWEEN_MS).toISOString(),
  };
}

function makeText(index: number): string {
  const count = 4 + ((index * 31) % 45);
  return Array.from({ length: count }, (_, word) => WORDS[(index + word * 7) % WORDS.length]).join(' ');
}
