import type { Change } from '../../contract/connector/changes.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import type { Base } from '../db/base.ts';
import type { Feed } from '../feed/feed.ts';
import { dueAtOf } from '../work/planned.ts';
import type { Presence } from '../work/presence.ts';
import { callSink } from './call-sink.ts';
import type { CallMetrics } from './consumer-metrics.ts';
import {
  type ConsumerRow,
  disableConsumer,
  ENTRIES,
  noteOutage,
  readEntries,
  readParked,
  type Write,
  writeProgress,
} from './consumer-store.ts';
import { describeRefusal } from './describe-failure.ts';
import { createFailures } from './failures.ts';
import { createOutage } from './outage.ts';
import type { Item, Key } from './partition.ts';
import { partitionOf } from './partition-of.ts';
import { passes } from './passes.ts';
import { createShares, type HeldPartition } from './shares.ts';
import { type CallEnd, LONGEST_ASKED_MS, type Sink } from './sinks/sink.ts';

export interface ConsumerOptions extends Base {
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  readonly presence: Presence;
  readonly feed: Pick<Feed, 'subscribe' | 'position' | 'known'>;
  readonly metrics: CallMetrics;
  readonly row: ConsumerRow;
  readonly sink: Sink;
  /** The permanent key of the change with this number. */
  readonly keyOf: (seq: number) => string;
  /** Other processes should look at the shares: some partitions are free. */
  readonly onFreed: () => void;
}

/** A consumer in this process. */
export type Consumer = ReturnType<typeof createConsumer>;

/** Longer than any wait after a failure. */
const LONGEST_WAIT_MS = LONGEST_ASKED_MS + 60_000;
/** Beyond one of these, nothing more is read into memory. */
const MAX_CHANGES = 5_000;
const MAX_BYTES = 16 * 2 ** 20;
/** How long calls in progress may take to finish when the process stops. */
const GRACE_MS = 8_000;
const RETRY_MS = 1_000;

