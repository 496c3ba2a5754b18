import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type ActiveDelivery, activate, type Envelope, finished } from './active-delivery.ts';
import { AttemptSlots, unsentAttempt } from './attempt-slots.ts';
import { Backlog, type BacklogLimits, Fifo, type Ready, type Waiting } from './backlog.ts';
import type { Destination } from './configuration.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { Attempt, DeliveryEnd } from './delivery-record.ts';
import { HeldDeliveries, type Holdable } from './held-deliveries.ts';
import type { RecordedEvent } from './ledger.ts';
import { findFault, makeAttempt } from './make-attempt.ts';
import type { Receivers } from './receivers.ts';
import { ReorderPile } from './reorder-pile.ts';
import { type AttemptResult, isSuccess } from './send-attempt.ts';
import { signEvent } from './sign-event.ts';
import type { WebhookFault, WebhookFaults } from './webhook-faults.ts';

/** How much one account may have under way. */
export interface LaneLimits extends BacklogLimits {
  /** Attempts open at once. */
  readonly attempts: number;
  /** Deliveries begun and not over, those that wait for a retry included. */
  readonly deliveries: number;
}

export interface LaneOptions {
  readonly clock: Clock;
  readonly limits: LaneLimits;
  readonly faults: WebhookFaults;
  readonly log: DeliveryLog;
  readonly receivers: Receivers;
  /** Where events of this account go now. */
  readonly destination: () => Destination | null;
  readonly load: (eventIds: readonly number[]) => Promise<readonly RecordedEvent[]>;
  readonly onLoadFailure: (error: unknown, retry: () => void) => void;
  /** Called when a delivery begins, after each attempt, when it is held or released, and when it is over. */
  readonly onChange: (delivery: Holdable<ActiveDelivery>, end?: DeliveryEnd) => void;
  /** Called when nothing is left to do. */
  readonly onIdle: () => void;
}

/**
 * Delivers the events of one account. An attempt that waits for its time holds no place among the open
 * attempts, so a receiver that refuses connections delays nobody; one that never answers fills its own
 * account's places alone. Implements `Delivery and signature: attempts, success, after final failure`.
 */
export class AccountLane {
  readonly #options: LaneOptions;
  readonly #slots: AttemptSlots;
  readonly #backlog: Backlog;
  /** What begins as soon as there is a place: retries, held attempts, repetitions. */
  readonly #due = new Fifo<() => void>();
  readonly #active = new Map<number, ActiveDelivery>();
  readonly #reordered: ReorderPile;
  readonly #held = new HeldDeliveries();
  /** Ends a repetition that is not over. */
  readonly #repetitions = new Set<() => void>();
  #pumping = false;
  #stopped = false;

