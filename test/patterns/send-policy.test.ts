import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { ERRORS, type ErrorCode } from '../../src/contract/service/errors.ts';
import {
  decideSend,
  LAST_ATTEMPT_AFTER_MS,
  readRetryAfter,
  ruleFor,
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
const media: SendSituation = { ...fresh, carries: 'media' };

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
  readonly last_attempt_after_ms: number;
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

  it('have unique names, and the limit of the pattern', () => {
    expect(new Set(vectors.cases.map(({ name }) => name)).size).toBe(vectors.cases.length);
    expect(vectors.last_attempt_after_ms).toBe(LAST_ATTEMPT_AFTER_MS);
  });

  it('have a row for each code of the service, with one of its statuses', () => {
    const rows = vectors.cases.map(({ outcome: { code, status } }) => `${code} ${status}`);
    const missing = Object.entries(ERRORS).filter(
      ([code, { statuses }]) => !statuses.some((status: number) => rows.includes(`${code} ${status}`)),
    );
    expect(missing.map(([code]) => code)).toEqual([]);
  });

  it('have a row for each kind of outcome, for text and file, in doubt and not', () => {
    const kindOf = ({ outcome: { kind, stored, code, status } }: Row): string => {
      if (kind === 'accepted') return stored === true ? 'sent' : 'not stored';
      return kind === 'refused' ? ruleFor(code ?? '', status ?? 0).next : kind;
    };
    const rules = new Set(Object.values(SEND_POLICY).map(({ next }) => next));
    // A refusal that counts as a lost answer is its own kind: a code causes it, not the wire.
    const ends = ['sent', 'not stored', 'not_sent', ...rules];
    const rows = new Set(
      vectors.cases.map((row) => `${kindOf(row)} ${row.outcome.kind} ${row.carries} ${row.in_doubt}`),
    );
    const wanted = [...ends, 'lost'].flatMap((end, index) =>
      ['text', 'media'].flatMap((carries) =>
        [false, true].map((inDoubt) => {
          const isRefusal = rules.has(end as never) && index < ends.length;
          const kind = isRefusal ? 'refused' : end === 'lost' || end === 'not_sent' ? end : 'accepted';
          return `${end} ${kind} ${carries} ${inDoubt}`;
        }),
      ),
    );
    expect(wanted.filter((each) => !rows.has(each))).toEqual([]);
    const steps = ['sent', 'delivered_not_stored', 'rejected', 'unknown', 'repeat', 'hold'];
    expectTypeOf<SendStep['next']>().toEqualTypeOf<
      'sent' | 'delivered_not_stored' | 'rejected' | 'unknown' | 'repeat' | 'hold'
    >();
    expect([...new Set(vectors.cases.map((row) => row.expect.next))].sort()).toEqual(steps.sort());
  });

  it('have a code without a rule for each class of status', () => {
    const unknown = vectors.cases.filter(
      ({ outcome: { kind, code } }) => kind === 'refused' && !Object.hasOwn(SEND_POLICY, code ?? ''),
    );
    const statuses = new Set(unknown.map(({ outcome: { status = 0 } }) => status));
    expect([302, 400, 401, 408, 409, 429, 502, 503].filter((status) => !statuses.has(status))).toEqual([]);
  });
});

