import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type ActiveDelivery, activate, type Envelope, finished } from './active-delivery.ts';
import { Backlog, type BacklogLimits, Fifo, type Ready, type Waiting } from './backlog.ts';
import type { Destination } from './configuration.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { DeliveryOutcome, DropReason } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';
import type { Receivers } from './receivers.ts';
import { type AttemptResult, isSuccess, sendAttempt } from './send-attempt.ts';
import { shapeAttempt } from './shape-attempt.ts';
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
  readonly #backlog: Backlog;
  readonly #due = new Fifo<ActiveDelivery>();
  readonly #active = new Set<ActiveDelivery>();
  readonly #held = new Set<ActiveDelivery>();
  #open = 0;
  #pumping = false;
  #stopped = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#backlog = new Backlog({
      limits: options.limits,
      load: options.load,
      onReady: () => this.pump(),
      onFailure: options.onLoadFailure,
    });
  }

  get idle(): boolean {
    return this.#active.size === 0 && this.#backlog.size === 0;
  }

  /** Takes an event in. One that finds the backlog full is dropped at once. */
  add(ready: Ready): void {
    if (!this.#backlog.push(ready)) {
      this.#options.log.add(finished(activate(ready), 'dropped', 'backlog_full'));
      return;
    }
    this.pump();
  }

  /** Sends bytes of an earlier delivery again, ahead of the backlog. */
  again(ready: Ready, envelope: Envelope): void {
    const delivery = activate(ready, envelope);
    this.#active.add(delivery);
    this.#due.push(delivery);
    this.pump();
  }

  /** Everything that is not over: what has begun, and what waits. */
  pending(): (Waiting | ActiveDelivery)[] {
    return [...this.#active, ...this.#backlog.list()];
  }

  /** Begins as many attempts as there are places for. */
  pump(): void {
    // What an attempt sets off at once comes back here; the loop below goes on with it.
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#stopped && this.#open < this.#options.limits.attempts) {
      const next = this.#due.shift() ?? this.#takeNew();
      if (next === undefined) break;
      this.#prepare(next);
    }
    this.#pumping = false;
  }

  /** Ends all attempts and begins no more. What had begun is over; what waited is forgotten. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.clear();
    this.#due.clear();
    for (const delivery of [...this.#active]) {
      this.#active.delete(delivery);
      delivery.stop();
      this.#options.log.add(finished(delivery, 'dropped', 'interrupted'));
    }
    this.#options.onIdle();
  }

  #takeNew(): ActiveDelivery | undefined {
    if (this.#active.size >= this.#options.limits.deliveries || this.#options.log.full) return undefined;
    const ready = this.#backlog.shift();
    if (ready === undefined) return undefined;
    const delivery = activate(ready);
    this.#active.add(delivery);
    return delivery;
  }

  /** Signs before the first attempt, draws the faults, and begins the attempt when nothing holds it. */
  #prepare(delivery: ActiveDelivery): void {
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
    const timestamp = this.#options.clock.now();
    return {
      ...destination,
      timestamp,
      signature: signEvent(destination.secret, timestamp, event.body),
      body: event.body,
    };
  }

  /** Faults of time keep an attempt back once; it comes back as due, with its faults drawn. */
  #hold(delivery: ActiveDelivery, faults: readonly WebhookFault[]): boolean {
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
    this.#due.push(delivery);
    this.pump();
  }

  #attempt(delivery: ActiveDelivery, envelope: Envelope, faults: readonly WebhookFault[]): void {
    delivery.made += 1;
    delivery.faults = null;
    if (findFault(faults, 'drop') !== undefined) {
      this.#record(delivery, faults, this.#options.clock.now(), 0, { error: 'dropped' });
      this.#decide(delivery, { error: 'dropped' });
      return;
    }
    const copies = 1 + (findFault(faults, 'duplicate')?.times ?? 0);
    const stops: (() => void)[] = [];
    let open = copies;
    let first: AttemptResult = {};
    delivery.stop = () => {
      for (const stop of stops) stop();
    };
    for (let copy = 0; copy < copies; copy += 1) {
      const stop = this.#send(delivery, envelope, faults, (result) => {
        if (copy === 0) first = result;
        open -= 1;
        if (open === 0) this.#decide(delivery, first);
      });
      stops.push(stop);
    }
  }

  #send(
    delivery: ActiveDelivery,
    envelope: Envelope,
    faults: readonly WebhookFault[],
    done: (result: AttemptResult) => void,
  ): () => void {
    const { clock, receivers } = this.#options;
    const { path, dispatcher } = receivers.find(envelope.url);
    const at = clock.now();
    const began = clock.elapsed();
    const shaped = shapeAttempt(envelope, faults, { secret: envelope.secret, clock });
    this.#open += 1;
    const limits = { clock, deadlineMs: LIMITS.webhookAttemptTimeoutMs };
    return sendAttempt(dispatcher, { path, ...shaped }, limits, (result) => {
      this.#open -= 1;
      this.#record(delivery, faults, at, clock.elapsed() - began, result);
      done(result);
    });
  }

  #record(
    delivery: ActiveDelivery,
    faults: readonly WebhookFault[],
    at: number,
    ms: number,
    result: AttemptResult,
  ): void {
    const names = faults.length === 0 ? {} : { faults: faults.map((fault) => fault.type) };
    delivery.attempts.push({ at, ms: Math.round(ms), ...result, ...names });
  }

  /** After an attempt: over, or the next one after its delay. */
  #decide(delivery: ActiveDelivery, result: AttemptResult): void {
    if (!this.#active.has(delivery)) return;
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
    this.#active.delete(delivery);
    this.#held.delete(delivery);
    this.#options.log.add(finished(delivery, outcome, reason));
    if (outcome === 'delivered') this.#releaseHeld();
    if (this.idle) this.#options.onIdle();
  }

  /** Another event has overtaken those that were held for it. */
  #releaseHeld(): void {
    for (const delivery of [...this.#held]) {
      delivery.stop();
      this.#becomeDue(delivery);
    }
  }
}
