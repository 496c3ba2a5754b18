import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { AroundAttempt } from './around-attempt.ts';
import type { Destination } from './configuration.ts';
import type { Attempt, DeliveryRecord } from './delivery-record.ts';
import { claimByIndex, type EndedAttempt, endAttempts } from './delivery-rows.ts';
import type { Receivers } from './receivers.ts';
import { type AttemptResult, isSuccess, sendAttempt } from './send-attempt.ts';
import type { ShapedAttempt } from './signed-body.ts';

const RETRY_MS = 1_000;
/** Attempts that have begun, and are not stored yet: a claim passes over each of them. */
const MOST_BEGUN = 1_000;

export interface QueueOptions {
  readonly subscriptionId: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Requests at once. An attempt that waits, for a retry or because of a port, does not count. */
  readonly attemptsAtOnce: number;
  readonly around: AroundAttempt;
  readonly receivers: Receivers;
  /** The present destination of the account's events. */
  readonly destination: () => Destination | null;
  /** Called when an attempt begins, and when it has ended and is stored. */
  readonly onChange: (delivery: DeliveryRecord) => void;
  /** Called when the queue becomes idle. */
  readonly onIdle: () => void;
}

/**
 * Delivers the events of one account: claims rows that are due, sends them, and stores each result.
 * Implements `Delivery and signature: attempts, success, after final failure`.
 */
export class AccountQueue {
  readonly #options: QueueOptions;
  /** Functions that end the requests, and the waits of ports, in progress. */
  readonly #running = new Set<() => void>();
  readonly #timers = new Set<() => void>();
  /** Deliveries whose attempt has begun, until its end is stored. */
  readonly #begun = new Map<number, DeliveryRecord>();
  /** Attempts that have ended, and are not stored yet. */
  readonly #ended: EndedAttempt[] = [];
  readonly #ending = new AbortController();
  #open = 0;
  /** More may be due than was claimed. */
  #isMoreDue = false;
  /** Stores and claims at the same time, and then again: a statement serves what happened during the last ones. */
  #working: Promise<void> | null = null;
  /** Decides what is due: it goes on while the clock of the machine is behind, and delays no delivery. */
  #latest = 0;
  #readAt = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** True when nothing is running or scheduled; deliveries that are held do not count. */
  get idle(): boolean {
    const active = this.#begun.size + this.#timers.size + this.#open;
    return active === 0 && this.#working === null && !this.#isMoreDue;
  }

  /** A stored delivery with what its first attempt has fixed, if that goes on. */
  present(delivery: DeliveryRecord): DeliveryRecord {
    const { envelope, url, headers } = this.#begun.get(delivery.id) ?? delivery;
    return { ...delivery, envelope, url, headers };
  }

  /** Deliveries may have become due. Returns at once. */
  wake(): void {
    this.#isMoreDue = true;
    this.#pump();
  }

