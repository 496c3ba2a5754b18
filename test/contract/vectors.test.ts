import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

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
      next_top: z.int().nullable().optional(),
    }),
  ),
});
const scenario = z.strictObject({
  name: z.string().min(1),
  why: z.string().min(1),
  max_pages: z.int().min(1),
  start: coverage,
  periods: z
    .array(
      z.strictObject({
        latest: z.int().optional(),
        unseen: z.array(z.string()).optional(),
        pages: z.record(z.string(), z.union([page, z.array(page), z.enum(['lost', 'error'])])),
        requests: z.array(z.string()).min(1),
        kept: z.array(z.string()),
        ends: z.enum(['closed', 'open', 'failed']),
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

  it('are many, differ in name, and cover every outcome', () => {
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

  it('hold the edge of the window on both sides', () => {
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

  it('hold all 20 pairs once', () => {
    const pairs = cases.map(({ current, update }) => `${current} ${update}`);
    expect(cases).toHaveLength(20);
    expect(new Set(pairs).size).toBe(20);
  });

  it('end in the update or stay', () => {
    for (const { current, update, result, changed } of cases) {
      expect(result).toBe(changed ? update : current);
      expect(changed).toBe(result !== current);
    }
  });

  it('count a conflict where read meets failed, and nowhere else', () => {
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

  it('differ in name and overlap by five minutes', () => {
    expect(overlap_ms).toBe(300_000);
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });

  it('start every period at the newest page and ask only for pages that are there', () => {
    for (const { name, periods } of scenarios) {
      for (const { requests, pages } of periods) {
        expect(requests[0], name).toBe('newest');
        for (const cursor of requests) expect(Object.keys(pages), name).toContain(cursor);
      }
    }
  });

  it('let the watermark fall only where it lies in the future', () => {
    for (const { name, start, periods } of scenarios) {
      let before = start.watermark ?? -1;
      for (const { after, latest } of periods) {
        const isVoid = before > (latest ?? Number.POSITIVE_INFINITY) + overlap_ms;
        if (!isVoid) expect(after.watermark ?? -1, name).toBeGreaterThanOrEqual(before);
        before = after.watermark ?? -1;
      }
    }
  });

  it('leave gaps open exactly when a period did not close', () => {
    for (const { name, periods } of scenarios) {
      for (const { ends, after } of periods) {
        if (ends === 'closed') expect(after.gaps, name).toEqual([]);
        if (ends === 'open') expect(after.gaps.length, name).toBeGreaterThan(0);
      }
    }
  });
});
