import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveList, type Page } from '../src/data/live-list.ts';
import type { StreamEvent } from '../src/data/stream-event.ts';

interface Row {
  readonly id: number;
  readonly text?: string;
}

describe('a live list', () => {
  let list: LiveList<Row>;
  let next = 0;
  /** The newest page of the server. */
  let head: readonly Row[] = [];
  let nextCursor: string | undefined;
  /** The page after it, which repeats a row: others have come since. */
  const older: Page<Row> = { entries: [{ id: 2 }, { id: 1 }, { id: 0 }] };
  beforeEach(() => {
    vi.useFakeTimers();
    next = 0;
    head = [];
    nextCursor = undefined;
    list = new LiveList<Row>({
      key: 'rows',
      name: 'messages',
      isWhole: true,
      read: async (cursor) => (cursor === undefined ? { entries: head, nextCursor } : older),
      idOf: ({ id }) => String(id),
      rowOf: (event) => event as unknown as Row,
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** This many rows arrive, each with an event. */
  function addRows(count: number): void {
    for (const end = next + count; next < end; next += 1)
      list.hear({ type: 'row', id: next } as unknown as StreamEvent);
    vi.advanceTimersByTime(100);
  }
  const shown = () => {
    const { rows, waiting, isCut } = list.snapshot();
    return { newest: rows[0]?.id, oldest: rows.at(-1)?.id, rows: rows.length, waiting, isCut };
  };

  it('keeps the newest 5,000 rows, and reads none after them', async () => {
    await showTwo();
    expect(list.snapshot().hasMore).toBe(true);
    addRows(6_000);
    expect(list.snapshot().hasMore).toBe(false);
    expect(shown()).toEqual({ newest: 5_999, oldest: 1_000, rows: 5_000, waiting: 0, isCut: true });
  });

  it('keeps no more while paused: each waiting row evicts the oldest one', () => {
    addRows(5_000);
    list.pause();
    addRows(37);
    expect(shown()).toEqual({ newest: 4_999, oldest: 37, rows: 4_963, waiting: 37, isCut: true });
    list.resume();
    expect(shown()).toEqual({ newest: 5_036, oldest: 37, rows: 5_000, waiting: 0, isCut: true });
  });

  it('keeps no more while paused and the newest page is read again', async () => {
    addRows(5_000);
    list.pause();
    head = [{ id: 5_001 }, { id: 5_000 }, { id: 4_999 }];
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    expect(shown()).toEqual({ newest: 4_999, oldest: 2, rows: 4_998, waiting: 2, isCut: true });
  });

  it('begins anew after more rows arrived than could wait', async () => {
    addRows(5_000);
    list.pause();
    addRows(4_000);
    expect(shown()).toMatchObject({ newest: 4_999, rows: 2_500, waiting: 2_500 });
    head = [{ id: 8_999 }, { id: 8_998 }];
    nextCursor = '8998';
    list.resume();
    await vi.advanceTimersByTimeAsync(100);
    expect(shown()).toMatchObject({ newest: 8_999, oldest: 8_998, rows: 2, waiting: 0 });
    expect(list.snapshot().hasMore).toBe(true);
  });

  it('reads the older page even if it is requested at each change', async () => {
    head = [{ id: 3 }, { id: 2 }];
    nextCursor = '2';
    list.subscribe(() => void list.readMore());
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    expect(shown()).toMatchObject({ newest: 3, oldest: 0, rows: 4 });
  });

  async function showTwo(): Promise<void> {
    head = [{ id: 3 }, { id: 2 }];
    nextCursor = '2';
    list.refresh();
    // Until it has rested.
    await vi.advanceTimersByTimeAsync(200);
  }

  it('takes over what changed of its rows while it is paused; new ones wait', async () => {
    await showTwo();
    list.pause();
    head = [{ id: 4 }, { id: 3, text: 'read' }, { id: 2 }];
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    expect(list.snapshot()).toMatchObject({ rows: [{ id: 3, text: 'read' }, { id: 2 }], waiting: 1 });
  });

  it('keeps the rows that wait if the newest page no longer reaches to all of them', async () => {
    await showTwo();
    list.pause();
    next = 4;
    addRows(3);
    head = [{ id: 7 }, { id: 6 }];
    nextCursor = '6';
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    list.resume();
    expect(list.snapshot().rows.map(({ id }) => id)).toEqual([7, 6, 5, 4, 3, 2]);
  });

  it('has no gap if the newest page reaches to none of its rows when it is resumed', async () => {
    await showTwo();
    list.pause();
    head = [{ id: 9 }, { id: 8 }];
    nextCursor = '8';
    list.refresh();
    await vi.advanceTimersByTimeAsync(300);
    expect(shown()).toMatchObject({ newest: 3, oldest: 2, waiting: 2 });
    list.resume();
    await vi.advanceTimersByTimeAsync(100);
    expect(shown()).toMatchObject({ newest: 9, oldest: 8, rows: 2, waiting: 0 });
    list.pause();
    list.resume();
    expect(shown()).toMatchObject({ rows: 2 });
  });

  it('reads the newest page again if it changes while an older one is read', async () => {
    await showTwo();
    const { promise, resolve } = Promise.withResolvers<Page<Row>>();
    vi.spyOn(list.source, 'read').mockReturnValueOnce(promise);
    void list.readMore();
    head = [{ id: 4 }, ...head];
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    resolve(older);
    await vi.advanceTimersByTimeAsync(200);
    expect(shown()).toMatchObject({ newest: 4, oldest: 0, rows: 5 });
  });

  it('reads older pages also after there were none', async () => {
    await list.readMore();
    await showTwo();
    await list.readMore();
    expect(shown()).toMatchObject({ newest: 3, oldest: 0 });
  });

  it('reads an older page again that could not be read', async () => {
    await showTwo();
    vi.spyOn(list.source, 'read').mockRejectedValueOnce(new Error('It failed.'));
    await list.readMore();
    expect(list.snapshot().error).toEqual(new Error('It failed.'));
    await list.readMore();
    expect(shown()).toMatchObject({ newest: 3, oldest: 0 });
  });

  it('reads an older page that is requested while the newest is read, once', async () => {
    await showTwo();
    const { promise, resolve } = Promise.withResolvers<Page<Row>>();
    const read = vi.spyOn(list.source, 'read').mockReturnValueOnce(promise);
    list.refresh();
    await vi.advanceTimersByTimeAsync(100);
    void list.readMore();
    void list.readMore();
    resolve({ entries: head, nextCursor });
    await vi.advanceTimersByTimeAsync(100);
    expect(read.mock.calls).toEqual([[undefined], ['2']]);
    expect(shown()).toMatchObject({ newest: 3, oldest: 0, rows: 4 });
  });
});
