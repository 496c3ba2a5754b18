import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { ERRORS, type ErrorCode } from '../../src/contract/service/errors.ts';
import {
  decideSend,
  LAST_ATTEMPT_AFTER_MS,
  readRetryAfter,
  SEND_POLICY,
  type SendErrorCode,
  type SendOutcome,
  type SendRule,
  type SendSituation,
  type SendStep,
} from '../../src/patterns/send-policy.ts';
import { proves } from '../support/proves.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const START = Date.UTC(2026, 0, 15, 12);

const fresh: SendSituation = {
  carries: 'text',
  attempts: 1,
  firstAttemptAt: START,
  now: START,
  inDoubt: false,
  random: 0,
};

const refusal = (status: number, code: string, retryAfterMs: number | null = null): SendOutcome => ({
  kind: 'refused',
  status,
  code,
  retryAfterMs,
});

/** A row of the vectors: what happened, and what to do. Waits are without jitter. */
interface Row {
  readonly name: string;
  readonly carries: 'text' | 'media';
  readonly attempts: number;
  readonly since_first_ms: number;
  readonly in_doubt: boolean;
  readonly outcome: {
    readonly kind: SendOutcome['kind'];
    readonly stored?: boolean;
    readonly status?: number;
    readonly code?: string;
    readonly retry_after_ms?: number | null;
  };
  readonly expect: {
    readonly next: SendStep['next'];
    readonly wait_ms?: number;
    readonly in_doubt?: boolean;
  };
}
interface RetryAfterRow {
  readonly name: string;
  readonly retry_after: string | null;
  readonly date: string | null;
  readonly now_ms: number;
  readonly expect_ms: number | null;
}
const vectors: {
  readonly cases: readonly Row[];
  readonly retry_after: readonly RetryAfterRow[];
} = JSON.parse(readFileSync(new URL('../vectors/send-policy.json', import.meta.url), 'utf8'));

const outcomeOf = ({ outcome: { kind, stored, status, code, retry_after_ms } }: Row): SendOutcome => {
  if (kind === 'accepted') return { kind, stored: stored === true };
  if (kind !== 'refused') return { kind };
  return refusal(status ?? 0, code ?? '', retry_after_ms ?? null);
};
const situationOf = ({ carries, attempts, since_first_ms, in_doubt }: Row): SendSituation => ({
  ...{ carries, attempts, firstAttemptAt: START, now: START + since_first_ms, inDoubt: in_doubt, random: 0 },
});

describe('the vectors', () => {
  it.each(vectors.cases.map((row) => [row.name, row] as const))('%s', (_name, row) => {
    const { next, wait_ms, in_doubt } = row.expect;
    expect(decideSend(outcomeOf(row), situationOf(row))).toEqual({
      next,
      ...(wait_ms === undefined ? {} : { waitMs: wait_ms }),
      ...(in_doubt === undefined ? {} : { inDoubt: in_doubt }),
    });
    // Jitter only makes a wait longer, by at most a fifth.
    const spread = decideSend(outcomeOf(row), { ...situationOf(row), random: 1 });
    if (wait_ms !== undefined && spread.next === 'repeat') expect(spread.waitMs).toBe(wait_ms * 1.2);
  });

  it.each(vectors.retry_after.map((row) => [row.name, row] as const))('Retry-After: %s', (_name, row) => {
    const headers = new Headers();
    if (row.retry_after !== null) headers.set('retry-after', row.retry_after);
    if (row.date !== null) headers.set('date', row.date);
    expect(readRetryAfter(headers, row.now_ms)).toBe(row.expect_ms);
  });

  it('have a row for each code of the service, with one of its statuses', () => {
    const rows = vectors.cases.map(({ outcome: { code, status } }) => `${code} ${status}`);
    const missing = Object.entries(ERRORS).filter(
      ([code, { statuses }]) => !statuses.some((status: number) => rows.includes(`${code} ${status}`)),
    );
    expect(missing.map(([code]) => code)).toEqual([]);
  });
});

describe('the table', () => {
  it('covers exactly the codes of the contract', () => {
    expectTypeOf<SendErrorCode>().toEqualTypeOf<ErrorCode>();
  });

  it('waits as the specification advises', () => {
    proves('errors.client.waits');
    expect(SEND_POLICY.in_progress).toEqual({ next: 'await', firstMs: 5 * SECOND, longestMs: 30 * SECOND });
    expect(SEND_POLICY.idempotency_in_progress.firstMs).toBe(SECOND);
    expect(SEND_POLICY.warmup_limited.firstMs).toBeGreaterThanOrEqual(120 * SECOND);
    expect(SEND_POLICY.send_failed.firstMs).toBe(5 * SECOND);
    expect(SEND_POLICY.recipient_not_on_whatsapp).toEqual({ next: 'reject' });
    expect(SEND_POLICY.invalid_key).toEqual({ next: 'hold' });
  });

  it('has a wait wherever it repeats, because Retry-After is not guaranteed', () => {
    proves('errors.client.without-retry-after');
    for (const [code, rule] of Object.entries<SendRule>(SEND_POLICY)) {
      if (rule.next !== 'repeat' && rule.next !== 'await') continue;
      expect(rule.firstMs, code).toBeGreaterThanOrEqual(SECOND);
      expect(rule.longestMs, code).toBeGreaterThan(rule.firstMs);
    }
  });
});

describe('the wait', () => {
  it('is at most five minutes if something else than the service asks for a day', () => {
    const asked = refusal(503, 'http_503', 24 * HOUR);
    expect(decideSend(asked, fresh)).toEqual({ next: 'repeat', waitMs: 300 * SECOND, inDoubt: true });
  });

  it('does not depend on a `Retry-After` that the caller could not read as a number', () => {
    const limited = refusal(429, 'rate_limited', Number.NaN);
    expect(decideSend(limited, fresh)).toMatchObject({ waitMs: 30 * SECOND });
    expect(decideSend(refusal(503, '', Number.NaN), fresh)).toMatchObject({ waitMs: SECOND });
  });
});

describe('for any outcomes', () => {
  const outcome = fc.oneof(
    fc.record({ kind: fc.constant('accepted' as const), stored: fc.boolean() }),
    fc.record({
      kind: fc.constant('refused' as const),
      status: fc.integer({ min: 300, max: 599 }),
      code: fc.oneof(fc.constantFrom(...Object.keys(SEND_POLICY)), fc.string()),
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 24 * HOUR })),
    }),
    fc.constantFrom({ kind: 'lost' } as const, { kind: 'not_sent' } as const),
  );
  const situation = fc.record({
    carries: fc.constantFrom('text' as const, 'media' as const),
    attempts: fc.integer({ min: 1, max: 10_000 }),
    firstAttemptAt: fc.constant(START),
    now: fc.integer({ min: START, max: START + 30 * HOUR }),
    inDoubt: fc.boolean(),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it('a lost file is not repeated, doubt is never dropped, and no attempt is made after 23 hours', () => {
    fc.assert(
      fc.property(outcome, situation, (end, before) => {
        const step = decideSend(end, before);
        if (end.kind === 'lost' && before.carries === 'media') expect(step.next).toBe('unknown');
        if (step.next === 'rejected') expect(before.inDoubt).toBe(false);
        if (step.next !== 'repeat') return;
        expect(step.waitMs).toBeGreaterThanOrEqual(SECOND);
        expect(before.now + step.waitMs).toBeLessThanOrEqual(START + LAST_ATTEMPT_AFTER_MS);
        if (before.inDoubt) expect(step.inDoubt).toBe(true);
      }),
    );
  });
});
