import type { Change } from '../../contract/connector/changes.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Feed } from '../feed/feed.ts';
import { dueAtOf } from '../work/planned.ts';
import type { Presence } from '../work/presence.ts';
import { callSink } from './call-sink.ts';
import type { CallMetrics } from './consumer-metrics.ts';
import {
  type ConsumerRow,
  disableConsumer,
  ENTRIES,
  readEntries,
  readParked,
  type Write,
  writeProgress,
} from './consumer-store.ts';
import { describeFailure } from './describe-failure.ts';
import { createOutage } from './outage.ts';
import type { Item, Key, ParkedRow } from './partition.ts';
import { partitionOf } from './partition-of.ts';
import { passes } from './passes.ts';
import { createShares, type HeldPartition } from './shares.ts';
import { type CallEnd, LONGEST_ASKED_MS, type Sink } from './sinks/sink.ts';

export interface ConsumerOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  readonly presence: Presence;
  readonly feed: Pick<Feed, 'subscribe' | 'position'>;
  readonly metrics: CallMetrics;
  readonly row: ConsumerRow;
  readonly sink: Sink;
  /** The permanent key of the change with this number. */
  readonly keyOf: (seq: number) => string;
  /** Other processes should look at the shares: some partitions are free. */
  readonly onFreed: () => void;
}

/** A consumer in this process. */
export interface Consumer {
  /** Looks for partitions to take or to give back, and for what other processes have parked. Throws as `query` does. */
  check(): Promise<void>;
  /**
   * Resolves when the feed was read to its end, what is due was called, unless the consumer is away, and everything is
   * written. Throws as `query` does.
   */
  settle(): Promise<void>;
  /** Gives the partitions back: calls in progress get a few seconds, then places are written exactly. */
  close(): Promise<void>;
}

/** The wait after a failed call of a change. */
const WAIT = { firstMs: 1_000, longestMs: 2 * 60_000, spread: 0.2 };
/** Longer than any wait. */
const LONGEST_WAIT_MS = LONGEST_ASKED_MS + 60_000;
/** Beyond one of these, nothing more is read into memory. */
const MAX_CHANGES = 5_000;
const MAX_BYTES = 16 * 2 ** 20;
/** How long calls in progress may take to finish when the process stops. */
const GRACE_MS = 8_000;
const RETRY_MS = 1_000;

