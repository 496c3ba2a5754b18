import { describe, expect, it } from 'vitest';
import {
  type Item,
  type Key,
  type ParkedRow,
  Partition,
  type Progress,
} from '../../../src/connector/consumers/partition.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';

const change = (seq: number, connectionId: string): Change => ({
  ...{ seq, at: '2026-01-15T12:00:00.000Z', accountId: 'default', connectionId },
  ...{ type: 'message.status', messageId: `m${seq}`, data: { status: 'read', previous: null } },
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
    for (const { key, seq, attempts } of entries) this.of(key).set(seq, attempts);
    for (const { key, seq } of doneEntries) this.of(key).delete(seq);
    const ended = endedRows.filter(({ key, revision }) => this.rows.get(key)?.revision === revision);
    for (const { key } of ended) this.rows.delete(key);
    const written = rows.filter(({ key, revision }) => (this.rows.get(key)?.revision ?? 0) === revision);
    for (const row of written) this.rows.set(row.key, { ...row, revision: row.revision + 1 });
    for (const { seq } of letters) this.letters.add(seq);
    return {
      revisions: new Map(written.map(({ key, revision }) => [key, revision + 1])),
      ended: new Set(ended.map(({ key }) => key)),
    };
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
  readonly calls = new Map<Key, readonly Item[]>();
  readonly partition: Partition;
  readonly store: Store;
  /** The statement that was sent and has not been answered. */
  sent: Progress | null = null;
  now = 0;

  constructor(store: Store, limit: number) {
    this.store = store;
    const { place, open: died } = store;
    const letters = new Set([...store.letters].filter((seq) => seq > place));
    const onReady = (key: Key) => void this.ready.push(key);
    this.partition = new Partition({ number: 0, place, limit, died, letters, onReady });
    this.partition.know([...store.rows.values()], ({ dueAt }) => dueAt <= this.now);
    store.open = true;
  }

  offer(all: readonly Change[], upTo: number): void {
    for (const each of all)
      if (each.seq > this.partition.readTo && each.seq <= upTo) this.partition.offer(each.seq, each);
  }

  /** Begins a call; undefined if none can begin. */
  begin(batch = 1): Item | undefined {
    for (let key = this.ready.shift(); key !== undefined; key = this.ready.shift()) {
      const [first] = key.items;
      if (this.partition.isFull) this.partition.hold(key);
      else if (first?.suspect === true && this.partition.canBegin(key)) {
        key.listed = false;
        this.partition.suspect(first, { dueAt: this.now + 1, lastError: 'died' }, this.now);
      } else {
        const items = this.partition.begin(key, batch, this.now);
        if (items.length > 0) {
          this.calls.set(key, items);
          return items[0];
        }
      }
    }
    return undefined;
  }

  end(key: Key, taken: boolean): void {
    this.calls.delete(key);
    const [item] = key.items;
    this.partition.end(key, taken);
    if (!taken && item !== undefined) {
      this.partition.retry(
        item,
        { attempts: item.attempts + 1, dueAt: this.now + 2, lastError: 'x' },
        this.now,
      );
    }
  }

  load(): void {
    this.receiveAnswer();
    for (const key of this.partition.missing) {
      const found = [...this.store.of(key.name)]
        .filter(([seq]) => seq > key.readTo)
        .sort(([a], [b]) => a - b);
      const page = found
        .slice(0, 3)
        .map(([seq, attempts]) => ({ change: change(seq, key.connectionId), attempts }));
      this.partition.load(key, page, page.length < 3);
    }
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

/** A generator of numbers between 0 and 1 that can be repeated. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

describe('a partition', () => {
  it.each(Array.from({ length: 300 }, (_, seed) => seed))(
    'passes on each change, in order for each connection, and repeats little after deaths: seed %i',
    (seed) => {
      const random = numbersFrom(seed + 1);
      const limit = 1 + Math.floor(random() * 12);
      const connections = 1 + Math.floor(random() * 5);
      const all = Array.from({ length: 120 }, (_, n) =>
        change(n + 1, `c${Math.floor(random() * connections)}`),
      );
      const store = new Store();
      let owner = new Owner(store, limit);
      const done = new Map<string, number[]>();
      let repeated = 0;
      let mayRepeat = 0;

      const take = (key: Key, taken: boolean): void => {
        for (const { seq } of taken ? (owner.calls.get(key) ?? []) : []) {
          const of = done.get(key.name) ?? [];
          done.set(key.name, of);
          const expected = all.find(
            (each) => each.connectionId === key.connectionId && !of.includes(each.seq),
          )?.seq;
          // Either the next one of the connection, or one that was already done.
          if (!of.includes(seq)) expect(seq).toBe(expected);
          else repeated += 1;
          of.push(seq);
        }
        owner.end(key, taken);
      };

      for (let step = 0; step < 1_500; step += 1) {
        const chance = random();
        if (chance < 0.25) owner.offer(all, owner.partition.readTo + 1 + Math.floor(random() * 10));
        else if (chance < 0.55) owner.begin(1 + Math.floor(random() * 3));
        else if (chance < 0.8) {
          const keys = [...owner.calls.keys()];
          const key = keys[Math.floor(random() * keys.length)];
          if (key !== undefined) take(key, random() < 0.85);
        } else if (chance < 0.85) {
          owner.receiveAnswer();
          owner.send({ full: random() < 0.1 });
        } else if (chance < 0.9) owner.receiveAnswer();
        else if (chance < 0.95) {
          owner.now += 1;
          owner.partition.wake(({ dueAt }) => dueAt <= owner.now);
        } else if (chance < 0.985) owner.load();
        else {
          const { now, sent } = owner;
          if (sent !== null && random() < 0.5) store.write(sent);
          mayRepeat += owner.partition.unwritten;
          expect(owner.partition.unwritten).toBeLessThan(limit + 3 * Math.max(1, connections));
          owner = new Owner(store, limit);
          owner.now = now;
        }
      }
      // Whatever happened: without further deaths, everything comes to its end.
      for (
        let round = 0;
        round < 2_000 && [...done.values()].reduce((sum, of) => sum + new Set(of).size, 0) < 120;
        round += 1
      ) {
        owner.offer(all, 120);
        while (owner.begin() !== undefined);
        for (const key of [...owner.calls.keys()]) take(key, true);
        owner.load();
        owner.write();
        owner.now += 1;
        owner.partition.wake(({ dueAt }) => dueAt <= owner.now);
      }
      expect([...done.values()].flatMap((of) => [...new Set(of)]).toSorted((a, b) => a - b)).toEqual(
        all.map(({ seq }) => seq),
      );
      expect(repeated).toBeLessThanOrEqual(mayRepeat);
      // Then nothing is parked, and the place is at the end.
      for (let round = 0; round < 20; round += 1) {
        owner.load();
        owner.write();
      }
      expect(store.place).toBe(120);
      expect(store.rows.size).toBe(0);
      expect([...store.entries.values()].flatMap((of) => [...of.keys()])).toEqual([]);
    },
  );

  it('writes a failure of a call that was in progress when its connection was parked', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'slow'), change(2, 'quick')], 2);
    const [slow, quick] = [owner.begin(), owner.begin()];
    if (slow === undefined || quick === undefined) throw new Error('both can be called');
    owner.end(quick.key, true);
    // The slow one holds back the place, so it is parked; its call fails before that is written.
    owner.send();
    owner.end(slow.key, false);
    owner.write();
    expect(store.rows.get('slow')).toMatchObject({ seq: 1, attempts: 1, dueAt: 2, lastError: 'x' });
  });

  it('writes a failure of a call that was in progress when the row of its connection was deleted', () => {
    const store = new Store();
    const owner = new Owner(store, 2);
    owner.offer([change(1, 'c')], 1);
    const call = (taken: boolean): void => {
      const item = owner.begin();
      if (item === undefined) throw new Error('a change can be called');
      owner.end(item.key, taken);
    };
    call(false);
    owner.write();
    owner.now = 3;
    owner.partition.wake(({ dueAt }) => dueAt <= owner.now);
    call(true);
    // The change of the other connection holds back the place, so the next one of c is no entry.
    owner.offer([change(2, 'other'), change(3, 'c')], 3);
    owner.ready.reverse();
    const next = owner.begin();
    expect(next?.seq).toBe(3);
    owner.send();
    expect(owner.sent?.endedRows).toMatchObject([{ key: 'c' }]);
    if (next !== undefined) owner.end(next.key, false);
    owner.write();
    expect(store.rows.get('c')).toMatchObject({ seq: 3, attempts: 1, lastError: 'x' });
    expect(owner.partition.urgent).toBe(false);
  });
});
