import { describe, expect, it } from 'vitest';
import { isHistoric, type ParkedRow } from '../../../src/connector/consumers/key.ts';
import { type Item, type Key, Partition, type Progress } from '../../../src/connector/consumers/partition.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import { seededRandom } from '../../../src/platform/seeded-random.ts';

const change = (seq: number, connectionId: string, historic = false): Change => ({
  ...{ seq, at: '2026-01-15T12:00:00.000Z', accountId: 'default', connectionId },
  ...{ type: 'message.status', messageId: `m${seq}`, data: { status: 'read', previous: null, historic } },
});

/** What a death leaves: the rows of one partition. */
class Store {
  place = 0;
  open = false;
  readonly rows = new Map<string, ParkedRow>();
  readonly entries = new Map<string, Map<number, number>>();
  readonly letters = new Set<number>();

  /** As the statement does. */
  write({ place, entries, doneEntries, endedRows, rows, letters }: Progress) {
    this.place = place;
    for (const { key, seq, attempts } of entries) if (!this.of(key).has(seq)) this.of(key).set(seq, attempts);
    for (const { key, seq } of doneEntries) this.of(key).delete(seq);
    const touched = ({ key, revision }: ParkedRow): boolean =>
      (this.rows.get(key)?.revision ?? revision) !== revision;
    const ended = endedRows.filter((row) => !touched(row));
    for (const { key } of ended) this.rows.delete(key);
    const revisions = new Map(rows.map(({ key }) => [key, (this.rows.get(key)?.revision ?? 0) + 1]));
    for (const row of rows) this.rows.set(row.key, { ...row, revision: revisions.get(row.key) ?? 0 });
    for (const { seq } of letters) this.letters.add(seq);
    return { revisions, ended: new Set(ended.map(({ key }) => key)) };
  }

  /** A dead letter is called again: an entry that its owner does not know of. */
  replay(seq: number, connectionId: string): void {
    this.letters.delete(seq);
    this.of(connectionId).set(seq, 0);
    const row = this.rows.get(connectionId);
    const fresh = { key: connectionId, connectionId, seq, attempts: 0, lastError: null, since: 0 };
    this.rows.set(connectionId, {
      ...(row ?? { ...fresh, partition: 0 }),
      ...{ dueAt: 0, revision: (row?.revision ?? 0) + 1 },
    });
  }

  of(key: string): Map<number, number> {
    const found = this.entries.get(key) ?? new Map<number, number>();
    this.entries.set(key, found);
    return found;
  }
}

/** An owner of the partition: time and randomness are the test's. */
class Owner {
  readonly ready: Key[] = [];
  readonly missing = new Set<Key>();
  readonly calls = new Map<Key, readonly Item[]>();
  readonly partition: Partition;
  readonly store: Store;
  /** The statement that was sent and has not been answered. */
  sent: Progress | null = null;
  readonly all: readonly Change[];
  now = 0;

  constructor(store: Store, limit: number, all: readonly Change[] = []) {
    this.store = store;
    this.all = all;
    const { place, open: died } = store;
    const letters = new Set([...store.letters].filter((seq) => seq > place));
    const onReady = (key: Key) => void this.ready.push(key);
    const isDue = ({ dueAt }: ParkedRow) => dueAt <= this.now;
    this.partition = new Partition({ number: 0, place, limit, quiet: true, died, letters, onReady, isDue });
    this.partition.know([...store.rows.values()]);
    store.open = true;
  }

  offer(all: readonly Change[], upTo: number): void {
    for (const each of all)
      if (each.seq > this.partition.readTo && each.seq <= upTo) this.partition.offer(each.seq, each);
  }

  /** Begins a call; undefined if none can begin. */
  begin(batch = 1): Item | undefined {
    for (let key = this.ready.shift(); key !== undefined; key = this.ready.shift()) {
      const next = this.partition.next(key);
      const [first] = key.items;
      if (next === 'entries') this.missing.add(key);
      else if (next === 'attempt' && first !== undefined) this.park(first, 1, true);
      else if (next === 'call') {
        if (this.calls.has(key)) throw new Error('two calls of a connection at a time');
        this.calls.set(key, this.partition.begin(key, batch, this.now));
        return first;
      }
    }
    return undefined;
  }

  park(item: Item, waits: number, due: boolean): void {
    const row = { attempts: item.attempts + 1, dueAt: this.now + waits, lastError: 'x' };
    if (!due) item.attempts += 1;
    this.partition.park(item, row, { now: this.now, due });
  }