  constructor(options: LaneOptions) {
    const { clock, receivers, limits } = options;
    this.#options = options;
    this.#slots = new AttemptSlots({ clock, receivers, limit: limits.attempts });
    this.#reordered = new ReorderPile({ clock, release: (delivery) => this.#becomeDue(delivery) });
    this.#backlog = new Backlog({
      limits,
      load: options.load,
      onReady: () => this.pump(),
      onFailure: options.onLoadFailure,
    });
  }

  /** Nothing goes on by itself: all is over, or held. */
  get idle(): boolean {
    return (
      this.#active.size === this.#held.parked && this.#backlog.size === 0 && this.#repetitions.size === 0
    );
  }

  /** Takes an event in. One that finds the backlog full is dropped at once. */
  add(ready: Ready): void {
    if (this.#backlog.push(ready)) this.pump();
    else this.#writeDown(activate(ready), { outcome: 'dropped', reason: 'backlog_full' });
  }

  /** Sends bytes once, beside the attempts of any delivery. Resolves with how it went. */
  repeat(envelope: Envelope, names: readonly string[]): Promise<Attempt> {
    return new Promise((resolve) => {
      let stopSending: (() => void) | undefined;
      const end = (attempt: Attempt): void => {
        this.#repetitions.delete(stop);
        resolve(attempt);
        this.#tellIdle();
        this.pump();
      };
      const stop = (): void => {
        if (stopSending === undefined) end(unsentAttempt(this.#options.clock, 'stopped', names));
        else stopSending();
      };
      this.#repetitions.add(stop);
      this.#due.push(() => {
        stopSending = this.#slots.send(envelope, [], names, end);
      });
      this.pump();
    });
  }

  /** Everything that is not over: what has begun, and what waits. */
  pending(): Holdable<Waiting>[] {
    return [...this.#active.values(), ...this.#backlog.list()].map((delivery) => this.#view(delivery));
  }

  /** A delivery that is not over. */
  find(id: number): Holdable<Waiting> | undefined {
    const found = this.#active.get(id) ?? this.#backlog.list().find((waiting) => waiting.id === id);
    return found === undefined ? undefined : this.#view(found);
  }

  /** Writes attempts made by hand down in a delivery that has begun; false when it has not, or is over. */
  append(id: number, attempts: readonly Attempt[]): boolean {
    const delivery = this.#active.get(id);
    if (delivery === undefined) return false;
    delivery.attempts.push(...attempts);
    this.#tellChange(id);
    return true;
  }

  /** Holds a delivery before its next attempt; false when it is over or not of this lane. */
  hold(id: number): boolean {
    if (this.find(id) === undefined) return false;
    this.#held.hold(id);
    this.#tellChange(id);
    return true;
  }

  /** Lets a held delivery go on; false when it is not held. */
  release(id: number): boolean {
    if (!this.#held.release(id)) return false;
    this.#tellChange(id);
    return true;
  }

  /** Begins as many attempts as there are places for. */
  pump(): void {
    // What an attempt sets off at once comes back here; the loop below goes on with it.
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

  /** Ends all attempts and begins no more. What had begun is over; what waited is forgotten. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.clear();
    this.#due.clear();
    this.#held.clear();
    this.#reordered.clear();
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

  /** Signs before the first attempt, draws the faults, and begins the attempt when nothing keeps it back. */
  #begin(delivery: ActiveDelivery): void {
    if (this.#held.park(delivery.id, () => this.#becomeDue(delivery))) {
      this.#tellIdle();
      return;
    }
    if (delivery.envelope === null) {
      delivery.envelope = this.#sign(delivery.event);
      if (delivery.envelope === null) {
        this.#finish(delivery, { outcome: 'dropped', reason: 'no_webhook' });
        return;
      }
      this.#tell(delivery);
    }
    if (delivery.faults === null) {
      delivery.faults = this.#options.faults.decide(delivery.event, delivery.made + 1);
      if (this.#postpone(delivery, delivery.faults)) return;
    }
    makeAttempt(delivery, delivery.envelope, delivery.faults, {
      slots: this.#slots,
      clock: this.#options.clock,
      over: (result) => this.#decide(delivery, result),
    });
  }

  #sign(event: RecordedEvent): Envelope | null {
    const destination = this.#options.destination();
    if (destination === null) return null;
    const { url, secret } = destination;
    const timestamp = this.#options.clock.now();
    const signature = signEvent(secret, timestamp, event.body);
    return { url, secret, timestamp, signature, body: event.body };
  }

  /** Faults of time keep an attempt back once; it comes back as due, with its faults drawn. */
  #postpone(delivery: ActiveDelivery, faults: readonly WebhookFault[]): boolean {
    if (faults.length === 0) return false;
    const reorder = findFault(faults, 'reorder');
    const ms = (findFault(faults, 'delay')?.ms ?? 0) + (reorder?.ms ?? 0);
    if (ms === 0) return false;
    if (reorder === undefined) this.#later(delivery, ms);
    else this.#reordered.keep(delivery, ms);
    return true;
  }

  #later(delivery: ActiveDelivery, ms: number): void {
    delivery.stop = this.#options.clock.after(ms, () => this.#becomeDue(delivery));
  }

  #becomeDue(delivery: ActiveDelivery): void {
    this.#due.push(() => this.#begin(delivery));
    this.pump();
  }

  /** After an attempt: over, or the next one after its delay. */
  #decide(delivery: ActiveDelivery, result: AttemptResult): void {
    if (!this.#active.has(delivery.id)) return;
    this.#reordered.attempted(delivery);
    if (isSuccess(result)) this.#finish(delivery, { outcome: 'delivered', reason: null });
    else if (delivery.made >= LIMITS.webhookAttempts) {
      this.#finish(delivery, { outcome: 'dropped', reason: null });
    } else {
      this.#later(delivery, LIMITS.webhookAttemptDelaysMs[delivery.made] ?? 0);
      this.#tell(delivery);
    }
    this.pump();
  }

  #finish(delivery: ActiveDelivery, end: DeliveryEnd): void {
    this.#active.delete(delivery.id);
    this.#reordered.remove(delivery);
    this.#held.forget(delivery.id);
    this.#writeDown(delivery, end);
    if (end.outcome === 'delivered') this.#reordered.delivered(delivery.id);
    this.#tellIdle();
  }

  #writeDown(delivery: ActiveDelivery, end: DeliveryEnd): void {
    this.#options.log.add(finished(delivery, end));
    this.#tell(delivery, end);
  }

  #view<Delivery extends Waiting>(delivery: Delivery): Holdable<Delivery> {
    return this.#held.has(delivery.id) ? { ...delivery, held: true } : delivery;
  }

  #tell(delivery: ActiveDelivery, end?: DeliveryEnd): void {
    this.#options.onChange(this.#view(delivery), end);
  }

  #tellChange(id: number): void {
    const delivery = this.#active.get(id);
    if (delivery !== undefined) this.#tell(delivery);
  }

  #tellIdle(): void {
    if (this.idle) this.#options.onIdle();
  }
}
