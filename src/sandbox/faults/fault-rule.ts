import { createHash } from 'node:crypto';
import type { FaultRule, FaultRuleRequest } from '../../contract/sandbox/faults.ts';

/** Events remembered by a rule that decides once for all of an event's attempts. */
const REMEMBERED = 10_000;

/**
 * A number in [0, 1) that depends on its parts alone: the same seed, rule, event and attempt always draw the
 * same, in whatever order and however often they are asked.
 */
export function draw(seed: number, ruleId: string, subject: number, attempt: number): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ruleId, subject, attempt]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}

/** One rule with its counts. */
export class ActiveRule {
  readonly rule: FaultRuleRequest;
  readonly #seed: number;
  /** Decisions of a rule per event: kept, so that they are counted once. */
  readonly #decided = new Map<number, boolean>();
  #hits = 0;
  #asked = 0;

  constructor(rule: FaultRuleRequest, seed: number) {
    this.rule = rule;
    this.#seed = seed;
  }

  /** The rule as it is shown. */
  get view(): FaultRule {
    return { ...this.rule, hits: this.#hits };
  }

  /** Whether it hits an attempt of an event that it matches. Counts the hit. */
  hitsAttempt(eventId: number, attempt: number): boolean {
    if (this.rule.per !== 'event') return this.#decide(eventId, attempt);
    const known = this.#decided.get(eventId);
    if (known !== undefined) return known;
    const decided = this.#decide(eventId, 0);
    this.#decided.set(eventId, decided);
    if (this.#decided.size > REMEMBERED) this.#forgetOldest();
    return decided;
  }

  /** Whether it has already hit this event, for all of its attempts. */
  readonly hasHit = (eventId: number): boolean => this.#decided.get(eventId) === true;

  /** Whether it hits a call that it matches. Calls are told apart by their order alone. */
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
