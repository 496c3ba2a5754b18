import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type ActiveDelivery, activate, type Envelope, finished } from './active-delivery.ts';
import { AttemptSlots, unsentAttempt } from './attempt-slots.ts';
import { Backlog, type BacklogLimits, Fifo, type Ready, type Waiting } from './backlog.ts';
import type { Destination } from './configuration.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { Attempt, DeliveryOutcome, DropReason } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';
import type { Receivers } from './receivers.ts';
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
  /** Called when nothing is left to do. */
  readonly onIdle: () => void;
}

type Fault<Type extends WebhookFault['type']> = Extract<WebhookFault, { type: Type }>;

function findFault<Type extends WebhookFault['type']>(
  faults: readonly WebhookFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
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
  readonly #held = new Set<ActiveDelivery>();
  /** Ends a repetition that is not over. */
  readonly #repetitions = new Set<() => void>();
  #pumping = false;
  #stopped = false;

  constructor(options: LaneOptions) {
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

  get idle(): boolean {
    return this.#active.size === 0 && this.#backlog.size === 0 && this.#repetitions.size === 0;
  }

  /** Takes an event in. One that finds the backlog full is dropped at once. */
  add(ready: Ready): void {
    if (this.#backlog.push(ready)) this.pump();
    else this.#options.log.add(finished(activate(ready), 'dropped', 'backlog_full'));
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
  pending(): (Waiting | ActiveDelivery)[] {
    return [...this.#active.values(), ...this.#backlog.list()];
  }

  /** A delivery that has begun and is not over. */
  find(id: number): ActiveDelivery | undefined {
    return this.#active.get(id);
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
    for (const stop of [...this.#repetitions]) stop();
    for (const delivery of [...this.#active.values()]) {
      this.#active.delete(delivery.id);
      delivery.stop();
      this.#options.log.add(finished(delivery, 'dropped', 'interrupted'));
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

  /** Signs before the first attempt, draws the faults, and begins the attempt when nothing holds it. */
  #begin(delivery: ActiveDelivery): void {
    delivery.envelope ??= this.#sign(delivery.event);
    if (delivery.envelope === null) {
      this.#finish(delivery, 'dropped', 'no_webhook');
      return;
    }
    if (delivery.faults === null) {
      delivery.faults = this.#options.faults.decide(delivery.event, delivery.made + 1);
      if (this.#hold(delivery, delivery.faults)) return;
    }
    this.#attempt(delivery, delivery.envelope, delivery.faults);
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
  #hold(delivery: ActiveDelivery, faults: readonly WebhookFault[]): boolean {
    if (faults.length === 0) return false;
    const reorder = findFault(faults, 'reorder');
    const ms = (findFault(faults, 'delay')?.ms ?? 0) + (reorder?.ms ?? 0);
    if (ms === 0) return false;
    if (reorder !== undefined) this.#held.add(delivery);
    this.#later(delivery, ms);
    return true;
  }

  #later(delivery: ActiveDelivery, ms: number): void {
    delivery.stop = this.#options.clock.after(ms, () => this.#becomeDue(delivery));
  }

  #becomeDue(delivery: ActiveDelivery): void {
    this.#held.delete(delivery);
    this.#due.push(() => this.#begin(delivery));
    this.pump();
  }

  #attempt(delivery: ActiveDelivery, envelope: Envelope, faults: readonly WebhookFault[]): void {
    delivery.made += 1;
    delivery.faults = null;
    if (faults.length > 0) {
      this.#attemptWithFaults(delivery, envelope, faults);
      return;
    }
    delivery.stop = this.#slots.send(envelope, faults, [], (attempt, result) => {
      delivery.attempts.push(attempt);
      this.#decide(delivery, result);
    });
  }

  /** As an attempt, but it may stay away or come in copies. The first copy's answer is the attempt's. */
  #attemptWithFaults(delivery: ActiveDelivery, envelope: Envelope, faults: readonly WebhookFault[]): void {
    const names = faults.map((fault) => fault.name);
    if (findFault(faults, 'drop') !== undefined) {
      delivery.attempts.push(unsentAttempt(this.#options.clock, 'dropped', names));
      this.#decide(delivery, { error: 'dropped' });
      return;
    }
    const copies = 1 + (findFault(faults, 'duplicate')?.times ?? 0);
    const stops: (() => void)[] = [];
    let open = copies;
    let answer: AttemptResult = {};
    delivery.stop = () => {
      for (const stop of stops) stop();
    };
    for (let copy = 0; copy < copies; copy += 1) {
      const stop = this.#slots.send(envelope, faults, names, (attempt, result) => {
        delivery.attempts.push(attempt);
        if (copy === 0) answer = result;
        open -= 1;
        if (open === 0) this.#decide(delivery, answer);
      });
      stops.push(stop);
    }
  }

  /** After an attempt: over, or the next one after its delay. */
  #decide(delivery: ActiveDelivery, result: AttemptResult): void {
    if (!this.#active.has(delivery.id)) return;
    if (isSuccess(result)) this.#finish(delivery, 'delivered');
    else if (delivery.made >= LIMITS.webhookAttempts) this.#finish(delivery, 'dropped');
    else this.#later(delivery, LIMITS.webhookAttemptDelaysMs[delivery.made] ?? 0);
    this.pump();
  }

  #finish(
    delivery: ActiveDelivery,
    outcome: Exclude<DeliveryOutcome, 'pending'>,
    reason: DropReason | null = null,
  ): void {
    this.#active.delete(delivery.id);
    this.#held.delete(delivery);
    this.#options.log.add(finished(delivery, outcome, reason));
    if (outcome === 'delivered') this.#releaseHeld();
    this.#tellIdle();
  }

  /** Another event has overtaken those that were held for it. */
  #releaseHeld(): void {
    for (const delivery of [...this.#held]) {
      delivery.stop();
      this.#becomeDue(delivery);
    }
  }

  #tellIdle(): void {
    if (this.idle) this.#options.onIdle();
  }
}
