import { SandboxError } from './sandbox-error.ts';

/** An opaque cursor over a whole number. */
export function writeCursor(position: number): string {
  return Buffer.from(String(position)).toString('base64url');
}

/** Reads a cursor back. Throws `invalid_request` for what no list ever gave out. */
export function readCursor(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  const position = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(position) || writeCursor(position) !== cursor) {
    throw new SandboxError('invalid_request', "'cursor': is not a cursor of this list.", 'cursor');
  }
  return position;
}

/** A page of a list that was read one entry past its end, and the cursor behind it when there is more. */
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