  end(key: Key, end: 'taken' | 'failed' | 'set aside'): void {
    this.calls.delete(key);
    const [item] = key.items;
    this.partition.end(key, end === 'taken');
    if (item === undefined || end === 'taken') return;
    if (end === 'failed') this.park(item, 2, false);
    else this.partition.setAside(item, 'x');
  }

  load(): void {
    this.receiveAnswer();
    for (const key of this.missing) {
      const found = [...this.store.of(key.name)]
        .filter(([seq]) => seq > key.readTo)
        .sort(([a], [b]) => a - b);
      const page = found
        .slice(0, 3)
        .map(([seq, attempts]) => ({ change: this.all[seq - 1] ?? change(seq, key.connectionId), attempts }));
      this.partition.load(key, page, page.length < 3);
    }
    this.missing.clear();
  }

  know(): void {
    this.receiveAnswer();
    this.partition.know([...this.store.rows.values()]);
  }

  /** Sends what there is to write; its answer is still to come. */
  send(options: { full?: boolean; final?: boolean } = {}): void {
    this.sent = this.partition.plan({ now: this.now, elapsed: this.now * 1_000, ...options });
  }

  receiveAnswer(): void {
    if (this.sent === null) return;
    const { revisions, ended } = this.store.write(this.sent);
    this.partition.written(this.sent, revisions, ended);
    this.sent = null;
  }

  write(): void {
    this.receiveAnswer();
    this.send();
    this.receiveAnswer();
  }
}

/** A random story of a partition, with deaths, lost answers and replays; throws if a promise is broken in it. */
function search(seed: number): void {
  const random = seededRandom(seed);
  const limit = 1 + Math.floor(random() * 12);
  const connections = 1 + Math.floor(random() * 5);
  const all = Array.from({ length: 120 }, (_, n) =>
    change(n + 1, `c${Math.floor(random() * connections)}`, random() < 0.3),
  );
  /** Changes of a lane are called in order: those of a connection, without its history or of its history. */
  const laneOf = (each: Change | undefined): string =>
    each === undefined ? '' : `${each.connectionId} ${isHistoric(each)}`;
  const store = new Store();
  let owner = new Owner(store, limit, all);
  const done = new Map<string, number[]>();
  let repeated = 0;
  let mayRepeat = 0;

  const end = (key: Key, how: 'taken' | 'failed' | 'set aside'): void => {
    const items = owner.calls.get(key) ?? [];
    for (const { seq } of how === 'failed' ? [] : items.slice(0, how === 'taken' ? items.length : 1)) {
      const lane = laneOf(all[seq - 1]);
      const of = done.get(lane) ?? [];
      done.set(lane, of);
      const next = all.find((each) => laneOf(each) === lane && !of.includes(each.seq))?.seq;
      // Either the next one of the lane, or one that was already done.
      if (!of.includes(seq)) expect(seq).toBe(next);
      else repeated += 1;
      of.push(seq);
    }
    owner.end(key, how);
  };
  const replay = (): void => {
    const [seq] = [...store.letters].filter(() => random() < 0.5);
    if (seq === undefined) return;
    store.replay(seq, all[seq - 1]?.connectionId ?? '');
    mayRepeat += 1;
  };

  for (let step = 0; step < 1_500; step += 1) {
    const chance = random();
    if (chance < 0.25) owner.offer(all, owner.partition.readTo + 1 + Math.floor(random() * 10));
    else if (chance < 0.55) owner.begin(1 + Math.floor(random() * 3));
    else if (chance < 0.8) {
      const keys = [...owner.calls.keys()];
      const key = keys[Math.floor(random() * keys.length)];
      const how = random();
      if (key !== undefined) end(key, how < 0.8 ? 'taken' : how < 0.95 ? 'failed' : 'set aside');
    } else if (chance < 0.85) {
      owner.receiveAnswer();
      owner.send({ full: random() < 0.1 });
    } else if (chance < 0.9) owner.receiveAnswer();
    else if (chance < 0.94) {
      owner.now += 1;
      owner.partition.wake();
    } else if (chance < 0.97) owner.load();
    else if (chance < 0.98) owner.know();
    else if (chance < 0.985) replay();
    else {
      const { now, sent } = owner;
      if (sent !== null && random() < 0.5) store.write(sent);
      mayRepeat += owner.partition.unwritten;
      expect(owner.partition.unwritten).toBeLessThan(limit + 6 * connections);
      owner = new Owner(store, limit, all);
      owner.now = now;
    }
  }
  // Whatever happened: without further deaths, everything comes to its end.
  const isOver = () => store.place >= 120 && store.rows.size === 0 && owner.partition.unwritten === 0;
  for (let round = 0; round < 2_000 && !isOver(); round += 1) {
    owner.offer(all, 120);
    while (owner.begin() !== undefined);
    for (const key of [...owner.calls.keys()]) end(key, 'taken');
    owner.load();
    owner.write();
    owner.know();
    owner.now += 1;
    owner.partition.wake();
  }
  expect([...done.values()].flatMap((of) => [...new Set(of)]).toSorted((a, b) => a - b)).toEqual(
    all.map(({ seq }) => seq),
  );
  expect(repeated).toBeLessThanOrEqual(mayRepeat);
  // Then nothing is parked, and the place is at the end.
  expect(store.place).toBe(120);
  expect(store.rows.size).toBe(0);
  expect([...store.entries.values()].flatMap((of) => [...of.keys()])).toEqual([]);
}

