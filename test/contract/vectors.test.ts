import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ERROR_CODES } from '../../src/contract/service/errors.ts';

const header = z.union([z.string(), z.array(z.string()), z.null()]);
const signatureCase = z.strictObject({
  name: z.string().min(1),
  secret: z.string().min(1),
  timestamp_header: header,
  signature_header: header,
  body_utf8: z.string().optional(),
  body_base64: z.base64().optional(),
  now_ms: z.int(),
  expect: z.enum([
    'valid',
    'missing_header',
    'malformed_timestamp',
    'malformed_signature',
    'stale_timestamp',
    'future_timestamp',
    'wrong_signature',
  ]),
});
const misuseCase = signatureCase.extend({ secret: z.string(), expect: z.literal('error') });
const status = z.enum(['sent', 'delivered', 'read', 'failed']);
const statusCase = z.strictObject({
  current: status.nullable(),
  update: status,
  result: status,
  changed: z.boolean(),
  conflict: z.boolean(),
});
const unknownCase = statusCase.extend({
  current: z.string().nullable(),
  update: z.string().nullable(),
  result: status.nullable(),
});
const page = z.strictObject({
  items: z.array(z.strictObject({ id: z.string(), created_at: z.int() })),
  next: z.string().nullable(),
});
const coverage = z.strictObject({
  watermark: z.int().nullable(),
  gaps: z.array(
    z.strictObject({
      floor: z.int().nullable(),
      cursor: z.string().nullable(),
      next_top: z.int().nullable(),
      restarts: z.int().min(1).optional(),
    }),
  ),
});
const scenario = z.strictObject({
  name: z.string().min(1),
  why: z.string().min(1),
  max_pages: z.int().min(1),
  max_idle_pages: z.int().min(1).optional(),
  start: coverage,
  periods: z
    .array(
      z.strictObject({
        latest: z.int().optional(),
        unseen: z.array(z.string()).optional(),
        pages: z.record(z.string(), z.union([page, z.array(page), z.enum(['lost', 'error'])])),
        requests: z.array(z.string()).min(1),
        kept: z.array(z.string()),
        ends: z.enum(['closed', 'open', 'stalled', 'failed']),
        after: coverage,
      }),
    )
    .min(1),
});

