import { gathered, paced } from './gather.ts';
import type { StreamEvent } from './stream-event.ts';

/** Rows of a list that are held at most; older ones are found by filtering. */
export const MOST_ROWS = 5_000;
/** Of these, rows that wait at most while the list is paused. */
const MOST_WAITING = MOST_ROWS / 2;

export interface Page<Row> {
  readonly entries: readonly Row[];
  readonly nextCursor?: string | undefined;
}

export interface LiveListSource<Row> {
  /** Name and filter of the list: lists with the same key share their rows. */
  readonly key: string;
  readonly read: (cursor: string | undefined) => Promise<Page<Row>>;
  readonly idOf: (row: Row) => string;
  /** The row that an event carries, or makes of a known one, if it is one of this list. */
  readonly rowOf?: (event: StreamEvent, known: (id: string) => Row | undefined) => Row | undefined;
  /** The name by which a `changed` event calls the list. */
  readonly name: string;
  /** Whether every row that an event carries belongs to the list. Default: the server decides. */
  readonly isWhole?: boolean;
  /** False for a list that changes so rarely that moving through it need not pause it. Default: true. */
  readonly pauses?: boolean;
}

export interface LiveListState<Row> {
  /** Newest first. */
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly isPaused: boolean;
  /** Rows that came while it was paused. */
  readonly waiting: number;
  readonly hasMore: boolean;
  /** True if rows were given up because there are too many. */
  readonly isCut: boolean;
}

