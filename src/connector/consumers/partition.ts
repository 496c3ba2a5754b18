import type { Change } from '../../contract/connector/changes.ts';

/** A change in memory that is not done, or is done above the place. */
export interface Item {
  readonly seq: number;
  readonly change: Change;
  key: Key;
  /** Calls that failed. */
  attempts: number;
  /** The previous owner died and may have been calling it: its next attempt is written before the call. */
  suspect: boolean;
  readonly bytes: number;
  done: boolean;
  /** It is in `parked_entries`, or the write in progress puts it there. */
  passed: boolean;
}

/** A row of `parked`. `revision` is 0 until it was written. */
export interface ParkedRow {
  readonly key: string;
  readonly partition: number;
  readonly connectionId: string;
  readonly seq: number;
  readonly dueAt: number;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly since: number;
  readonly revision: number;
}

/** What is called one after the other: the changes of a connection. */
export interface Key {
  readonly name: string;
  readonly connectionId: string;
  readonly partition: Partition;
  /** Not done, in order: first entries that were read again, then what the place has not passed. */
  items: Item[];
  /** Number of its first items that are being called. */
  calling: number;
  callingSince: number;
  /** It is in the list of those that can be called. */
  listed: boolean;
  /** Its row, as it is in the database or, if `dirty`, is to be. */
  parked: ParkedRow | null;
  /** A parked key can be called. */
  due: boolean;
  /** There may be entries in the database above `readTo` that are not in memory. */
  spilled: boolean;
  readTo: number;
  /** Number of entries that were read. */
  loaded: number;
}

export interface Entry {
  readonly key: string;
  readonly seq: number;
}

export interface Letter {
  readonly seq: number;
  readonly connectionId: string;
  readonly attempts: number;
  readonly lastError: string;
}

/** What is to be written of a partition, in one statement. */
export interface Progress {
  readonly partition: number;
  readonly place: number;
  /** The first items of the partition that the place passes. */
  readonly passing: readonly Item[];
  readonly entries: readonly (Entry & { readonly attempts: number })[];
  readonly doneEntries: readonly Entry[];
  readonly rows: readonly ParkedRow[];
  readonly endedRows: readonly ParkedRow[];
  readonly letters: readonly Letter[];
}

export interface PartitionOptions {
  readonly number: number;
  readonly place: number;
  /** Maximum number of done changes above the written place. */
  readonly limit: number;
  /** Its previous owner died. */
  readonly died: boolean;
  /** Dead letters above the place. */
  readonly letters: ReadonlySet<number>;
  /** Called when a key can be called; it is then `listed`. */
  readonly onReady: (key: Key) => void;
}

