import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Coverage,
  type Gap,
  NOTHING_SEEN,
  type Page,
  reachedTop,
  StalledWalk,
  walkCoverage,
  walkGap,
} from '../../src/patterns/reconcile-walk.ts';

interface Item {
  readonly id: string;
  readonly createdAt: number;
}

const OVERLAP = 300_000;

/** A service that is read by cursor, newest message first. */
class List {
  messages: Item[] = [];
  requests: (string | null)[] = [];
  pageSize = 3;
  /** This request, from 1, loses its cursor. */
  losesAt = 0;
  /** Cursors issued before the last `expire()` are rejected. */
  #generation = 0;

  add(...times: number[]): void {
    for (const createdAt of times) this.messages.push({ id: `m${this.messages.length}`, createdAt });
    this.messages.sort((a, b) => b.createdAt - a.createdAt || Number(b.id.slice(1)) - Number(a.id.slice(1)));
  }

  expire(): void {
    this.#generation += 1;
  }

  read(cursor: string | null): { page: Page<Item> } | 'cursor_lost' {
    this.requests.push(cursor);
    if (this.requests.length === this.losesAt) return 'cursor_lost';
    let start = 0;
    if (cursor !== null) {
      const [generation, id] = cursor.split('/');
      const index = this.messages.findIndex((message) => message.id === id);
      if (Number(generation) !== this.#generation || index < 0) return 'cursor_lost';
      start = index + 1;
    }
    const items = this.messages.slice(start, start + this.pageSize);
    const hasMore = start + this.pageSize < this.messages.length;
    const nextCursor = hasMore ? `${this.#generation}/${items.at(-1)?.id}` : null;
    return { page: { items, nextCursor, hasMore } };
  }
}

/** A store that commits items and progress together. */
class Store {
  seen = new Set<string>();
  coverage: Coverage = NOTHING_SEEN;

  commit(items: readonly Item[], coverage: Coverage): Promise<boolean> {
    for (const item of items) this.seen.add(item.id);
    this.coverage = coverage;
    return Promise.resolve(true);
  }
}

const always = { latest: Number.POSITIVE_INFINITY, overlapMs: OVERLAP };
const hasSeen = async (): Promise<boolean> => true;

function poll(list: List, store: Store, maxPages = 100, latest = always.latest) {
  return walkCoverage(
    store.coverage,
    {
      read: (cursor) => Promise.resolve(list.read(cursor)),
      hasSeen: async (items: readonly Item[]) => items.every(({ id }) => store.seen.has(id)),
      commit: (items: readonly Item[], coverage) => store.commit(items, coverage),
    },
    { overlapMs: OVERLAP, latest, maxPages },
  );
}

describe('the vectors', () => {
  interface VectorPage {
    readonly items: readonly { readonly id: string; readonly created_at: number }[];
    readonly next: string | null;
  }
  type VectorAnswer = VectorPage | 'lost' | 'error';
  interface VectorGap {
    readonly floor: number | null;
    readonly cursor: string | null;
    readonly next_top: number | null;
    readonly restarts?: number;
  }
  interface VectorCoverage {
    readonly watermark: number | null;
    readonly gaps: readonly VectorGap[];
  }
  interface Scenario {
    readonly name: string;
    readonly max_pages: number;
    readonly max_idle_pages?: number;
    readonly start: VectorCoverage;
    readonly periods: readonly {
      readonly latest?: number;
      readonly unseen?: readonly string[];
      readonly pages: Readonly<Record<string, VectorAnswer | readonly VectorAnswer[]>>;
      readonly requests: readonly (string | null)[];
      readonly kept: readonly string[];
      readonly ends: string;
      readonly after: VectorCoverage;
    }[];
  }
  const path = new URL('../vectors/reconcile-walk.json', import.meta.url);
  const vectors: { readonly overlap_ms: number; readonly scenarios: readonly Scenario[] } = JSON.parse(
    readFileSync(path, 'utf8'),
  );

  it.each(vectors.scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      let coverage: Coverage = {
        watermark: scenario.start.watermark,
        gaps: scenario.start.gaps.map((gap) => ({
          top: null,
          floor: gap.floor,
          cursor: gap.cursor,
          nextTop: gap.next_top,
          restarts: gap.restarts ?? 0,
        })),
      };
      for (const period of scenario.periods) {
        const requests: (string | null)[] = [];
        const kept: string[] = [];
        const asked = new Map<string, number>();
        const read = (cursor: string | null) => {
          requests.push(cursor);
          const key = cursor ?? 'newest';
          const listed = period.pages[key];
          const answers: readonly VectorAnswer[] = isList(listed)
            ? listed
            : listed === undefined
              ? []
              : [listed];
          const turn = asked.get(key) ?? 0;
          asked.set(key, turn + 1);
          const answer = answers[Math.min(turn, answers.length - 1)];
          if (answer === undefined) throw new Error(`the scenario has no page for ${key}`);
          if (answer === 'error') return Promise.reject(new Error('failed'));
          if (answer === 'lost') return Promise.resolve('cursor_lost' as const);
          const items = answer.items.map((item) => ({ id: item.id, createdAt: item.created_at }));
          return Promise.resolve({ page: { items, nextCursor: answer.next, hasMore: answer.next !== null } });
        };
        const commit = (items: readonly Item[], next: Coverage) => {
          kept.push(...items.map((item) => item.id));
          coverage = next;
          return Promise.resolve(true);
        };
        const unseen = new Set(period.unseen);
        const ends = await walkCoverage(
          coverage,
          {
            read,
            commit,
            hasSeen: async (items: readonly Item[]) => items.every(({ id }) => !unseen.has(id)),
          },
          {
            overlapMs: vectors.overlap_ms,
            latest: period.latest ?? Number.POSITIVE_INFINITY,
            maxPages: scenario.max_pages,
            maxIdlePages: scenario.max_idle_pages,
          },
        ).then(
          (result) => result.outcome,
          (error: unknown) => (error instanceof StalledWalk ? 'stalled' : 'failed'),
        );
        expect({ requests: requests.map((cursor) => cursor ?? 'newest'), kept, ends }).toEqual({
          requests: period.requests.map((cursor) => cursor ?? 'newest'),
          kept: period.kept,
          ends: period.ends,
        });
        expect({
          watermark: coverage.watermark,
          gaps: coverage.gaps.map(({ top: _, nextTop: next_top, ...gap }) => ({ ...gap, next_top })),
        }).toEqual({
          watermark: period.after.watermark,
          gaps: period.after.gaps.map((gap) => ({ restarts: 0, ...gap })),
        });
      }
    },
  );

  function isList(
    answer: VectorAnswer | readonly VectorAnswer[] | undefined,
  ): answer is readonly VectorAnswer[] {
    return Array.isArray(answer);
  }
});