  /** Resolves when what was due has begun, or as many requests are open as there may be. */
  async begun(): Promise<void> {
    while (this.#working !== null) {
      await this.#working;
      if (this.#free <= 0) return;
    }
  }

  /** Sends one request, of an attempt or by itself, and calls `done` once. Returns a function that ends it early. */
  send(
    url: string,
    { headers, body }: ShapedAttempt,
    done: (attempt: Attempt, result: AttemptResult) => void,
  ): () => void {
    const { clock, receivers } = this.#options;
    const { path, dispatcher } = receivers.find(url);
    const at = clock.now();
    const began = clock.elapsed();
    this.#open += 1;
    const stop = sendAttempt(
      dispatcher,
      { path, headers, body },
      // [delivery.timeout]
      { clock, deadlineMs: LIMITS.webhookAttemptTimeoutMs },
      (result) => {
        this.#open -= 1;
        this.#running.delete(stop);
        done({ at, ms: Math.round(clock.elapsed() - began), ...result }, result);
        this.#pump();
      },
    );
    this.#running.add(stop);
    return stop;
  }

  /** Ends all attempts and begins no more. Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#isMoreDue = false;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    for (const end of [...this.#running]) end();
    this.#running.clear();
    while (this.#working !== null) await this.#working;
    this.#begun.clear();
    this.#options.onIdle();
  }

  #now(): number {
    const { clock } = this.#options;
    const elapsed = clock.elapsed();
    this.#latest = Math.max(this.#latest + elapsed - this.#readAt, clock.now());
    this.#readAt = elapsed;
    return Math.floor(this.#latest);
  }

  get #free(): number {
    return Math.min(this.#options.attemptsAtOnce - this.#open, MOST_BEGUN - this.#begun.size);
  }

  #pump(): void {
    if (this.#working !== null) return;
    if (this.#ended.length === 0 && !this.#canClaim) this.#notifyIdle();
    else {
      this.#working = this.#work().finally(() => {
        this.#working = null;
        this.#pump();
      });
    }
  }

  get #canClaim(): boolean {
    return !this.#ending.signal.aborted && this.#isMoreDue && this.#free > 0;
  }

  async #work(): Promise<void> {
    await Promise.all([this.#ended.length > 0 && this.#write(), this.#canClaim && this.#claim()]);
  }

  async #claim(): Promise<void> {
    const { database, clock, logger, subscriptionId, destination } = this.#options;
    const limit = this.#free;
    this.#isMoreDue = false;
    try {
      const except = [...this.#begun.keys()];
      const due = { subscriptionId, now: this.#now(), limit, except };
      const claim = { ...due, destination: destination(), signedAt: clock.now() };
      const claimed = await database.transaction((tx) => claimByIndex(tx, claim));
      if (claimed.length === limit) this.#isMoreDue = true;
      for (const delivery of claimed) this.#attempt(delivery);
    } catch (error) {
      logger.warn({ err: error, subscriptionId }, 'deliveries could not be read; retrying');
      this.#wakeAt(this.#now() + RETRY_MS);
    }
  }

  #wakeAt(dueAt: number): void {
    if (this.#ending.signal.aborted) return;
    const cancel = this.#options.clock.after(Math.max(0, dueAt - this.#now()), () => {
      this.#timers.delete(cancel);
      this.#latest = Math.max(this.#latest, dueAt);
      this.wake();
    });
    this.#timers.add(cancel);
  }

  #attempt(delivery: DeliveryRecord): void {
    const { clock, around, onChange } = this.#options;
    const { envelope, made: number } = delivery;
    if (this.#ending.signal.aborted) return;
    this.#begun.set(delivery.id, delivery);
    if (envelope === null) {
      this.#store({ delivery, attempts: [], outcome: 'dropped', reason: 'no_webhook', dueAt: null });
      return;
    }
    if (number === 1) onChange(delivery);
    const attempts: Attempt[] = [];
    let stop = (): void => undefined;
    const end = (): void => stop();
    this.#running.add(end);
    stop = around({
      delivery,
      number,
      envelope,
      clock,
      send: (shape, ended) => this.send(envelope.url, shape, ended),
      record: (attempt) => void attempts.push(attempt),
      over: (result) => {
        this.#running.delete(end);
        this.#store({ delivery, attempts, ...this.#decide(number, result) });
      },
    });
  }

  /** After an attempt: ends the delivery, or schedules the next attempt. */
  #decide(number: number, result: AttemptResult): Pick<EndedAttempt, 'outcome' | 'reason' | 'dueAt'> {
    if (isSuccess(result)) return { outcome: 'delivered', reason: null, dueAt: null };
    // [delivery.dropped]
    if (number >= LIMITS.webhookAttempts) return { outcome: 'dropped', reason: null, dueAt: null };
    // [delivery.attempts] [choice.attempts.from-end]
    const dueAt = this.#now() + (LIMITS.webhookAttemptDelaysMs[number] ?? 0);
    return { outcome: 'pending', reason: null, dueAt };
  }

  #store(end: EndedAttempt): void {
    this.#ended.push(end);
    this.#pump();
  }

  /** Stores what has ended. If that fails, it is tried again, unless the queue stops. */
  async #write(): Promise<void> {
    const { database, clock, logger, onChange } = this.#options;
    const { signal } = this.#ending;
    const batch = [...this.#ended];
    try {
      const stored = await endAttempts(database, batch);
      this.#ended.splice(0, batch.length);
      for (const { delivery } of batch) this.#begun.delete(delivery.id);
      for (const { dueAt } of batch) if (dueAt !== null) this.#wakeAt(dueAt);
      for (const record of stored) onChange(record);
    } catch (error) {
      logger.warn({ err: error, count: batch.length }, 'attempts are not stored yet');
      if (signal.aborted) this.#ended.length = 0;
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }

  #notifyIdle(): void {
    if (this.idle) this.#options.onIdle();
  }
}
