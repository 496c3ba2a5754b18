import type { Change, PersonErasedData } from '../../contract/connector/changes.ts';
import type { deadLetters, parkedEntries } from '../db/consumer-tables.ts';
import { emptyChange } from '../db/erase-messages.ts';
import {
  historyName,
  type ItemOf,
  isHistoric,
  itemOf,
  type KeyOf,
  type ParkedRow,
  separateName,
  unload,
} from './key.ts';

export type Item = ItemOf<Partition>;
export type Key = KeyOf<Partition>;

type Entry = Omit<typeof parkedEntries.$inferSelect, 'consumer'>;
type Letter = Omit<typeof deadLetters.$inferSelect, 'consumer' | 'at'>;

/** What is to be written of a partition, in one statement. */
export interface Progress {
  readonly partition: number;
  readonly place: number;
  /** The first items of the partition, which the place passes. */
  readonly passing: readonly Item[];
  readonly entries: readonly Entry[];
  readonly doneEntries: readonly Omit<Entry, 'attempts'>[];
  readonly rows: readonly ParkedRow[];
  readonly endedRows: readonly ParkedRow[];
  readonly letters: readonly Letter[];
}

export interface PartitionOptions {
  readonly number: number;
  readonly place: number;
  /** History comes after everything else. */
  readonly quiet: boolean;
  /** Maximum number of done changes above the written place. */
  readonly limit: number;
  /** Its previous owner died. */
  readonly died: boolean;
  /** Dead letters above the place. */
  readonly letters: ReadonlySet<number>;
  /** Called when something is next for a key; it is then `listed`. */
  readonly onReady: (key: Key) => void;
  /** A parked key can be called. */
  readonly isDue: (row: ParkedRow) => boolean;
}

/** When something is written. */
export interface Moment {
  readonly now: number;
  readonly elapsed: number;
  /** The memory is full, so long queues are parked. */
  readonly full?: boolean;
  /** The partition is given back, so nothing that is done may be repeated. */
  readonly final?: boolean;
}

/** A key whose call takes longer than this holds back no place. */
const HANGS_MS = 5_000;
/** A key with more changes in memory is parked when the memory is full. */
const LONG = 500;
/** After a death, so many changes above the place, and of the entries of each key, may have been in progress. */
const SUSPECTS = 1_000;

/**
 * The changes of a partition in the memory of its owner: which may be called, how far the place can move, and what
 * that takes to be written. Does no I/O. Times: `elapsed` is monotonic, `now` epoch ms.
 */
export class Partition {
  readonly number: number;
  /** As written. */
  place: number;
  /** Every change up to here was offered. */
  readTo: number;
  /** Number of calls in progress. */
  calls = 0;
  readonly #options: PartitionOptions;
  readonly #keys = new Map<string, Key>();
  readonly #parked = new Set<Key>();
  /** The row must be written before the next call. */
  readonly #dirty = new Set<Key>();
  readonly #line: Item[] = [];
  #doneInLine = 0;
  /** Entries that are to be written, or deleted, although the place does not pass them now. */
  readonly #newEntries: Entry[] = [];
  readonly #doneEntries: Omit<Entry, 'attempts'>[] = [];
  readonly #letters: Letter[] = [];
  #suspects: number;
  #bytes = 0;

  constructor(options: PartitionOptions) {
    this.#options = options;
    this.number = options.number;
    this.place = options.place;
    this.readTo = options.place;
    this.#suspects = options.died ? SUSPECTS : 0;
  }

  /** Done changes that would be repeated after a death. */
  get unwritten(): number {
    return this.#doneInLine + this.#doneEntries.length;
  }

  /** Something must be written at once. */
  get urgent(): boolean {
    return this.#letters.length > 0 || this.#dirty.size > 0 || this.unwritten >= this.#half;
  }