describe('the table', () => {
  it('covers exactly the codes of the contract', () => {
    expectTypeOf<SendErrorCode>().toEqualTypeOf<ErrorCode>();
  });

  it.each([
    ['invalid_request', 400],
    ['text_or_media', 400],
    ['addon_required', 402],
    ['license_inactive', 402],
    ['not_found', 404],
    ['payload_too_large', 413],
    ['recipient_not_on_whatsapp', 422],
  ])('rejects after %s', (code, status) => {
    expect(decideSend(refusal(status, code), fresh)).toEqual({ next: 'rejected' });
  });

  it.each([
    ['warmup_limited', 429, 300 * SECOND],
    ['rate_limited', 429, 30 * SECOND],
    ['send_failed', 502, 5 * SECOND],
    ['invalid_token', 401, 60 * SECOND],
    ['ip_not_allowed', 403, 60 * SECOND],
    ['insufficient_scope', 403, 60 * SECOND],
  ])('repeats after %s %i and %i ms, without doubt', (code, status, waitMs) => {
    expect(decideSend(refusal(status, code), fresh)).toEqual({ next: 'repeat', waitMs, inDoubt: false });
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

  it('holds a send while its credential is refused, without a limit', () => {
    expect(decideSend(refusal(401, 'invalid_key'), fresh)).toEqual({ next: 'hold', inDoubt: false });
    const late = { ...media, attempts: 900, now: START + 24 * HOUR };
    expect(decideSend(refusal(401, 'invalid_key'), late)).toEqual({ next: 'hold', inDoubt: false });
  });

  it('keeps a held send in doubt: the refusal says nothing about the previous attempt', () => {
    const doubted = { ...fresh, inDoubt: true };
    expect(decideSend(refusal(401, 'invalid_key'), doubted)).toEqual({ next: 'hold', inDoubt: true });
  });

  it('repeats after in_progress, in doubt: the first attempt may have been sent', () => {
    expect(decideSend(refusal(409, 'in_progress'), fresh)).toEqual({
      next: 'repeat',
      waitMs: 5 * SECOND,
      inDoubt: true,
    });
  });

  it.each([
    [429, 'a_new_limit', SEND_POLICY.rate_limited],
    [503, 'http_503', { next: 'lost' }],
    [502, 'a_new_failure', { next: 'lost' }],
    [408, 'http_408', { next: 'lost' }],
    [413, 'http_413', { next: 'reject' }],
    [401, 'http_401', { next: 'lost' }],
    [401, 'a_new_credential_error', { next: 'lost' }],
    [403, 'http_403', { next: 'lost' }],
    [404, 'http_404', { next: 'lost' }],
    [409, 'a_new_conflict', { next: 'lost' }],
    [302, 'http_302', { next: 'lost' }],
    [400, 'constructor', { next: 'lost' }],
    [400, '', { next: 'lost' }],
  ])('is not asked for %i %s: only 413 is final', (status, code, rule) => {
    expect(ruleFor(code, status)).toEqual(rule);
  });
});

describe('an answer', () => {
  it('that was stored means sent, and one that was not stored is never repeated', () => {
    expect(decideSend({ kind: 'accepted', stored: true }, fresh)).toEqual({ next: 'sent' });
    expect(decideSend({ kind: 'accepted', stored: false }, media)).toEqual({ next: 'delivered_not_stored' });
  });

  it('that was lost repeats a text in doubt, and leaves a file to a person', () => {
    expect(decideSend({ kind: 'lost' }, fresh)).toEqual({
      next: 'repeat',
      waitMs: SECOND,
      inDoubt: true,
    });
    expect(decideSend({ kind: 'lost' }, media)).toEqual({ next: 'unknown' });
    expect(decideSend(refusal(500, 'internal_error'), media)).toEqual({ next: 'unknown' });
  });

  it('that never came because nothing was sent leaves no doubt, even for a file', () => {
    expect(decideSend({ kind: 'not_sent' }, media)).toMatchObject({ next: 'repeat', inDoubt: false });
  });
});

describe('doubt', () => {
  it('makes a refusal unknown: it says nothing about the previous attempt', () => {
    expect(decideSend(refusal(402, 'license_inactive'), { ...fresh, inDoubt: true })).toEqual({
      next: 'unknown',
    });
  });

  it('remains after temporary refusals', () => {
    expect(decideSend(refusal(502, 'send_failed'), { ...fresh, inDoubt: true })).toMatchObject({
      inDoubt: true,
    });
  });
});

describe('the wait', () => {
  it('doubles up to its maximum', () => {
    const waits = [1, 2, 3, 20, 5_000].map((attempts) => {
      const step = decideSend(refusal(502, 'send_failed'), { ...fresh, attempts });
      return step.next === 'repeat' ? step.waitMs / SECOND : step.next;
    });
    expect(waits).toEqual([5, 10, 20, 300, 300]);
  });

  it('is a few seconds after unsent attempts and lost answers, however many', () => {
    const waits = (outcome: SendOutcome) =>
      [1, 2, 3, 4, 10, 5_000].map((attempts) => {
        const step = decideSend(outcome, { ...fresh, attempts });
        return step.next === 'repeat' ? step.waitMs / SECOND : step.next;
      });
    expect(waits({ kind: 'not_sent' })).toEqual([1, 2, 4, 5, 5, 5]);
    expect(waits({ kind: 'lost' })).toEqual([1, 2, 4, 5, 5, 5]);
  });

  it('grows to a hundredth of the time for which answers are lost, up to five minutes', () => {
    const waits = [1, 10, 60, 600, 1_300].map((minutes) => {
      const now = START + minutes * 60 * SECOND;
      const step = decideSend({ kind: 'lost' }, { ...fresh, attempts: 500, now });
      return step.next === 'repeat' ? step.waitMs / SECOND : step.next;
    });
    expect(waits).toEqual([5, 6, 36, 300, 300]);
  });

  it('is what a 503 with an unknown code asks for, too', () => {
    const asked = refusal(503, 'http_503', 40 * SECOND);
    expect(decideSend(asked, fresh)).toEqual({ next: 'repeat', waitMs: 40 * SECOND, inDoubt: true });
  });

  it('is at most five minutes if something else than the service asks for a day', () => {
    const asked = refusal(503, 'http_503', 24 * HOUR);
    expect(decideSend(asked, fresh)).toEqual({ next: 'repeat', waitMs: 300 * SECOND, inDoubt: true });
  });

  it('is what the service asked for, plus at most a fifth', () => {
    const asked = refusal(429, 'rate_limited', 7 * SECOND);
    expect(decideSend(asked, fresh)).toMatchObject({ waitMs: 7 * SECOND });
    expect(decideSend(asked, { ...fresh, random: 1 })).toMatchObject({ waitMs: 8.4 * SECOND });
  });

  it('is at least a second, then up to five, even if the service asks for none', () => {
    const asked = refusal(429, 'rate_limited', 0);
    const waits = [1, 2, 3, 4, 900].map((attempts) => decideSend(asked, { ...fresh, attempts }));
    expect(waits).toMatchObject([1, 2, 4, 5, 5].map((seconds) => ({ waitMs: seconds * SECOND })));
  });

  it('does not depend on a `Retry-After` that the caller could not read as a number', () => {
    const limited = refusal(429, 'rate_limited', Number.NaN);
    expect(decideSend(limited, fresh)).toMatchObject({ waitMs: 30 * SECOND });
    expect(decideSend(refusal(503, '', Number.NaN), fresh)).toMatchObject({ waitMs: SECOND });
  });

  it('ends 23 hours after the first attempt', () => {
    const late = { ...fresh, now: START + 23 * HOUR - 4 * SECOND };
    expect(decideSend(refusal(502, 'send_failed'), late)).toEqual({ next: 'rejected' });
    const later = { ...late, now: START + 23 * HOUR - SECOND + 1 };
    expect(decideSend({ kind: 'lost' }, later)).toEqual({ next: 'unknown' });
    const inTime = { ...fresh, now: START + 23 * HOUR - 5 * SECOND };
    expect(decideSend(refusal(502, 'send_failed'), inTime)).toMatchObject({ next: 'repeat' });
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