const SEEDS = Number(process.env['SEEDS'] ?? 300);

describe('a partition', () => {
  it.each(Array.from({ length: SEEDS / 100 }, (_, hundred) => hundred))(
    'passes on each change, in order for each connection, and repeats little after deaths: 100 seeds from %i00',
    (hundred) => {
      for (let seed = 100 * hundred; seed < 100 * (hundred + 1); seed += 1)
        expect(() => search(seed), `seed ${seed}`).not.toThrow();
    },
  );

  it('writes a failure of a call that was in progress when its connection was parked', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'slow'), change(2, 'quick')], 2);
    const [slow, quick] = [owner.begin(), owner.begin()];
    if (slow === undefined || quick === undefined) throw new Error('both can be called');
    owner.end(quick.key, 'taken');
    // The slow one holds back the place, so it is parked; its call fails before that is written.
    owner.send();
    owner.end(slow.key, 'failed');
    owner.write();
    expect(store.rows.get('slow')).toMatchObject({ seq: 1, attempts: 1, dueAt: 2, lastError: 'x' });
  });

  it('moves an entry with the change that leaves its connection', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'slow'), change(2, 'quick'), change(3, 'slow')], 3);
    const [slow, quick] = [owner.begin(), owner.begin()];
    if (slow === undefined || quick === undefined) throw new Error('both can be called');
    owner.end(quick.key, 'taken');
    owner.write();
    expect([...store.of('slow').keys()]).toEqual([1, 3]);
    owner.calls.delete(slow.key);
    owner.partition.end(slow.key, false);
    owner.partition.separate(slow);
    owner.park(slow, 2, false);
    owner.write();
    expect([...store.of('slow').keys()]).toEqual([3]);
    expect([...store.of('slow/1').keys()]).toEqual([1]);
    // The next owner finds both.
    store.open = false;
    const next = new Owner(store, 2);
    next.now = 2;
    next.partition.wake();
    next.begin();
    next.load();
    expect([next.begin()?.seq, next.begin()?.seq].toSorted()).toEqual([1, 3]);
  });

  it('writes a failure of a call that was in progress when the row of its connection was deleted', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'c')], 1);
    const call = (taken: boolean): void => {
      const item = owner.begin();
      if (item === undefined) throw new Error('a change can be called');
      owner.end(item.key, taken ? 'taken' : 'failed');
    };
    call(false);
    owner.write();
    owner.now = 3;
    owner.partition.wake();
    call(true);
    // The change of the other connection holds back the place, so the next one of c is no entry.
    owner.offer([change(2, 'other'), change(3, 'c')], 3);
    owner.ready.reverse();
    const next = owner.begin();
    expect(next?.seq).toBe(3);
    owner.send();
    expect(owner.sent?.endedRows).toMatchObject([{ key: 'c' }]);
    if (next !== undefined) owner.end(next.key, 'failed');
    owner.write();
    expect(store.rows.get('c')).toMatchObject({ seq: 3, attempts: 1, lastError: 'x' });
    expect(owner.partition.urgent).toBe(false);
  });

  it('ends a row that another process has written only once it knows what that is', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'c'), change(2, 'c')], 2);
    const item = owner.begin();
    if (item === undefined) throw new Error('a change can be called');
    owner.end(item.key, 'set aside');
    const next = owner.begin();
    if (next === undefined) throw new Error('the next change can be called');
    owner.end(next.key, 'failed');
    owner.write();
    owner.now = 3;
    owner.partition.wake();
    const again = owner.begin();
    if (again === undefined) throw new Error('the change can be called again');
    owner.end(again.key, 'taken');
    store.replay(1, 'c');
    owner.send();
    expect(owner.sent?.endedRows).toMatchObject([{ key: 'c' }]);
    owner.receiveAnswer();
    owner.send({ full: true });
    expect(owner.sent).toBeNull();
    owner.know();
    expect(owner.begin()).toBeUndefined();
    owner.load();
    expect(owner.begin()?.seq).toBe(1);
  });
});