/** A list that follows the stream: rows change in place, new ones come at the top, or wait while it is paused. */
export class LiveList<Row> {
  readonly source: LiveListSource<Row>;
  /** Where its table was scrolled to. */
  scrollTop = 0;
  #state: LiveListState<Row> = {
    rows: [],
    isLoading: true,
    error: undefined,
    isPaused: false,
    waiting: 0,
    hasMore: false,
    isCut: false,
  };
  #waiting: Row[] = [];
  /** Whether rows may be missing between those that wait and the older ones. */
  #isApart = false;
  #changed = new Map<string, Row>();
  #cursor: string | undefined;
  #isStale = false;
  #reading: Promise<void> | undefined;
  #isReadingMore = false;
  readonly #listeners = new Set<() => void>();

  constructor(source: LiveListSource<Row>) {
    this.source = source;
  }

  readonly snapshot = (): LiveListState<Row> => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  pause(): void {
    if (!this.#state.isPaused && this.source.pauses !== false) this.#set({ isPaused: true });
  }

  resume(): void {
    if (this.#isApart || this.#waiting.length === MOST_WAITING) {
      this.restart();
      return;
    }
    const rows = [...this.#waiting, ...this.#state.rows];
    this.#waiting = [];
    this.#set({ isPaused: false, waiting: 0, ...this.#cut(rows) });
  }

  /** Reads the next older page, once the newest is not being read. */
  async readMore(): Promise<void> {
    if (this.#isReadingMore) return;
    this.#isReadingMore = true;
    while (this.#reading !== undefined) await this.#reading;
    if (this.#state.hasMore) await this.#read(this.#cursor, (page) => this.#mergeOlder(page));
    else this.#isReadingMore = false;
  }

  #mergeOlder({ entries, nextCursor }: Page<Row>): Partial<LiveListState<Row>> {
    const known = new Set(this.#state.rows.map(this.source.idOf));
    const older = entries.filter((row) => !known.has(this.source.idOf(row)));
    this.#cursor = nextCursor;
    return { hasMore: nextCursor !== undefined, ...this.#cut([...this.#state.rows, ...older]) };
  }

  /** Forgets all rows, and reads the newest page. */
  restart(): void {
    this.#waiting = [];
    this.#isApart = false;
    this.#set({ rows: [], isLoading: true, isPaused: false, waiting: 0, isCut: false });
    this.refresh();
  }

  /** Reads the newest page again. */
  refresh(): void {
    this.#isStale = true;
    this.#readAgain();
  }

  /** Takes over what an event says, within a tenth of a second. */
  hear(event: StreamEvent): void {
    const { idOf, rowOf } = this.source;
    const find = (rows: readonly Row[], id: string): Row | undefined =>
      rows.find((each) => idOf(each) === id);
    const known = (id: string): Row | undefined =>
      this.#changed.get(id) ?? find(this.#waiting, id) ?? find(this.#state.rows, id);
    const row = rowOf?.(event, known);
    if (row !== undefined) {
      this.#changed.set(idOf(row), row);
      this.#gather();
    } else if (event.type === 'changed' && (event.what === this.source.name || event.what === 'everything')) {
      this.refresh();
    }
  }

  readonly #gather = gathered(() => this.#applyChanged());
  readonly #readAgain = paced(async () => {
    if (this.#isStale) await this.readHead();
  });

  /** Takes over what events carried: known rows in place, others at the top. */
  #applyChanged(): void {
    if (this.#changed.size === 0) return;
    const changed = this.#changed;
    this.#changed = new Map();
    const replace = (row: Row): Row => {
      const id = this.source.idOf(row);
      const newer = changed.get(id);
      changed.delete(id);
      return newer ?? row;
    };
    const rows = this.#state.rows.map(replace);
    this.#waiting = this.#waiting.map(replace);
    this.#set({ rows });
    if (changed.size === 0) return;
    if (this.source.isWhole) this.#addNew([...changed.values()].reverse());
    else this.refresh();
  }

  #addNew(rows: readonly Row[]): void {
    if (this.#state.isPaused) {
      this.#waiting = [...rows, ...this.#waiting].slice(0, MOST_WAITING);
      this.#set({ waiting: this.#waiting.length, ...this.#cut(this.#state.rows) });
    } else this.#set(this.#cut([...rows, ...this.#state.rows]));
  }

  /** Reads the newest page; if a page is being read already, that one for now. Answers with the failure, or null. */
  async readHead(): Promise<unknown> {
    this.#isStale = this.#reading !== undefined;
    await (this.#reading ?? this.#read(undefined, (page) => this.#mergeHead(page)));
    return this.#state.error ?? null;
  }

  /** Reads a page, and changes the state once, when the next page can be read. */
  #read(cursor: string | undefined, merge: (page: Page<Row>) => Partial<LiveListState<Row>>): Promise<void> {
    const read = async (): Promise<void> => {
      const change = await this.source.read(cursor).then(
        (page) => ({ error: undefined, ...merge(page) }),
        (error: unknown) => ({ error }),
      );
      this.#reading = undefined;
      // Whoever sees older rows may want the next ones at once.
      if (cursor !== undefined) this.#isReadingMore = false;
      this.#set({ ...change, isLoading: false });
      if (this.#isStale) this.#readAgain();
    };
    this.#reading = read();
    return this.#reading;
  }

  /** Puts the newest page in the place of the rows that it covers. Rows that no longer match vanish with them. */
  #mergeHead({ entries, nextCursor }: Page<Row>): Partial<LiveListState<Row>> {
    const { idOf } = this.source;
    const { rows, isPaused } = this.#state;
    const known = [...this.#waiting, ...rows];
    const places = new Map(known.map((row, place) => [idOf(row), place]));
    const covered = entries.reduce((most, row) => Math.max(most, places.get(idOf(row)) ?? -1), -1);
    if (isPaused && rows.length > 0) {
      const page = new Map(entries.map((row) => [idOf(row), row]));
      const shown = new Set(rows.map(idOf));
      this.#isApart ||= covered === -1;
      this.#waiting = [...entries, ...this.#waiting.slice(covered + 1)]
        .filter((row) => !shown.has(idOf(row)))
        .slice(0, MOST_WAITING);
      const updated = rows.map((row) => page.get(idOf(row)) ?? row);
      return { waiting: this.#waiting.length, ...this.#cut(updated) };
    }
    if (covered === -1 || nextCursor === undefined) {
      this.#cursor = nextCursor;
      return { rows: entries, hasMore: nextCursor !== undefined, isCut: false };
    }
    return this.#cut([...entries, ...rows.slice(covered + 1)]);
  }

  #cut(rows: readonly Row[]): Partial<LiveListState<Row>> {
    const most = MOST_ROWS - this.#waiting.length;
    if (rows.length <= most) return { rows };
    return { rows: rows.slice(0, most), hasMore: false, isCut: true };
  }

  #set(change: Partial<LiveListState<Row>>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
