import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type ActiveDelivery, activate, type Envelope, finished } from './active-delivery.ts';
import type { AroundAttempt } from './around-attempt.ts';
import { AttemptSlots, shapeRequest, unsentAttempt } from './attempt-slots.ts';
import { Backlog, type BacklogLimits, Fifo, type Ready, type Waiting } from './backlog.ts';
import type { Destination } from './configuration.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { Attempt, DeliveryEnd } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';
import type { Receivers } from './receivers.ts';
import { type AttemptResult, isSuccess } from './send-attempt.ts';
import { signEvent } from './sign-event.ts';

/** Limits of one account. */
export interface QueueLimits extends BacklogLimits {
  /** Concurrent attempts. */
  readonly attempts: number;
  /** Deliveries that have begun and not ended, including those that wait for a retry. */
  readonly deliveries: number;
}

/**
 * Port: called before an attempt of a delivery begins. If it returns false, the attempt waits until `begin` is called,
 * which calls the port again.
 */
export type MayBegin = (deliveryId: number, begin: () => void) => boolean;

export interface QueueOptions {
  readonly clock: Clock;
  readonly limits: QueueLimits;
  readonly around: AroundAttempt;
  readonly mayBegin: MayBegin;
  readonly log: DeliveryLog;
  readonly receivers: Receivers;
  /** The present destination of the account's events. */
  readonly destination: () => Destination | null;
  readonly load: (eventIds: readonly number[]) => Promise<readonly RecordedEvent[]>;
  readonly onLoadFailure: (error: unknown, retry: () => void) => void;
  /** Called when a delivery begins, after each attempt, and when it ends. */
  readonly onChange: (delivery: ActiveDelivery, end?: DeliveryEnd) => void;
  /** Called when the queue becomes idle. */
  readonly onIdle: () => void;
}

/**
 * Delivers the events of one account. An attempt that waits for its retry delay does not count as an open attempt, so a
 * receiver that refuses connections does not delay others. One that never answers only uses up its account's limit.
 * Implements `Delivery and signature: attempts, success, after final failure`.
 */
export class AccountQueue {
  readonly #options: QueueOptions;
  readonly #slots: AttemptSlots;
  readonly #backlog: Backlog;
  /** Begins as soon as the limit allows: retries, attempts that were delayed, repetitions. */
  readonly #due = new Fifo<() => void>();
  readonly #active = new Map<number, ActiveDelivery>();
  /** Deliveries whose next attempt may not begin yet. */
  readonly #keptBack = new Set<number>();
  /** Functions that end the repetitions in progress. */
  readonly #repetitions = new Set<() => void>();
  #pumping = false;
  #stopped = false;