/** Runs a consumer in this process: reads the feed, calls the sink, and writes how far it is. */
export function createConsumer(options: ConsumerOptions): Consumer {
  const { database, clock, logger, presence, row, sink, feed, metrics } = options;
  const { name } = row;
  const ready: Key[] = [];
  const isDue = (parked: ParkedRow): boolean =>
    dueAtOf(parked.dueAt, clock.now(), LONGEST_WAIT_MS) <= clock.now();
  const shares = createShares({
    ...options,
    limit: row.placeChanges,
    onReady: (key) => ready.push(key),
    isDue,
    giveBack,
  });
  const outage = createOutage({ ...options, consumer: name, onDue: pump });
  let running = 0;
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
  function read(): void {
    if (closed || shares.held.every((held) => reading.has(held))) return;
    reader.abort();
    reader = new AbortController();
    const { signal } = reader;
    reading = new Set(shares.held);
    position = Math.min(...shares.held.map(({ partition }) => partition.readTo));
    void feed.subscribe(position, (changes) => take(changes, signal), signal);
  }

  async function take(changes: readonly Change[], signal: AbortSignal): Promise<void> {
    for (const change of changes) {
      const held = shares.of(partitionOf(change.connectionId));
      if (held === undefined || !reading.has(held)) continue;
      held.partition.offer(change.seq, passes(change, row.filter) ? change : null);
    }
    position = changes.at(-1)?.seq ?? position;
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
      const key = ready.shift();
      if (key === undefined) break;
      begin(key);
    }
    work();
    if (timer === undefined) arm();
    note();
  }

  function begin(key: Key): void {
    const { partition } = key;
    const held = shares.of(partition.number);
    const [first] = key.items;
    if (held?.partition !== partition || held.leaving || held.lost.aborted || closed) return;
    if (partition.isFull) partition.hold(key);
    else if (first?.suspect === true && partition.canBegin(key)) suspect(key, first);
    else {
      const items = partition.begin(key, row.batch, clock.elapsed());
      if (items.length > 0) void call(held, key, items);
    }
  }

  /** The previous owner may have died of this change: the attempt counts unless it ends well. */
  function suspect(key: Key, item: Item): void {
    const lastError = describeFailure(new ProcessEnded());
    key.listed = false;
    if (item.attempts >= row.attempts) {
      giveUp(key, item, new ProcessEnded());
      return;
    }
    const dueAt = clock.now() + backOffMs(item.attempts + 1, WAIT, options.random());
    key.partition.suspect(item, { dueAt, lastError }, clock.now());
  }

  async function call(held: HeldPartition, key: Key, items: readonly Item[]): Promise<void> {
    const [first] = items;
    if (first === undefined) return;
    running += 1;
    const isTry = outage.begin();
    const beganAt = clock.elapsed();
    const changes = items.map(({ change, seq }) => ({ change, key: options.keyOf(seq) }));
    const end = await callSink(
      sink,
      { changes, attempt: first.attempts + 1 },
      { clock, consumer: name, deadlineMs: row.deadlineMs, stop: held.stop },
    );
    running -= 1;
    metrics.calls.inc({ result: end.kind });
    metrics.seconds.observe((clock.elapsed() - beganAt) / 1_000);
    outage.end(end, isTry);
    if (shares.of(held.partition.number) === held) finish(key, items, end);
    pump();
  }

  function finish(key: Key, items: readonly Item[], end: CallEnd): void {
    const { partition } = key;
    partition.end(key, end.kind === 'taken');
    if (end.kind === 'failed' || end.kind === 'late') {
      if (row.settings !== null && 'ordered' in row.settings && !row.settings.ordered) {
        for (const item of items) partition.separate(item);
        for (const item of items) fail(item, end);
      } else for (const item of items.slice(0, 1)) fail(item, end);
    }
    if (end.kind === 'stopped' || end.kind === 'unavailable' || end.kind === 'disabled')
      for (const item of items) partition.acquit(item, clock.now());
    if (end.kind === 'disabled') {
      closed = true;
      reader.abort();
      logger.error(
        { consumer: name, ...describeFault(end.error) },
        'the consumer asked not to be called again; it is disabled',
      );
      disabledBecause = describeFailure(end.error);
      disable(disabledBecause).catch((err: unknown) =>
        logger.warn({ err, consumer: name }, 'the consumer could not be disabled; retrying'),
      );
    }
  }

  async function disable(reason: string): Promise<void> {
    await disableConsumer(database, name, reason);
    options.onFreed();
  }

  /** Another call of the change has failed: it is retried later, or set aside. */
  function fail(item: Item, end: Extract<CallEnd, { kind: 'failed' | 'late' }>): void {
    const { key } = item;
    const attempts = item.attempts + 1;
    if (attempts >= row.attempts) {
      item.attempts = attempts;
      giveUp(key, item, end.error);
      return;
    }
    const asked = Math.min(end.retryAfterMs ?? 0, LONGEST_ASKED_MS);
    const delayMs = Math.max(backOffMs(attempts, WAIT, options.random()), asked);
    // The message may repeat what a customer wrote, so only the dead letter has it.
    logger.warn(
      { ...details(key, item, end.error, attempts), delayMs },
      'the consumer did not accept a change; it is retried, and its connection waits',
    );
    const lastError = describeFailure(end.error);
    const now = clock.now();
    key.partition.retry(item, { attempts, dueAt: now + delayMs, lastError }, now);
  }

  function giveUp(key: Key, item: Item, error: unknown): void {
    logger.error(
      details(key, item, error, item.attempts),
      'the consumer did not accept a change in its last attempt; it is now a dead letter',
    );
    key.partition.setAside(item, describeFailure(error));
  }

  function details({ connectionId }: Key, { seq }: Item, error: unknown, attempt: number) {
    return { ...describeFault(error), consumer: name, connectionId, changeId: options.keyOf(seq), attempt };
  }

  /* Writing: one statement at a time. */

  /** After a stall, others may have called what could be called here. */
  function isDoubtful(): boolean {
    return !closed && ready.length > 0 && outage.allows && !presence.isConfirmed;
  }

  /** Something must be read or written at once. */
  function isPressing(): boolean {
    const { held } = shares;
    if (isDoubtful()) return true;
    if (held.some(({ partition }) => partition.isStale || partition.urgent)) return true;
    return ready.length < row.concurrency && held.some(({ partition }) => partition.missing.length > 0);
  }

  function work(): void {
    if (working === undefined && (isPressing() || isCrowded())) void serially(workAll).catch(() => undefined);
  }

  async function workAll(): Promise<void> {
    // Calls that end in the same turn share a statement.
    await Promise.resolve();
    for (let again = true; again; ) {
      if (isDoubtful()) {
        await presence.confirm();
        pump();
      }
      const stale = shares.held.filter(({ partition }) => partition.isStale);
      if (stale.length > 0) await know(stale);
      again = await load();
      if (isCrowded() || shares.held.some(({ partition }) => partition.urgent))
        again = (await write()) || again;
    }
  }

  /** Reads entries of keys that can be called, unless enough can be called already. */
  async function load(): Promise<boolean> {
    if (ready.length >= row.concurrency) return false;
    const keys = shares.held.flatMap(({ partition }) => partition.missing).slice(0, row.concurrency);
    if (keys.length === 0) return false;
    const read = await readEntries(database, name, keys);
    for (const key of keys) {
      const entries = read.get(key.name) ?? [];
      key.partition.load(key, entries, entries.length < ENTRIES);
    }
    pump();
    return true;
  }

  async function know(held: readonly HeldPartition[]): Promise<void> {
    const rows = await readParked(
      database,
      name,
      held.map(({ partition }) => partition.number),
    );
    for (const { partition } of held) {
      partition.know(
        rows.filter((row) => row.partition === partition.number),
        isDue,
      );
    }
    pump();
  }

  /** Writes what there is to write; false if nothing. `final`: these partitions are given back. */
  async function write(final: readonly HeldPartition[] = []): Promise<boolean> {
    const times = { now: clock.now(), elapsed: clock.elapsed(), full: isCrowded() };
    unsure ??= shares.held.flatMap((held) => {
      const isFinal = final.includes(held);
      const progress = held.partition.plan({ ...times, final: isFinal });
      return progress === null ? [] : [{ progress, lease: held.lease, open: !isFinal }];
    });
    if (unsure.length > 0) {
      const { held, ended, written } = await writeProgress(database, name, unsure, clock.now());
      const revisions = new Map(written.map(({ key, revision }) => [key, revision]));
      for (const { progress, lease } of unsure) {
        const current = shares.of(progress.partition);
        // It may have been lost and taken again since.
        if (current?.lease !== lease) continue;
        if (held.includes(progress.partition)) current.partition.written(progress, revisions, new Set(ended));
        else shares.drop(progress.partition);
      }
    }
    const wrote = unsure.length > 0;
    unsure = undefined;
    if (wrote) pump();
    return wrote;
  }

  /** The next write of what is done, or the next parked key that is due. */
  function arm(): void {
    if (closed && shares.held.length === 0) return;
    const now = clock.now();
    let waitMs = failing ? RETRY_MS : Number.POSITIVE_INFINITY;
    // Calls that hang must leave the memory.
    if (isFull()) waitMs = Math.min(waitMs, row.placeMs);
    for (const { partition } of shares.held) {
      if (partition.unwritten > 0 || partition.parked > 0) waitMs = Math.min(waitMs, row.placeMs);
      waitMs = Math.min(waitMs, Math.max(0, partition.dueAt - now));
    }
    const at = clock.elapsed() + waitMs;
    if (waitMs === Number.POSITIVE_INFINITY || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    const cancel = clock.after(waitMs, () => {
      timer = undefined;
      wake();
      void serially(write).catch(() => undefined);
    });
    timer = { at, cancel };
  }

  function wake(): void {
    for (const { partition } of shares.held) partition.wake(isDue);
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
    while (held.some(({ partition, lost }) => partition.calls > 0 && !lost.aborted))
      await changed.promise.catch(() => undefined);
    cancel();
    const finish = async (): Promise<void> => {
      // What may not have been committed contains nothing of the end.
      if (unsure !== undefined) await write();
      await write(held);
    };
    await serially(finish).catch((err: unknown) =>
      logger.warn(
        { err, consumer: name },
        'the places of a consumer could not be written; some changes are repeated',
      ),
    );
  }

  async function check(): Promise<void> {
    if (disabledBecause !== undefined) await disable(disabledBecause);
    await shares.balance().finally(read);
    if (shares.held.length > 0) {
      await serially(async () => {
        await know(shares.held);
        // Also places that have moved past what the filter drops.
        await write();
      });
    }
    wake();
  }

  return {
    check,
    async settle() {
      const { lastSeq } = await feed.position();
      await check();
      for (;;) {
        if (closed || shares.held.length === 0) return;
        const canCall = outage.allows && (ready.length > 0 || position < lastSeq);
        const busy = running > 0 || working !== undefined || canCall;
        if (busy) await changed.promise;
        else if (!(await serially(write))) return;
      }
    },
    async close() {
      closed = true;
      reader.abort();
      const cancel = endCalls(shares.held);
      await shares.close();
      cancel();
      timer?.cancel();
      outage.close();
      note();
      await sink.close();
    },
  };
}

/** Stands for the error of a process that died. */
class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';

  constructor() {
    super('the process ended while it dispatched');
  }
}