  /** Number of changes in memory, and roughly their size. */
  get size(): { readonly changes: number; readonly bytes: number } {
    return { changes: this.#line.length, bytes: this.#bytes };
  }

  /** When the next parked key is due, epoch ms; infinite if none waits. */
  get dueAt(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { due, parked } of this.#parked)
      if (!due && parked !== null) least = Math.min(least, parked.dueAt);
    return least;
  }

  get #half(): number {
    return Math.ceil(this.#options.limit / 2);
  }

  /** The next change of the feed. `null`: the filter drops it. */
  offer(seq: number, change: Change | null): void {
    if (seq <= this.readTo) return;
    this.readTo = seq;
    if (change === null || this.#options.letters.has(seq)) return;
    const { connectionId } = change;
    const key =
      this.#keys.get(separateName(connectionId, seq)) ?? this.#keyOf(this.#nameOf(change), connectionId);
    const item = itemOf(key, change, this.#suspects-- > 0);
    this.#bytes += item.bytes;
    this.#line.push(item);
    key.items.push(item);
    this.#list(key);
  }

  /** Nothing between here and `seq` is of this partition, or was not offered. */
  skipTo(seq: number): void {
    this.readTo = Math.max(this.readTo, seq);
  }

  /** What waits of this connection was read before a person was erased, so it has the texts of the person. */
  erase(connectionId: string, erased: PersonErasedData): void {
    for (const key of this.#keys.values()) {
      if (key.connectionId !== connectionId) continue;
      for (const item of key.items) item.change = emptyChange(item.change, erased);
    }
  }

  /**
   * What a listed key needs next: a call, an attempt of its first change that is written before the call, or its next
   * entries. Null: nothing now, and it is listed again.
   */
  next(key: Key): 'call' | 'attempt' | 'entries' | null {
    const next = this.#nextOf(key);
    // Until its entries are there.
    key.listed = next === 'entries';
    return next;
  }

  /** Begins a call of a key with up to `batch` of its changes. */
  begin(key: Key, batch: number, elapsed: number): readonly Item[] {
    const items = key.items.slice(0, key.parked === null ? batch : 1);
    key.calling = items.length;
    key.callingSince = elapsed;
    this.calls += 1;
    return items;
  }

  /** The call has ended: `taken` of its changes are done, the others are not. */
  end(key: Key, taken: boolean): void {
    this.calls -= 1;
    const items = taken ? key.items.splice(0, key.calling) : [];
    key.calling = 0;
    for (const item of items) this.#finish(item);
    this.#list(key);
  }

  /** The row of a key is to say how often the call of its first change has failed, and when it is called. */
  park(
    item: Item,
    row: Pick<ParkedRow, 'attempts' | 'dueAt' | 'lastError'>,
    { now, due }: { readonly now: number; readonly due: boolean },
  ): void {
    const { key, seq } = item;
    item.suspect = false;
    this.#park(key, { ...this.#rowOf(key, seq, now), ...row }, due);
  }

  /** The change leaves its connection, which continues without it. */
  separate(item: Item): void {
    const { key, seq, attempts } = item;
    const name = separateName(key.connectionId, seq);
    if (key.name === name) return;
    key.items.splice(key.items.indexOf(item), 1);
    item.key = this.#keyOf(name, key.connectionId);
    item.key.items.push(item);
    if (item.passed) {
      this.#doneEntries.push({ key: key.name, seq });
      this.#newEntries.push({ key: item.key.name, seq, attempts });
    }
    this.#list(key);
  }

  /** The change, one of those that were called, is given up. */
  setAside(item: Item, lastError: string): void {
    const { key, seq, change, attempts } = item;
    const isOfMessage = 'messageId' in change && change.type !== 'outbound.updated';
    const messageId = isOfMessage ? change.messageId : null;
    this.#letters.push({ seq, connectionId: key.connectionId, messageId, attempts, lastError });
    key.items.splice(key.items.indexOf(item), 1);
    this.#finish(item);
    this.#list(key);
  }

  /** Lists the parked keys whose time has come. */
  wake(): void {
    for (const key of this.#parked) {
      if (key.due || key.parked === null || !this.#options.isDue(key.parked)) continue;
      key.due = true;
      this.#list(key);
    }
  }

  /** The rows of this partition as they are in the database. */
  know(rows: readonly ParkedRow[]): void {
    for (const row of rows) {
      const key = this.#keyOf(row.key, row.connectionId);
      if (this.#dirty.has(key) || key.parked?.revision === row.revision) continue;
      key.parked = row;
      key.due = this.#options.isDue(row);
      this.#parked.add(key);
      key.readTo = 0;
      this.#list(key);
    }
  }

  /** The next entries of a key above its `readTo`, in order; `complete` if there are no more. */
  load(
    key: Key,
    entries: readonly { readonly change: Change; readonly attempts: number }[],
    complete: boolean,
  ): void {
    const done = new Set(this.#doneEntries.flatMap((entry) => (entry.key === key.name ? entry.seq : [])));
    const known = new Map(key.items.map((item) => [item.seq, item]));
    for (const { change, attempts } of entries) {
      if (done.has(change.seq)) continue;
      key.loaded += 1;
      const item = known.get(change.seq) ?? itemOf(key, change, this.#options.died && key.loaded <= SUSPECTS);
      if (!known.has(change.seq)) key.items.push(item);
      item.passed = true;
      item.before = attempts;
      item.attempts = Math.max(attempts, item.attempts);
    }
    key.items.sort((a, b) => a.seq - b.seq);
    key.readTo = complete ? Number.POSITIVE_INFINITY : (entries.at(-1)?.change.seq ?? key.readTo);
    key.listed = false;
    this.#list(key);
  }

  /** What is to be written now; null if nothing. */
  plan(moment: Moment): Progress | null {
    const passing = this.#passable(moment);
    const left = passing.filter(({ done }) => !done);
    for (const item of left) item.passed = true;
    const entries = left.map(({ key, seq, attempts }) => ({ key: key.name, seq, attempts }));
    // Without anything that holds it back, the place is wherever the feed was read to.
    const place = passing.length === this.#line.length ? this.readTo : (passing.at(-1)?.seq ?? this.place);
    const rows: ParkedRow[] = [];
    const endedRows: ParkedRow[] = [];
    for (const key of this.#parked) {
      if (key.parked === null) continue;
      if (this.#dirty.has(key)) rows.push(key.parked);
      else if (this.#hasEnded(key, key.parked)) endedRows.push(key.parked);
    }
    const progress = {
      partition: this.number,
      place: Math.max(place, this.place),
      passing,
      entries: [...entries, ...this.#newEntries],
      doneEntries: [...this.#doneEntries],
      rows,
      endedRows,
      letters: [...this.#letters],
    };
    const { doneEntries, letters } = progress;
    const moves =
      place > this.place || [doneEntries, letters, rows, endedRows].some(({ length }) => length > 0);
    return moves || moment.final === true ? progress : null;
  }

  /** The plan was written: `revisions` that its rows have now, and names of keys whose rows have `ended`. */
  written(plan: Progress, revisions: ReadonlyMap<string, number>, ended: ReadonlySet<string>): void {
    const left = plan.passing.filter(({ passed }) => passed);
    this.place = plan.place;
    this.#line.splice(0, plan.passing.length);
    for (const { bytes } of plan.passing) this.#bytes -= bytes;
    this.#doneInLine -= plan.passing.length - left.length;
    this.#doneEntries.splice(0, plan.doneEntries.length);
    this.#newEntries.splice(0, plan.entries.length - left.length);
    this.#letters.splice(0, plan.letters.length);
    for (const [key, [first]] of Map.groupBy(left, (item) => item.key)) unload(key, first?.seq);
    for (const row of plan.rows) {
      const key = this.#keys.get(row.key);
      if (key?.parked == null) continue;
      // A call that was in progress may have failed meanwhile.
      if (key.parked === row) this.#dirty.delete(key);
      const revision = revisions.get(row.key) ?? 0;
      key.parked = { ...key.parked, revision };
      if (!key.due) unload(key);
      // Another process has written the row, because of another entry.
      if (revision !== row.revision + 1) key.readTo = 0;
    }
    for (const { key: name } of plan.endedRows) {
      const key = this.#keys.get(name);
      if (key?.parked == null) continue;
      if (ended.has(name) && !this.#dirty.has(key)) this.#unpark(key);
      // A call that was in progress has failed meanwhile, or another process has written the row, which `know` finds.
      else key.parked = { ...key.parked, revision: 0 };
    }
    for (const key of this.#keys.values()) {
      this.#list(key);
      if (key.items.length === 0 && key.parked === null) this.#keys.delete(key.name);
    }
  }

  /** The first items that the place can pass, if the keys of those that are not done are parked. */
  #passable({ now, elapsed, full = false, final = false }: Moment): readonly Item[] {
    let above = this.#doneInLine;
    const end = this.#line.findIndex(({ key, seq, done, passed }) => {
      if (done && !passed) above -= 1;
      if (done || key.parked !== null) return false;
      const hangs = key.calling > 0 && elapsed - key.callingSince >= HANGS_MS;
      // History in memory must not keep what is new from being read.
      const isLong = key.items.length > LONG || key.quiet;
      const parks = (full && (hangs || isLong)) || (above > 0 && (final || hangs || above >= this.#half));
      if (parks) this.#park(key, this.#rowOf(key, seq, now), true);
      return !parks;
    });
    return end < 0 ? [...this.#line] : this.#line.slice(0, end);
  }

  #rowOf({ name, connectionId, parked }: Key, seq: number, now: number): ParkedRow {
    const { revision, since } = parked ?? { revision: 0, since: now };
    const row = { key: name, partition: this.number, connectionId, seq, since, revision };
    return { ...row, dueAt: now, attempts: 0, lastError: null };
  }

  #park(key: Key, row: ParkedRow, due: boolean): void {
    key.parked = row;
    key.due = due;
    this.#dirty.add(key);
    this.#parked.add(key);
  }

  #unpark(key: Key): void {
    key.parked = null;
    this.#parked.delete(key);
  }

  /** No entry is left, and the row counts for a change that is done. */
  #hasEnded({ readTo, items: [first] }: Key, row: ParkedRow): boolean {
    // A change that this owner has not read yet may have failed before.
    if (row.revision === 0 || readTo < Number.POSITIVE_INFINITY || row.seq > this.readTo) return false;
    return first === undefined || !(first.passed || (first.seq === row.seq && row.attempts > 0));
  }

  #finish(item: Item): void {
    item.done = true;
    if (item.passed) this.#doneEntries.push({ key: item.key.name, seq: item.seq });
    else this.#doneInLine += 1;
  }

  #nextOf(key: Key): ReturnType<Partition['next']> {
    const { calling, items, parked, due, readTo } = key;
    const [first] = items;
    if (calling > 0 || (parked !== null && (!due || this.#dirty.has(key)))) return null;
    if (readTo < (first?.seq ?? Number.POSITIVE_INFINITY)) return 'entries';
    if (first === undefined || this.unwritten >= this.#options.limit) return null;
    return first.suspect ? 'attempt' : 'call';
  }

  #list(key: Key): void {
    if (key.listed || this.#nextOf(key) === null) return;
    key.listed = true;
    this.#options.onReady(key);
  }

  /** Its connection; or the history of the connection, also while some of it is left from when it was quiet. */
  #nameOf(change: Change): string {
    const history = historyName(change.connectionId);
    const isQuiet = isHistoric(change) && (this.#options.quiet || this.#keys.has(history));
    return isQuiet ? history : change.connectionId;
  }

  #keyOf(name: string, connectionId: string): Key {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key: Key = {
      quiet: this.#options.quiet && name === historyName(connectionId),
      ...{ name, connectionId, partition: this, items: [], calling: 0, callingSince: 0, listed: false },
      ...{ parked: null, due: false, readTo: Number.POSITIVE_INFINITY, loaded: 0 },
    };
    this.#keys.set(name, key);
    return key;
  }
}