/** A key whose call takes longer than this holds back no place. */
const HANGS_MS = 5_000;
/** A key with more changes in memory is parked when the memory is full. */
const LONG = 500;
/** After a death, so many changes above the place, and of the entries of each key, may have been in progress. */
const SUSPECTS = 1_000;
/** A change without its text. */
const BYTES = 1_000;

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
  readonly keys = new Map<string, Key>();
  readonly #options: PartitionOptions;
  readonly #parked = new Set<Key>();
  /** The row must be written before the next call. */
  readonly #dirty = new Set<Key>();
  /** Another process has written the row: it must be read before the next call. */
  readonly #stale = new Set<Key>();
  /** Their entries must be read before the next call. */
  readonly #wanting = new Set<Key>();
  /** Keys that could be called while too much was done above the place. */
  readonly #held: Key[] = [];
  #line: Item[] = [];
  #doneInLine = 0;
  #doneEntries: Entry[] = [];
  #deleting: readonly Entry[] = [];
  #letters: Letter[] = [];
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
    return this.#doneInLine + this.#doneEntries.length + this.#deleting.length;
  }

  /** Something must be written at once. */
  get urgent(): boolean {
    return this.#letters.length > 0 || this.#dirty.size > 0 || this.unwritten >= this.#half;
  }

  /** No call may begin before the place was written. */
  get isFull(): boolean {
    return this.unwritten >= this.#options.limit;
  }

  /** Number of changes in memory, and roughly their size. */
  get size(): { readonly changes: number; readonly bytes: number } {
    return { changes: this.#line.length, bytes: this.#bytes };
  }

  /** Number of keys with a row in `parked`. */
  get parked(): number {
    return this.#parked.size;
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
    const key = this.keys.get(separateName(connectionId, seq)) ?? this.#keyOf(connectionId, connectionId);
    const item = itemOf(key, change, key.parked?.seq === seq ? key.parked.attempts : 0);
    item.suspect = this.#suspects > 0;
    this.#suspects -= 1;
    this.#bytes += item.bytes;
    this.#line.push(item);
    key.items.push(item);
    this.#list(key);
  }

  /** Nothing between here and `seq` is of this partition, or was not offered. */
  skipTo(seq: number): void {
    this.readTo = Math.max(this.readTo, seq);
  }

  /** The key is listed again when the place was written. */
  hold(key: Key): void {
    key.listed = false;
    this.#held.push(key);
  }

  canBegin(key: Key): boolean {
    return this.#isReady(key);
  }

  /** Takes up to `batch` changes of a listed key for one call; none if it cannot be called now. */
  begin(key: Key, batch: number, elapsed: number): readonly Item[] {
    key.listed = false;
    if (!this.#isReady(key)) return [];
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

  /** The change, the first of its key, has failed: it is called again when it is due. */
  retry(item: Item, row: Pick<ParkedRow, 'attempts' | 'dueAt' | 'lastError'>, now: number): void {
    const { key } = item;
    item.attempts = row.attempts;
    item.suspect = false;
    if (item.passed && key.items.some((other) => other !== item && other.passed)) {
      // What waits for long need not be in memory.
      key.items = key.items.filter((other) => other === item || !other.passed);
      key.spilled = true;
      key.readTo = item.seq;
    }
    this.#park(key, { ...this.#rowOf(key, item.seq, now), ...row }, false);
  }

  /** The row says that the change has failed before it is called, in case that the call ends the process. */
  suspect(item: Item, row: Pick<ParkedRow, 'dueAt' | 'lastError'>, now: number): void {
    item.suspect = false;
    const attempts = item.attempts + 1;
    this.#park(item.key, { ...this.#rowOf(item.key, item.seq, now), ...row, attempts }, true);
  }

  /** The call of a change that was suspected did not take place. */
  acquit(item: Item, now: number): void {
    const { parked } = item.key;
    if (parked?.seq !== item.seq || parked.attempts === item.attempts) return;
    this.#park(item.key, { ...parked, attempts: item.attempts, dueAt: now }, true);
  }

  /** The change leaves its connection, which continues without it. */
  separate(item: Item): void {
    const { key } = item;
    key.items.splice(key.items.indexOf(item), 1);
    item.key = this.#keyOf(separateName(key.connectionId, item.seq), key.connectionId);
    item.key.items.push(item);
    this.#list(key);
  }

  /** The change, the first of its key, is given up. */
  setAside(item: Item, lastError: string): void {
    const { key, seq, attempts } = item;
    this.#letters.push({ seq, connectionId: key.connectionId, attempts, lastError });
    key.items.shift();
    this.#finish(item);
    this.#list(key);
  }

  /** Lists the parked keys whose time has come. */
  wake(isDue: (row: ParkedRow) => boolean): void {
    for (const key of this.#parked) {
      if (key.due || key.parked === null || !isDue(key.parked)) continue;
      key.due = true;
      this.#list(key);
    }
  }

  /** Keys whose entries must be read before they can be called. */
  get missing(): readonly Key[] {
    for (const key of this.#wanting) if (!this.#wants(key)) this.#wanting.delete(key);
    return [...this.#wanting];
  }

  /** Another process has written rows, which must be read. */
  get isStale(): boolean {
    return this.#stale.size > 0;
  }

  /** The rows of this partition as they are in the database. */
  know(rows: readonly ParkedRow[], isDue: (row: ParkedRow) => boolean): void {
    const found = new Set(rows.map(({ key }) => key));
    for (const key of this.#stale) if (!found.has(key.name)) this.#unpark(key);
    for (const row of rows) {
      const key = this.#keyOf(row.key, row.connectionId);
      const isKnown = key.parked?.revision === row.revision && !this.#stale.has(key);
      if (this.#dirty.has(key) || isKnown) continue;
      key.parked = row;
      key.due = isDue(row);
      this.#stale.delete(key);
      this.#parked.add(key);
      key.items = key.items.filter((item, index) => index < key.calling || !item.passed);
      key.spilled = true;
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
    const done = new Set(
      [...this.#doneEntries, ...this.#deleting].flatMap((entry) =>
        entry.key === key.name ? [entry.seq] : [],
      ),
    );
    const known = new Set(key.items.map(({ seq }) => seq));
    const items = entries.flatMap(({ change, attempts }) => {
      if (done.has(change.seq) || known.has(change.seq)) return [];
      const failed = key.parked?.seq === change.seq ? Math.max(attempts, key.parked.attempts) : attempts;
      key.loaded += 1;
      const suspect = this.#options.died && key.loaded <= SUSPECTS;
      return [{ ...itemOf(key, change, failed), passed: true, suspect }];
    });
    const entered = key.items.findIndex((item) => !item.passed);
    key.items.splice(entered < 0 ? key.items.length : entered, 0, ...items);
    key.readTo = entries.at(-1)?.change.seq ?? key.readTo;
    if (complete) key.spilled = false;
    this.#list(key);
  }

  /**
   * What is to be written now; null if nothing. `full`: the memory is, so long queues are parked. `final`: the
   * partition is given back, so nothing that is done may be repeated.
   */
  plan({
    now,
    elapsed,
    full = false,
    final = false,
  }: {
    readonly now: number;
    readonly elapsed: number;
    readonly full?: boolean;
    readonly final?: boolean;
  }): Progress | null {
    const passing = this.#passable(now, elapsed, full, final);
    const entries = passing.flatMap((item) => {
      if (item.done) return [];
      item.passed = true;
      return [{ key: item.key.name, seq: item.seq, attempts: item.attempts }];
    });
    // Without anything that holds it back, the place is wherever the feed was read to.
    const place = passing.length === this.#line.length ? this.readTo : (passing.at(-1)?.seq ?? this.place);
    const rows: ParkedRow[] = [];
    const endedRows: ParkedRow[] = [];
    for (const key of this.#parked) {
      if (key.parked === null) continue;
      if (this.#dirty.has(key)) rows.push(key.parked);
      else if (this.#hasEnded(key, key.parked)) endedRows.push(key.parked);
    }
    const [doneEntries, letters] = [this.#doneEntries, this.#letters];
    const moves =
      place > this.place || doneEntries.length + letters.length + rows.length + endedRows.length > 0;
    if (!moves && !final) return null;
    this.#deleting = doneEntries;
    this.#doneEntries = [];
    this.#letters = [];
    return {
      partition: this.number,
      place: Math.max(place, this.place),
      passing,
      entries,
      doneEntries,
      rows,
      endedRows,
      letters,
    };
  }

  /** The plan was written. `revisions` of its rows, without those that another process has changed; `ended` likewise. */
  written(plan: Progress, revisions: ReadonlyMap<string, number>, ended: ReadonlySet<string>): void {
    this.place = plan.place;
    this.#deleting = [];
    this.#line.splice(0, plan.passing.length);
    for (const { bytes } of plan.passing) this.#bytes -= bytes;
    this.#doneInLine -= plan.passing.length - plan.entries.length;
    const spilled = new Set(plan.passing.filter((item) => !item.done));
    for (const key of new Set([...spilled].map((item) => item.key))) {
      // Its next change stays in memory, unless entries precede it.
      const kept = key.spilled ? key.calling : Math.max(1, key.calling);
      const leaves = (item: Item, index: number): boolean => index >= kept && spilled.has(item);
      const first = key.items.find(leaves);
      if (first !== undefined) {
        if (!key.spilled || first.seq <= key.readTo) key.readTo = first.seq - 1;
        key.items = key.items.filter((item, index) => !leaves(item, index));
        key.spilled = true;
      }
      this.#list(key);
    }
    for (const row of plan.rows) {
      const key = this.keys.get(row.key);
      if (key?.parked == null) continue;
      const revision = revisions.get(row.key);
      // A call that was in progress may have failed meanwhile.
      if (revision === undefined || key.parked === row) this.#dirty.delete(key);
      if (revision === undefined) this.#stale.add(key);
      else key.parked = { ...key.parked, revision };
      this.#list(key);
    }
    for (const { key: name } of plan.endedRows) {
      const key = this.keys.get(name);
      if (key?.parked == null) continue;
      if (!ended.has(name)) this.#stale.add(key);
      // A call that was in progress has failed meanwhile, so there is a row again.
      else if (this.#dirty.has(key)) key.parked = { ...key.parked, revision: 0 };
      else this.#unpark(key);
    }
    for (const item of plan.passing) this.#forget(item.key);
    for (const key of this.#held.splice(0)) this.#list(key);
  }

  #passable(now: number, elapsed: number, full: boolean, final: boolean): readonly Item[] {
    let above = this.#doneInLine;
    let at = 0;
    for (const item of this.#line) {
      if (item.done) above -= 1;
      else if (item.key.parked === null) {
        const { key } = item;
        const hangs = key.calling > 0 && elapsed - key.callingSince >= HANGS_MS;
        const isLong = full && key.items.length > LONG;
        if (!(isLong || (full && hangs) || (above > 0 && (final || hangs || above >= this.#half)))) break;
        this.#park(key, this.#rowOf(key, item.seq, now), true);
      }
      at += 1;
    }
    return this.#line.slice(0, at);
  }

  #rowOf({ name, connectionId, parked }: Key, seq: number, now: number): ParkedRow {
    const { revision, since } = parked ?? { revision: 0, since: now };
    const { number: partition } = this;
    return {
      key: name,
      partition,
      connectionId,
      seq,
      dueAt: now,
      attempts: 0,
      lastError: null,
      since,
      revision,
    };
  }

  #park(key: Key, row: ParkedRow, due: boolean): void {
    key.parked = row;
    key.due = due;
    this.#dirty.add(key);
    this.#parked.add(key);
  }

  #unpark(key: Key): void {
    key.parked = null;
    this.#stale.delete(key);
    this.#dirty.delete(key);
    key.spilled = false;
    key.readTo = 0;
    this.#parked.delete(key);
    this.#list(key);
    this.#forget(key);
  }

  /** No entry is left, and the row counts for a change that is done. */
  #hasEnded(key: Key, row: ParkedRow): boolean {
    // A change that this owner has not read yet may have failed before.
    if (row.revision === 0 || this.#stale.has(key) || key.spilled || row.seq > this.readTo) return false;
    const [first] = key.items;
    return first === undefined || !(first.passed || (first.seq === row.seq && row.attempts > 0));
  }

  #forget(key: Key): void {
    const isEmpty = key.items.length === 0 && key.parked === null && key.calling === 0;
    // A change that is done may be of a key that was forgotten, and of whose name there is another.
    if (isEmpty && this.keys.get(key.name) === key) this.keys.delete(key.name);
  }

  #finish(item: Item): void {
    item.done = true;
    if (item.passed) this.#doneEntries.push({ key: item.key.name, seq: item.seq });
    else this.#doneInLine += 1;
  }

  #isReady(key: Key): boolean {
    return key.items.length > 0 && this.#isFree(key) && !wantsEntries(key);
  }

  #wants(key: Key): boolean {
    return wantsEntries(key) && this.#isFree(key);
  }

  /** Nothing but a lack of changes prevents a call. */
  #isFree(key: Key): boolean {
    if (key.calling > 0) return false;
    return key.parked === null || (key.due && !this.#dirty.has(key) && !this.#stale.has(key));
  }

  #list(key: Key): void {
    if (this.#wants(key)) this.#wanting.add(key);
    if (key.listed || !this.#isReady(key)) return;
    key.listed = true;
    this.#options.onReady(key);
  }

  #keyOf(name: string, connectionId: string): Key {
    const known = this.keys.get(name);
    if (known !== undefined) return known;
    const key: Key = {
      name,
      connectionId,
      partition: this,
      items: [],
      calling: 0,
      callingSince: 0,
      listed: false,
      parked: null,
      due: false,
      spilled: false,
      readTo: 0,
      loaded: 0,
    };
    this.keys.set(name, key);
    return key;
  }
}

/** The key of one change of a consumer that is not ordered. */
function separateName(connectionId: string, seq: number): string {
  return `${connectionId}/${seq}`;
}

/** Entries that are not in memory precede its first change there. */
function wantsEntries({ spilled, items: [first], readTo }: Key): boolean {
  return spilled && (first === undefined || first.seq > readTo);
}

function itemOf(key: Key, change: Change, attempts: number): Item {
  const text = 'text' in change.data ? change.data.text : null;
  const bytes = BYTES + 2 * (text?.length ?? 0);
  return { seq: change.seq, change, key, attempts, bytes, suspect: false, done: false, passed: false };
}