  constructor(options: QueueOptions) {
    const { clock, receivers, limits } = options;
    this.#options = options;
    this.#slots = new AttemptSlots({ clock, receivers, limit: limits.attempts });
    this.#backlog = new Backlog({
      limits,
      load: options.load,
      onReady: () => this.pump(),
      onFailure: options.onLoadFailure,
    });
  }

  /** True when nothing is running or scheduled; deliveries that may not begin yet do not count. */
  get idle(): boolean {
    return (
      this.#active.size === this.#keptBack.size && this.#backlog.size === 0 && this.#repetitions.size === 0
    );
  }

  /** Adds an event. If the backlog is full, the event is dropped at once. */
  add(ready: Ready): void {
    if (this.#backlog.push(ready)) this.pump();
    else this.#writeDown(activate(ready), { outcome: 'dropped', reason: 'backlog_full' });
  }

  /** Sends an envelope once, independently of any delivery. Resolves with the result. */
  repeat(envelope: Envelope): Promise<Attempt> {
    return new Promise((resolve) => {
      let stopSending: (() => void) | undefined;
      const end = (attempt: Attempt): void => {
        this.#repetitions.delete(stop);
        resolve(attempt);
        this.#notifyIdle();
        this.pump();
      };
      const stop = (): void => {
        if (stopSending === undefined) end(unsentAttempt(this.#options.clock, 'stopped'));
        else stopSending();
      };
      this.#repetitions.add(stop);
      this.#due.push(() => {
        stopSending = this.#slots.send(envelope.url, shapeRequest(envelope), end);
      });
      this.pump();
    });
  }

  /** All open deliveries: those that have begun, and those that wait. */
  pending(): Waiting[] {
    return [...this.#active.values(), ...this.#backlog.list()];
  }

  /** An open delivery. */
  find(id: number): Waiting | undefined {
    return this.#active.get(id) ?? this.#backlog.list().find((waiting) => waiting.id === id);
  }

  /** Adds attempts to a delivery that has begun; false if it has not begun or has ended. */
  append(id: number, attempts: readonly Attempt[]): boolean {
    const delivery = this.#active.get(id);
    if (delivery === undefined) return false;
    delivery.attempts.push(...attempts);
    this.#reportChange(delivery);
    return true;
  }

  /** Begins as many attempts as the limits allow. */
  pump(): void {
    // Attempts may call this recursively; the loop below continues with them.
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (!this.#stopped && this.#slots.free) {
        const begin = this.#due.shift() ?? this.#takeNew();
        if (begin === undefined) break;
        begin();
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** Ends all attempts and begins no more. Deliveries that had begun end; waiting ones are discarded. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.clear();
    this.#due.clear();
    this.#keptBack.clear();
    for (const stop of [...this.#repetitions]) stop();
    for (const delivery of [...this.#active.values()]) {
      this.#active.delete(delivery.id);
      delivery.stop();
      this.#writeDown(delivery, { outcome: 'dropped', reason: 'interrupted' });
    }
    this.#options.onIdle();
  }

  #takeNew(): (() => void) | undefined {
    if (this.#active.size >= this.#options.limits.deliveries || this.#options.log.full) return undefined;
    const ready = this.#backlog.shift();
    if (ready === undefined) return undefined;
    const delivery = activate(ready);
    this.#active.set(delivery.id, delivery);
    return () => this.#begin(delivery);
  }

  /** Signs before the first attempt, and begins the attempt if it may. */
  #begin(delivery: ActiveDelivery): void {
    if (!this.#mayBegin(delivery.id, () => this.#begin(delivery))) return;
    // [delivery.identical]
    if (delivery.envelope === null) {
      delivery.envelope = this.#sign(delivery);
      if (delivery.envelope === null) {
        this.#finish(delivery, { outcome: 'dropped', reason: 'no_webhook' });
        return;
      }
      this.#reportChange(delivery);
    }
    this.#attempt(delivery, delivery.envelope);
  }

  /** Makes the next attempt. The port around it may delay it: then it waits for a place again. */
  #attempt(delivery: ActiveDelivery, envelope: Envelope): void {
    const { clock, around } = this.#options;
    const { id: deliveryId, subscriptionId, event, attempts } = delivery;
    delivery.made += 1;
    let hasPlace = true;
    let stop = (): void => undefined;
    delivery.stop = () => stop();
    stop = around({
      deliveryId,
      subscriptionId,
      event,
      number: delivery.made,
      envelope,
      clock,
      send: (shape, copies, ended) => {
        let stops: (() => void)[] = [];
        const begin = (): void => {
          if (!this.#mayBegin(deliveryId, begin)) return;
          stops = Array.from({ length: copies }, (_, copy) =>
            this.#slots.send(envelope.url, shape(), (sent, result) => ended(sent, result, copy)),
          );
        };
        if (hasPlace) begin();
        else this.#becomeDue(begin);
        return () => {
          for (const end of stops) end();
        };
      },
      record: (attempt) => void attempts.push(attempt),
      over: (result) => this.#decide(delivery, result),
    });
    hasPlace = false;
  }

  #mayBegin(id: number, begin: () => void): boolean {
    const may = this.#options.mayBegin(id, () => {
      if (this.#keptBack.delete(id)) this.#becomeDue(begin);
    });
    if (!may) {
      this.#keptBack.add(id);
      this.#notifyIdle();
    }
    return may;
  }

  #sign({ event, variant }: ActiveDelivery): Envelope | null {
    const destination = this.#options.destination();
    if (destination === null) return null;
    const { url, secret } = destination;
    const timestamp = this.#options.clock.now();
    const body = variant === undefined ? event.body : Buffer.from(variant.body);
    const signature = signEvent(secret, timestamp, body);
    const own = variant === undefined ? {} : { headers: variant.headers };
    return { url, secret, timestamp, signature, body, ...own };
  }

  #later(delivery: ActiveDelivery, ms: number): void {
    delivery.stop = this.#options.clock.after(ms, () => this.#becomeDue(() => this.#begin(delivery)));
  }

  #becomeDue(begin: () => void): void {
    this.#due.push(begin);
    this.pump();
  }

  /** After an attempt: ends the delivery, or schedules the next attempt. */
  #decide(delivery: ActiveDelivery, result: AttemptResult): void {
    if (!this.#active.has(delivery.id)) return;
    if (isSuccess(result)) this.#finish(delivery, { outcome: 'delivered', reason: null });
    // [delivery.dropped]
    else if (delivery.made >= LIMITS.webhookAttempts) {
      this.#finish(delivery, { outcome: 'dropped', reason: null });
    } else {
      // [delivery.attempts] [choice.attempts.from-end]
      this.#later(delivery, LIMITS.webhookAttemptDelaysMs[delivery.made] ?? 0);
      this.#reportChange(delivery);
    }
    this.pump();
  }

  #finish(delivery: ActiveDelivery, end: DeliveryEnd): void {
    this.#active.delete(delivery.id);
    this.#keptBack.delete(delivery.id);
    this.#writeDown(delivery, end);
    this.#notifyIdle();
  }

  #writeDown(delivery: ActiveDelivery, end: DeliveryEnd): void {
    this.#options.log.add(finished(delivery, end));
    this.#reportChange(delivery, end);
  }

  #reportChange(delivery: ActiveDelivery, end?: DeliveryEnd): void {
    this.#options.onChange(delivery, end);
  }

  #notifyIdle(): void {
    if (this.idle) this.#options.onIdle();
  }
}