describe('a walk', () => {
  it('stores nothing more once it is superseded', async () => {
    const list = new List();
    list.add(1, 2, 3, 4, 5, 6, 7);
    let commits = 0;
    const result = await walkCoverage(
      NOTHING_SEEN,
      {
        read: (cursor) => Promise.resolve(list.read(cursor)),
        hasSeen,
        commit: () => Promise.resolve(++commits < 2),
      },
      { ...always, maxPages: 100 },
    );
    expect(result.outcome).toBe('superseded');
    expect(commits).toBe(2);
  });

  it('reads everything even if no cursor outlives its period', async () => {
    const list = new List();
    const store = new Store();
    list.add(...Array.from({ length: 200 }, (_, index) => index * 60_000));
    for (let polls = 0; polls < 10; polls += 1) {
      list.expire();
      await poll(list, store, 4);
    }
    expect(store.seen.size).toBe(200);
  });

  it('may start again with the cursors that it has had before', async () => {
    const list = new List();
    const store = new Store();
    list.add(...Array.from({ length: 30 }, (_, index) => index * 60_000));
    list.losesAt = 3;
    expect((await poll(list, store)).outcome).toBe('closed');
    expect(list.requests.slice(2, 5)).toEqual([list.requests[2], null, list.requests[1]]);
    expect(store.seen.size).toBe(30);
  });

  it.each([
    ['has no new cursor', null],
    ['names the same cursor again', 'c1'],
  ])('throws if a page claims more but %s', async (_what, nextCursor) => {
    const items = [{ id: 'm1', createdAt: 1 }];
    const pages = (cursor: string | null) =>
      ({ page: { items, nextCursor: cursor === null ? 'c1' : nextCursor, hasMore: true } }) as const;
    const io = { read: (cursor: string | null) => Promise.resolve(pages(cursor)), commit: async () => true };
    const walk = walkCoverage(NOTHING_SEEN, { ...io, hasSeen }, { ...always, maxPages: 100 });
    await expect(walk).rejects.toBeInstanceOf(StalledWalk);
  });

  it('continues if a time or a stored watermark is not a number', async () => {
    const items = ['m1', 'm2'].map((id) => ({ id, createdAt: id === 'm1' ? Number.NaN : 1_000_000 }));
    const kept: string[] = [];
    const result = await walkCoverage(
      { watermark: Number.NaN, gaps: [] },
      {
        read: () => Promise.resolve({ page: { items, nextCursor: null, hasMore: false } }),
        hasSeen,
        commit: async (found: readonly Item[]) => kept.push(...found.map((item) => item.id)) >= 0,
      },
      { ...always, latest: 2_000_000, maxPages: 10 },
    );
    expect(kept).toEqual(['m1', 'm2']);
    expect(result).toMatchObject({ outcome: 'closed', progress: { watermark: 1_000_000, gaps: [] } });
  });

  it('does not treat an empty page as entirely below the floor', async () => {
    const items = [{ id: 'm1', createdAt: 1_000_000 }];
    const pages: Record<string, Page<Item>> = {
      newest: { items: [], nextCursor: 'c1', hasMore: true },
      c1: { items, nextCursor: null, hasMore: false },
    };
    const kept: string[] = [];
    const result = await walkCoverage(
      { watermark: 1_000_000, gaps: [] },
      {
        read: (cursor) => Promise.resolve({ page: pages[cursor ?? 'newest'] ?? expect.fail('no page') }),
        hasSeen,
        commit: async (found: readonly Item[]) => kept.push(...found.map((item) => item.id)) >= 0,
      },
      { ...always, maxPages: 10 },
    );
    expect(result.outcome).toBe('closed');
    expect(kept).toEqual(['m1']);
  });
});