/** Runs a consumer in this process: reads the feed, calls the sink, and writes how far it is. */
export function createConsumer(options: ConsumerOptions) {
  const { database, clock, logger, presence, row, sink, feed, metrics } = options;
  const { name } = row;
  /** Keys that can be called, those that wait until nothing else does, and those whose entries must be read before. */
  const ready: Key[] = [];
  const quiet: Key[] = [];
  const missing: Key[] = [];
  const shares = createShares({
    ...options,
    limit: row.placeChanges,
    quiet: row.historic === 'quiet',
    onReady: (key) => (key.quiet ? quiet : ready).push(key),
    isDue: ({ dueAt }) => dueAtOf(dueAt, clock.now(), LONGEST_WAIT_MS) <= clock.now(),
    giveBack,
  });
  const failures = createFailures(options);
  const outage = createOutage({ ...options, consumer: name, onDue: pump, onKnown: noteAway });
  let running = 0;
  let runningQuiet = 0;
  let closed = false;
  let failing = false;
  /** Why the consumer asked not to be called again. */
  let disabledBecause: string | undefined;
  let reader = new AbortController();
  /** What the reader reads for. What was gained since may have to begin before it. */
  let reading: ReadonlySet<HeldPartition> = new Set();
  /** The reader has passed on everything up to here. */
  let position = 0;
  /** The statement that may not have been committed yet. */
  let unsure: readonly Write[] | undefined;
  let working: Promise<void> | undefined;
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;
  let noted = Promise.resolve();
  let changed = Promise.withResolvers<void>();

  function note(error?: unknown): void {
    const { resolve, reject, promise } = changed;
    changed = Promise.withResolvers();
    promise.catch(() => undefined);
    if (error === undefined) resolve();
    else reject(error);
  }

  /* Reading. */

  /** If partitions were gained: reads from the lowest place of all of them; each ignores what it has read. */
  async function read(): Promise<void> {
    const isRead = (): boolean => closed || shares.held.every((held) => reading.has(held));
    if (isRead()) return;
    const { deletedSeq } = await feed.position();
    if (isRead()) return;
    reader.abort();
    reader = new AbortController();
    const { signal } = reader;
    reading = new Set(shares.held);
    position = Math.max(deletedSeq, Math.min(...shares.held.map(({ partition }) => partition.readTo)));
    const isOver = feed.subscribe(position, (...read) => take(...read, signal), signal);
    // It ends by itself if what comes next was deleted: the next check reads what is kept.
    void isOver.then(() => {
      if (!signal.aborted) reading = new Set();
    });
  }

  async function take(changes: readonly Change[], reached: number, signal: AbortSignal): Promise<void> {
    for (const change of changes) {
      const held = shares.of(partitionOf(change.connectionId));
      if (held === undefined || !reading.has(held)) continue;
      // Also if the filter drops it.
      if (change.type === 'person.erased') held.partition.erase(change.connectionId, change.data);
      held.partition.offer(change.seq, passes(change, row) ? change : null);
    }
    position = reached;
    for (const { partition } of reading) partition.skipTo(position);
    pump();
    while (isFull() && !signal.aborted) await changed.promise.catch(() => undefined);
  }

  function isFull(): boolean {
    let [count, size] = [0, 0];
    for (const { partition } of shares.held) {
      count += partition.size.changes;
      size += partition.size.bytes;
    }
    return count > MAX_CHANGES || size > MAX_BYTES;
  }

  /** Long queues should leave the memory. In an outage everything keeps its place. */
  function isCrowded(): boolean {
    return isFull() && !outage.lasts;
  }

  /* Calling. */

  /** Begins what can begin. */
  function pump(): void {
    while (running < row.concurrency && outage.allows && presence.isConfirmed) {
      const key = ready.shift() ?? takeQuiet();
      if (key === undefined) break;
      begin(key);
    }
    work();
    if (timer === undefined) arm();
    note();
  }

  /** History waits until the feed was read as far as possible, and leaves room for what comes meanwhile. */
  function takeQuiet(): Key | undefined {
    const isRead = position >= feed.known || (outage.lasts && isFull());
    return isRead && runningQuiet < Math.max(1, row.concurrency / 2) ? quiet.shift() : undefined;
  }

  function begin(key: Key): void {
    const { partition } = key;
    const held = shares.of(partition.number);
    const [first] = key.items;
    if (held?.partition !== partition || held.leaving || held.lost.aborted || closed) return;
    const next = partition.next(key);
    if (next === 'entries') missing.push(key);
    else if (next === 'attempt' && first !== undefined) failures.suspect(first);
    else if (next === 'call' && first !== undefined) void call(held, key, first);
  }

  async function call(held: HeldPartition, key: Key, first: Item): Promise<void> {
    const items = held.partition.begin(key, row.batch, clock.elapsed());
    running += 1;
    if (key.quiet) runningQuiet += 1;
    const isTry = outage.begin();
    const beganAt = clock.elapsed();
    const changes = items.map(({ change, seq }) => ({ change, key: options.keyOf(seq) }));
    const called = await callSink(
      sink,
      { changes, attempt: first.attempts + 1 },
      { clock, consumer: name, deadlineMs: row.deadlineMs, stop: held.stop },
    );
    running -= 1;
    if (key.quiet) runningQuiet -= 1;
    const end = outage.end(called, { isTry, connectionId: key.connectionId });
    metrics.calls.inc({ result: end.kind });
    metrics.seconds.observe((clock.elapsed() - beganAt) / 1_000);
    if (end.kind === 'taken')
      metrics.latency.observe(Math.max(0, clock.now() - Date.parse(first.change.at)) / 1_000);
    if (isHeld(held)) finish(key, items, end);
    pump();
  }

  function noteAway(error: unknown): void {
    const reason = error === null ? null : describeRefusal(error);
    // A note that is lost is repeated by the next try, or by the next start.
    noted = noted.then(() => noteOutage(database, name, reason, clock.now())).catch(() => undefined);
  }

  function isHeld(held: HeldPartition): boolean {
    return shares.of(held.partition.number) === held;
  }

  function finish(key: Key, items: readonly Item[], end: CallEnd): void {
    key.partition.end(key, end.kind === 'taken');
    if (end.kind === 'failed' || end.kind === 'late') failures.fail(items, end);
    else if (end.kind !== 'taken') for (const item of items) failures.acquit(item);
    if (end.kind === 'disabled') {
      closed = true;
      reader.abort();
      logger.error(
        { consumer: name, ...describeFault(end.error) },
        'the consumer asked not to be called again; it is disabled',
      );
      disabledBecause = describeRefusal(end.error);
      // Also this process looks, and says so in the database.
      options.onFreed();
    }
  }

  /* Writing: one statement at a time. */

  /** After a stall, others may have called what could be called here. */
  function isDoubtful(): boolean {
    return !closed && ready.length + quiet.length > 0 && outage.allows && !presence.isConfirmed;
  }

  /** Something must be asked, read or written at once. */
  function isPressing(): boolean {
    return isDoubtful() || canLoad() || isUrgent();
  }

  function isUrgent(): boolean {
    return shares.held.some(({ partition }) => partition.urgent);
  }

  /** Entries are read unless enough can be called already. */
  function canLoad(): boolean {
    return missing.length > 0 && ready.length < row.concurrency;
  }

  function work(): void {
    // While the memory is full, each event may make something passable; nothing does by itself.
    if (working === undefined && (isPressing() || isCrowded())) void serially(workAll).catch(() => undefined);
  }

  async function workAll(): Promise<void> {
    // Calls that end in the same turn share a statement.
    await Promise.resolve();
    for (let again = true; again; ) {
      if (isDoubtful()) await presence.confirm();
      again = canLoad();
      if (again) await load();
      if (isUrgent() || isCrowded()) again = (await write()) || again;
      pump();
    }
  }

  async function load(): Promise<void> {
    const keys = missing.slice(0, row.concurrency);
    const read = await readEntries(database, name, keys);
    missing.splice(0, keys.length);
    for (const key of keys) {
      const entries = read.get(key.name) ?? [];
      key.partition.load(key, entries, entries.length < ENTRIES);
    }
  }

  /** What other processes have parked. */
  async function know(): Promise<void> {
    const numbers = shares.held.map(({ partition }) => partition.number);
    const rows = Map.groupBy(await readParked(database, name, numbers), ({ partition }) => partition);
    for (const { partition } of shares.held) partition.know(rows.get(partition.number) ?? []);
  }

  /** Writes what there is to write; false if nothing. `final`: these partitions are given back. */
  async function write(final: readonly HeldPartition[] = []): Promise<boolean> {
    const moment = { now: clock.now(), elapsed: clock.elapsed(), full: isCrowded() };
    unsure ??= shares.held.flatMap((held) => {
      const { partition, lease, placeId } = held;
      const isFinal = final.includes(held);
      const progress = partition.plan({ ...moment, final: isFinal });
      return progress === null ? [] : [{ progress, lease, placeId, open: !isFinal }];
    });
    const writes = unsure;
    if (writes.length > 0) shares.written(writes, await writeProgress(database, name, writes, clock.now()));
    unsure = undefined;
    if (writes.length > 0) pump();
    return writes.length > 0;
  }

  /** The next write of what is done, or the next parked key that is due. */
  function arm(): void {
    if (closed && shares.held.length === 0) return;
    const never = Number.POSITIVE_INFINITY;
    const waits = shares.held.map(({ partition: { unwritten, dueAt } }) =>
      Math.min(unwritten > 0 ? row.placeMs : never, Math.max(0, dueAt - clock.now())),
    );
    // Calls that hang must leave the memory.
    const waitMs = Math.min(failing ? RETRY_MS : never, isFull() ? row.placeMs : never, ...waits);
    const at = clock.elapsed() + waitMs;
    if (waitMs === never || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    const cancel = clock.after(waitMs, () => {
      timer = undefined;
      wake();
      void serially(write).catch(() => undefined);
    });
    timer = { at, cancel };
  }

  function wake(): void {
    for (const { partition } of shares.held) partition.wake();
    pump();
  }

  /** Runs `step` when no other statement runs. Rejects with its error, which it also logs. */
  async function serially<T>(step: () => Promise<T>): Promise<T> {
    while (working !== undefined) await working;
    const turn = step();
    working = turn.then(
      () => {
        failing = false;
      },
      (err: unknown) => {
        if (!failing)
          logger.warn({ err, consumer: name }, 'a consumer does not reach the database; retrying');
        failing = true;
      },
    );
    try {
      return await turn;
    } catch (error) {
      note(error);
      throw error;
    } finally {
      working = undefined;
      arm();
      if (!failing && isPressing()) work();
      note();
    }
  }

  /** Calls in progress are aborted after a while. Returns a function that prevents it. */
  function endCalls(held: readonly HeldPartition[]): () => void {
    const abort = (): void => {
      for (const { aborting } of held) aborting.abort(new Error('the process is stopping'));
    };
    return clock.after(GRACE_MS, abort, { keepAlive: true });
  }

  /** Ends the work on partitions: nothing of them is repeated, unless calls take too long. */
  async function giveBack(held: readonly HeldPartition[]): Promise<void> {
    const cancel = endCalls(held);
    // The end of a call of a lost partition is not noted there.
    while (held.some((each) => each.partition.calls > 0 && isHeld(each)))
      await changed.promise.catch(() => undefined);
    cancel();
    // What may not have been committed contains nothing of the end.
    const finish = async () => (unsure === undefined || (await write())) && (await write(held));
    await serially(finish).catch((err: unknown) =>
      logger.warn({ err, consumer: name }, 'some changes of a consumer are repeated after this stop'),
    );
  }

  async function check(): Promise<void> {
    if (disabledBecause !== undefined) {
      await disableConsumer(database, row, disabledBecause);
      options.onFreed();
    }
    try {
      await shares.balance();
    } finally {
      await read();
    }
    if (shares.held.length > 0) {
      await serially(async () => {
        await know();
        // Also places that have moved past what the filter drops.
        await write();
      });
    }
    wake();
  }

  return {
    /** Looks for partitions to take or to give back, and for what other processes have parked. Throws as `query` does. */
    check,
    /**
     * Resolves when the feed was read to its end, what is due was called, unless the consumer is away, and everything is
     * written. Throws as `query` does.
     */
    async settle(): Promise<void> {
      const { lastSeq } = await feed.position();
      await check();
      for (;;) {
        await noted;
        if (closed || shares.held.length === 0) return;
        const canCall = outage.allows && (ready.length + quiet.length > 0 || position < lastSeq);
        if (running > 0 || working !== undefined || canCall) await changed.promise;
        else if (!(await serially(write))) return;
      }
    },
    /** Gives the partitions back: calls in progress get a few seconds, then places are written exactly. */
    async close(): Promise<void> {
      closed = true;
      reader.abort();
      const cancel = endCalls(shares.held);
      await shares.close();
      cancel();
      timer?.cancel();
      outage.close();
      await noted;
      note();
      await sink.close();
    },
  };
}
