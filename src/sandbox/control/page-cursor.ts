import { SandboxError } from './sandbox-error.ts';

/** An opaque cursor over a whole number. */
export function writeCursor(position: number): string {
  return Buffer.from(String(position)).toString('base64url');
}

/** Reads a cursor. Throws `invalid_request` for anything but a cursor that `writeCursor` wrote. */
export function readCursor(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  const position = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(position) || writeCursor(position) !== cursor) {
    throw new SandboxError('invalid_request', "'cursor': is not a cursor of this list.", 'cursor');
  }
  return position;
}

/** A page of a list that was read with one entry more than `limit`; with a cursor if there is a next page. */
export function pageOf<Item, Entry>(
  items: readonly Item[],
  limit: number,
  present: (item: Item) => Entry,
  position: (item: Item) => number,
): { entries: Entry[]; nextCursor?: string } {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  const more = items.length > limit && last !== undefined;
  return { entries: page.map(present), ...(more ? { nextCursor: writeCursor(position(last)) } : {}) };
}

/** The same for a list without positions: its cursors count the entries before them, of which `skip` were skipped. */
export function pageAfter<Item, Entry>(
  skip: number,
  items: readonly Item[],
  limit: number,
  present: (item: Item) => Entry,
): { entries: Entry[]; nextCursor?: string } {
  const numbered = items.map((item, index) => ({ item, position: skip + index + 1 }));
  return pageOf(
    numbered,
    limit,
    ({ item }) => present(item),
    ({ position }) => position,
  );
}