function read<S extends z.ZodType>(file: string, schema: S): z.infer<S> {
  return schema.parse(JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8')));
}

describe('signature vectors', () => {
  const { cases, window_ms } = read(
    'signature.json',
    z.strictObject({
      rule: z.string(),
      window_ms: z.int(),
      cases: z.array(signatureCase),
      misuse: z.array(misuseCase),
    }),
  );

  it('are many, have unique names, and cover every outcome', () => {
    expect(window_ms).toBe(300_000);
    expect(cases.length).toBeGreaterThanOrEqual(40);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(new Set(cases.map((one) => one.expect))).toEqual(new Set(signatureCase.shape.expect.options));
  });

  it('give each delivery exactly one body', () => {
    for (const { name, body_utf8, body_base64 } of cases) {
      expect([body_utf8, body_base64].filter((body) => body !== undefined).length, name).toBe(1);
    }
  });

  it('include the edge of the window on both sides', () => {
    const ages = (outcome: string) =>
      cases.filter((one) => one.expect === outcome).map((one) => one.now_ms - Number(one.timestamp_header));
    expect(ages('valid')).toEqual(expect.arrayContaining([window_ms, -window_ms]));
    expect(ages('stale_timestamp')).toContain(window_ms + 1);
    expect(ages('future_timestamp')).toContain(-window_ms - 1);
  });
});

describe('status vectors', () => {
  const { cases } = read(
    'message-status.json',
    z.strictObject({ rule: z.string(), cases: z.array(statusCase), unknown: z.array(unknownCase) }),
  );

  it('contain each of the 20 pairs once', () => {
    const pairs = cases.map(({ current, update }) => `${current} ${update}`);
    expect(cases).toHaveLength(20);
    expect(new Set(pairs).size).toBe(20);
  });

  it('result in the update or in no change', () => {
    for (const { current, update, result, changed } of cases) {
      expect(result).toBe(changed ? update : current);
      expect(changed).toBe(result !== current);
    }
  });

  it('count a conflict only for read and failed', () => {
    expect(
      cases.filter(({ conflict }) => conflict).map(({ current, update }) => `${current} ${update}`),
    ).toEqual(['read failed', 'failed read']);
  });
});

describe('walk vectors', () => {
  const { scenarios, overlap_ms } = read(
    'reconcile-walk.json',
    z.strictObject({ rule: z.string(), overlap_ms: z.int(), scenarios: z.array(scenario) }),
  );

  it('have unique names and overlap by five minutes', () => {
    expect(overlap_ms).toBe(300_000);
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });

  it('start every period at the newest page, and read only pages that exist', () => {
    for (const { name, periods } of scenarios) {
      for (const { requests, pages } of periods) {
        expect(requests[0], name).toBe('newest');
        for (const cursor of requests) expect(Object.keys(pages), name).toContain(cursor);
      }
    }
  });

  it('lower the watermark only if it lies in the future', () => {
    for (const { name, start, periods } of scenarios) {
      let before = start.watermark ?? -1;
      for (const { after, latest } of periods) {
        const isVoid = before > (latest ?? Number.POSITIVE_INFINITY) + overlap_ms;
        if (!isVoid) expect(after.watermark ?? -1, name).toBeGreaterThanOrEqual(before);
        before = after.watermark ?? -1;
      }
    }
  });

  it('leave gaps open exactly if a period did not close', () => {
    for (const { name, periods } of scenarios) {
      for (const { ends, after } of periods) {
        if (ends === 'closed') expect(after.gaps, name).toEqual([]);
        if (ends === 'open') expect(after.gaps.length, name).toBeGreaterThan(0);
      }
    }
  });
});

describe('phone vectors', () => {
  const { cases } = read(
    'phone-variants.json',
    z.strictObject({
      rule: z.string(),
      cases: z.array(
        z.strictObject({
          name: z.string().min(1),
          phone: z.string(),
          variants: z.array(z.string()).min(1),
          person_key: z.string(),
          libphonenumber: z.literal('invalid').optional(),
        }),
      ),
    }),
  );

  it('have unique numbers, each among its variants', () => {
    expect(new Set(cases.map(({ phone }) => phone)).size).toBe(cases.length);
    for (const { phone, variants } of cases) expect(variants).toContain(phone);
  });

  it('have the variant that is the smallest number as the key', () => {
    for (const { name, variants, person_key } of cases.filter(({ variants: { length } }) => length > 1)) {
      expect(Number(person_key), name).toBe(Math.min(...variants.map(Number)));
    }
  });

  it('give no number to two people', () => {
    const keys = new Map<string, string>();
    for (const { variants, person_key } of cases) {
      for (const variant of variants) {
        expect(keys.get(variant) ?? person_key).toBe(person_key);
        keys.set(variant, person_key);
      }
    }
  });
});

describe('send vectors', () => {
  const situation = { name: z.string().min(1), attempts: z.int().min(1), since_first_ms: z.int().min(0) };
  const { cases, last_attempt_after_ms } = read(
    'send-policy.json',
    z.object({
      last_attempt_after_ms: z.int(),
      cases: z.array(
        z.strictObject({
          ...situation,
          carries: z.enum(['text', 'media']),
          in_doubt: z.boolean(),
          outcome: z.discriminatedUnion('kind', [
            z.strictObject({ kind: z.literal('accepted'), stored: z.boolean() }),
            z.strictObject({
              kind: z.literal('refused'),
              status: z.int(),
              code: z.string(),
              retry_after_ms: z.int().nullable(),
            }),
            z.strictObject({ kind: z.enum(['not_sent', 'lost']) }),
          ]),
          expect: z.strictObject({
            next: z.string(),
            wait_ms: z.int().min(1_000).optional(),
            in_doubt: z.boolean().optional(),
          }),
        }),
      ),
    }),
  );
  type Case = (typeof cases)[number];

  /** The table of their README, by code or outcome. Waits in milliseconds. */
  const repeats = new Map(
    [
      ...readFileSync(new URL('../vectors/README.md', import.meta.url), 'utf8').matchAll(
        /^\| (`.+?) \| (\d+) s \| (\d+) s(.*?) \| (yes|as before) \|/gm,
      ),
    ].flatMap(([, names = '', first, longest, , doubt]) =>
      [...names.matchAll(/`(\w+)`/g)].map(
        ([, name = '']) =>
          [
            name,
            { first: Number(first) * 1_000, longest: Number(longest) * 1_000, doubts: doubt === 'yes' },
          ] as const,
      ),
    ),
  );

  /** Only the rules of the README. */
  function follow({ outcome, carries, attempts, since_first_ms, in_doubt }: Case): Case['expect'] {
    if (outcome.kind === 'accepted') return { next: outcome.stored ? 'sent' : 'delivered_not_stored' };
    const refused = outcome.kind === 'refused' ? outcome : null;
    const name = refused === null ? outcome.kind : nameOf(refused.code, refused.status);
    if (name === 'hold') return { next: 'hold', in_doubt };
    const isLost = name === 'lost' || name === 'internal_error';
    if (isLost && carries === 'media') return { next: 'unknown' };
    const rule = repeats.get(name);
    if (rule === undefined) return { next: in_doubt ? 'unknown' : 'rejected' };
    const longest = isLost ? Math.min(Math.max(rule.longest, since_first_ms / 100), 300_000) : rule.longest;
    const own = Math.min(rule.first * 2 ** (attempts - 1), longest);
    const asked = refused?.retry_after_ms ?? null;
    const shortest = Math.min(1_000 * 2 ** (attempts - 1), 5_000);
    const left = last_attempt_after_ms - since_first_ms;
    const wait_ms = asked === null ? own : Math.max(Math.min(asked, left * 0.8), shortest);
    const doubt = rule.doubts || in_doubt;
    if (wait_ms > left) return { next: doubt ? 'unknown' : 'rejected' };
    return { next: 'repeat', wait_ms, in_doubt: doubt };
  }

  function nameOf(code: string, status: number): string {
    if (code === 'invalid_key') return 'hold';
    if (repeats.has(code)) return code;
    if (specified.has(code)) return 'final';
    if (status === 413) return 'final';
    return status === 429 ? 'rate_limited' : 'lost';
  }

  const specified = new Set<string>(ERROR_CODES);

  it('stop an hour before the service forgets a key', () => {
    expect(last_attempt_after_ms).toBe(23 * 3_600_000);
  });

  it.each(cases.map((one) => [one.name, one] as const))('follow from their README: %s', (_name, one) => {
    expect(follow(one)).toEqual(one.expect);
  });

  it('cover each wait of the README: the first one, the maximum, and a possible overflow', () => {
    const missing = [...repeats].flatMap(([name, { first, longest }]) => {
      const capped = Math.ceil(Math.log2(longest / first)) + 1;
      return [1, capped - 1, capped, 900]
        .filter((attempts) => !cases.some((one) => one.attempts === attempts && isPlain(one, name)))
        .map((attempts) => `${name} at attempt ${attempts}`);
    });
    expect([...repeats.keys()].length).toBe(11);
    expect(missing).toEqual([]);
  });

  function isPlain({ carries, outcome }: Case, name: string): boolean {
    if (outcome.kind !== 'refused') return carries === 'text' && outcome.kind === name;
    return carries === 'text' && outcome.code === name && outcome.retry_after_ms === null;
  }
});
