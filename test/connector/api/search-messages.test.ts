import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/connector/api/api-error.ts';
import type { Operations } from '../../../src/connector/api/operations.ts';
import { searchMessages } from '../../../src/connector/api/search-messages.ts';

type List = Required<Operations>['listMessages'];

const ASKED = { connectionId: 'desk', text: 'Invoice' };
/** A list of so many messages; every thousandth is about an invoice. */
const listOf = (count: number, indexed: boolean) =>
  vi.fn(async ({ query }: Parameters<List>[0]) => {
    if (query.text !== undefined && !indexed) throw new ApiError('search_off', 'Create the index.');
    const from = Number(query.cursor ?? 0);
    const all = Array.from({ length: count }, (_, at) => ({
      id: `m${at}`,
      text: at % 1_000 === 999 ? 'The INVOICE of May' : null,
      createdAt: new Date(1_800_000_000_000 - at).toISOString(),
    })).filter(({ text }) => query.text === undefined || text !== null);
    const next = from + query.limit;
    return {
      messages: all.slice(from, next),
      nextCursor: next < all.length ? String(next) : null,
      hasMore: next < all.length,
    };
  });

async function search(list: ReturnType<typeof listOf>, query: Parameters<typeof searchMessages>[1] = ASKED) {
  const pages = [];
  for await (const page of searchMessages({ listMessages: list as unknown as List }, query)) pages.push(page);
  return { ids: pages.flatMap(({ messages }) => messages.map(({ id }) => id)), pages };
}

describe('a search for a text', () => {
  it('asks the index for it, which knows all messages', async () => {
    const list = listOf(7_000, true);
    const { ids, pages } = await search(list);
    expect(ids).toEqual(['m999', 'm1999', 'm2999', 'm3999', 'm4999', 'm5999', 'm6999']);
    expect(pages.at(-1)?.complete).toBe(true);
    expect(list.mock.calls.map(([{ query }]) => query)).toEqual([
      { ...ASKED, limit: 1_000, cursor: undefined },
    ]);
  });

  it('reads the newest 5,000 messages without an index, and is incomplete if there are more', async () => {
    const list = listOf(7_000, false);
    const { ids, pages } = await search(list);
    expect(ids).toEqual(['m999', 'm1999', 'm2999', 'm3999', 'm4999']);
    expect(pages.map(({ complete }) => complete)).toEqual([false, false, false, false, false]);
    expect(pages[1]?.readUntil).toBe(1_800_000_000_000 - 1_999);
    // One refused call, then five pages.
    expect(list).toHaveBeenCalledTimes(6);
    expect((await search(listOf(4_500, false))).pages.at(-1)?.complete).toBe(true);
  });

  it('of no text yields every message', async () => {
    const { ids } = await search(listOf(1_500, false), { connectionId: 'desk' });
    expect(ids).toHaveLength(1_500);
  });

  it('fails as the list does', async () => {
    const list = vi.fn().mockRejectedValue(new ApiError('search_too_broad', 'Narrow it.'));
    await expect(search(list)).rejects.toMatchObject({ code: 'search_too_broad' });
    expect(list).toHaveBeenCalledOnce();
  });
});