describe('a stretch', () => {
  const stretch: Gap = { top: null, floor: 60_000, cursor: null, nextTop: null, restarts: 0 };

  function walk(list: List, gap: Gap, maxPages: number, seen = new Set<string>()) {
    return walkGap(
      gap,
      {
        read: (cursor) => Promise.resolve(list.read(cursor)),
        commit: async (items: readonly Item[]) => {
          for (const item of items) seen.add(item.id);
          return true;
        },
      },
      { maxPages },
    );
  }

  it('is read down to its floor, and no further', async () => {
    const list = new List();
    list.add(...Array.from({ length: 30 }, (_, index) => index * 10_000));
    const seen = new Set<string>();
    expect(await walk(list, stretch, 100, seen)).toMatchObject({ outcome: 'closed', progress: null });
    expect(list.messages.filter((message) => message.createdAt >= 60_000 && !seen.has(message.id))).toEqual(
      [],
    );
    expect(seen.size).toBeLessThan(30);
  });

  it('continues where it stopped', async () => {
    const list = new List();
    list.add(...Array.from({ length: 30 }, (_, index) => index * 10_000));
    const first = await walk(list, stretch, 2);
    expect(first.outcome).toBe('open');
    const [cursor] = list.requests.splice(0).slice(-1);
    await walk(list, first.progress ?? stretch, 1);
    expect(list.requests).toEqual([first.progress?.cursor]);
    expect(list.requests[0]).not.toBe(cursor);
  });

  it('starts again if its cursor is lost', async () => {
    const list = new List();
    list.add(...Array.from({ length: 30 }, (_, index) => index * 10_000));
    const first = await walk(list, stretch, 2);
    list.expire();
    list.requests = [];
    const second = await walk(list, first.progress ?? stretch, 1);
    expect(list.requests.slice(0, 2)).toEqual([first.progress?.cursor, null]);
    expect(second.progress).toMatchObject({ floor: 60_000, restarts: 1 });
  });

  it('may start again with the cursors that it has had before', async () => {
    const list = new List();
    list.add(...Array.from({ length: 30 }, (_, index) => index * 10_000));
    list.losesAt = 3;
    expect(await walk(list, stretch, 100)).toMatchObject({ outcome: 'closed', pages: 12 });
  });
});

describe('for any history', () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('add' as const), count: fc.integer({ min: 1, max: 9 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('poll' as const), pages: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
    // The process dies at its n-th request: nothing after the last commit is kept.
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('crash' as const), at: fc.integer({ min: 1, max: 4 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('pause' as const), ms: fc.integer({ min: 0, max: 900_000 }) }),
    },
  );

  it('misses nothing below the watermark, never lowers it, and finally closes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const list = new List();
        const store = new Store();
        let now = 10_000_000;
        let highest = Number.NEGATIVE_INFINITY;
        for (const action of steps) {
          if (action.kind === 'add') list.add(...Array.from({ length: action.count }, () => now));
          if (action.kind === 'pause') now += action.ms;
          if (action.kind === 'expire') list.expire();
          if (action.kind === 'poll') await poll(list, store, action.pages);
          if (action.kind === 'crash') await crash(list, store, action.at);
          const { watermark } = store.coverage;
          const missed = list.messages.filter(
            (message) => message.createdAt < (watermark ?? 0) && !store.seen.has(message.id),
          );
          expect(missed).toEqual([]);
          expect(watermark ?? highest).toBeGreaterThanOrEqual(highest);
          highest = watermark ?? highest;
          expect(store.coverage.gaps.length).toBeLessThanOrEqual(2);
        }
        for (let polls = 0; polls < 50 && (await poll(list, store)).outcome !== 'closed'; polls += 1);
        expect(store.coverage.gaps).toEqual([]);
        expect(store.seen.size).toBe(list.messages.length);
        expect(reachedTop(store.coverage)).toBe(list.messages[0]?.createdAt ?? null);
      }),
      { numRuns: 300 },
    );
  });

  async function crash(list: List, store: Store, at: number): Promise<void> {
    let requests = 0;
    const walk = walkCoverage(
      store.coverage,
      {
        read: (cursor) =>
          ++requests === at ? Promise.reject(new Error('killed')) : Promise.resolve(list.read(cursor)),
        hasSeen: async (items: readonly Item[]) => items.every(({ id }) => store.seen.has(id)),
        commit: (items: readonly Item[], coverage) => store.commit(items, coverage),
      },
      { ...always, maxPages: 100 },
    );
    await walk.catch(() => undefined);
  }
});
