import { createHash } from 'node:crypto';
import type { FaultRule, FaultRuleRequest } from '../../contract/sandbox/faults.ts';

/** The number of events whose decisions a rule with `per: "event"` keeps. */
const REMEMBERED = 10_000;

/**
 * A number in [0, 1) that depends only on seed, rule, event and attempt: the order and number of draws do not matter.
 */
export function draw(seed: number, ruleId: string, subject: number, attempt: number): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ruleId, subject, attempt]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}

/** A rule with everything that it has counted and decided. */
export interface SavedRule {
  readonly rule: FaultRuleRequest;
  readonly seed: number;
  readonly hits: number;
  readonly asked: number;
  readonly decided: readonly (readonly [event: number, hits: boolean])[];
}

/** An active rule with its counts. */
export class ActiveRule {
  readonly rule: FaultRuleRequest;
  readonly #seed: number;
  /** Decisions by event, kept so that each is counted once. */
  readonly #decided = new Map<number, boolean>();
  #hits = 0;
  #asked = 0;

  constructor(rule: FaultRuleRequest, seed: number) {
    this.rule = rule;
    this.#seed = seed;
  }

  /** The rule as it was saved. */
  static load({ rule, seed, hits, asked, decided }: SavedRule): ActiveRule {
    const loaded = new ActiveRule(rule, seed);
    loaded.#hits = hits;
    loaded.#asked = asked;
    for (const [event, isHit] of decided) loaded.#decided.set(event, isHit);
    return loaded;
  }

  save(): SavedRule {
    const { rule } = this;
    return { rule, seed: this.#seed, hits: this.#hits, asked: this.#asked, decided: [...this.#decided] };
  }

  /** The rule for the control API. */
  get view(): FaultRule {
    return { ...this.rule, hits: this.#hits };
  }

  /** Whether the rule hits an attempt of a matching event. Counts the hit. */
  hitsAttempt(eventId: number, attempt: number): boolean {
    if (this.rule.per !== 'event') return this.#decide(eventId, attempt);
    const known = this.#decided.get(eventId);
    if (known !== undefined) return known;
    const decided = this.#decide(eventId, 0);
    this.#decided.set(eventId, decided);
    if (this.#decided.size > REMEMBERED) this.#forgetOldest();
    return decided;
  }

  /** Whether the rule has decided to hit all attempts of this event. */
  readonly hasHit = (eventId: number): boolean => this.#decided.get(eventId) === true;

  /** Whether the rule hits a matching call. Calls are distinguished only by their order. */
  hitsCall(): boolean {
    this.#asked += 1;
    return this.#decide(this.#asked, 0);
  }

  #decide(subject: number, attempt: number): boolean {
    const { id, first, probability } = this.rule;
    if (first !== undefined && this.#hits >= first) return false;
    if (probability !== undefined && draw(this.#seed, id, subject, attempt) >= probability) return false;
    this.#hits += 1;
    return true;
  }

  #forgetOldest(): void {
    const [oldest] = this.#decided.keys();
    if (oldest !== undefined) this.#decided.delete(oldest);
  }
}
