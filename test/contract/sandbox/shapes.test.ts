import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { advanceClockRequest, timing } from '../../../src/contract/sandbox/clock.ts';
import { contactWritesRequest, putContactRequest } from '../../../src/contract/sandbox/contacts.ts';
import {
  listDeliveriesQuery,
  putHostRequest,
  resendRequest,
} from '../../../src/contract/sandbox/deliveries.ts';

function issuePath(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value).error?.issues[0]?.path.join('.');
}

describe('requests', () => {
  it('move time by a duration or to an instant, never back', () => {
    expect(advanceClockRequest.safeParse({ ms: 0 }).success).toBe(true);
    expect(advanceClockRequest.safeParse({ to: '2030-01-01T00:00:00Z' }).success).toBe(true);
    for (const wrong of [
      {},
      { ms: 1, to: '2030-01-01T00:00:00Z' },
      { ms: -1 },
      { ms: 1.5 },
      { to: 'later' },
    ]) {
      expect(advanceClockRequest.safeParse(wrong).success).toBe(false);
    }
    expect(timing.safeParse({ sendScale: 0.02 }).success).toBe(true);
    expect(issuePath(timing, { sendScale: -1 })).toBe('sendScale');
  });

  it('set how a person behaves; null means never', () => {
    expect(putContactRequest.safeParse({ readAfterMs: null, deliverAfterMs: 100 }).success).toBe(true);
    expect(putContactRequest.safeParse({}).success).toBe(true);
    expect(issuePath(putContactRequest, { readAfterMs: -1 })).toBe('readAfterMs');
    expect(putContactRequest.safeParse({ onnetwork: true }).success).toBe(false);
    expect(contactWritesRequest.safeParse({ connectionId: 'c1', text: 'Hi' }).success).toBe(true);
    expect(contactWritesRequest.safeParse({ connectionId: 'c1' }).success).toBe(false);
  });

  it('filter deliveries and open tunnels', () => {
    expect(listDeliveriesQuery.parse({ outcome: 'dropped' })).toEqual({ outcome: 'dropped', limit: 100 });
    expect(issuePath(listDeliveriesQuery, { outcome: 'lost' })).toBe('outcome');
    expect(putHostRequest.safeParse({ target: 'http://127.0.0.1:4020' }).success).toBe(true);
    expect(issuePath(putHostRequest, { target: 'ftp://127.0.0.1' })).toBe('target');
    expect(resendRequest.safeParse({ resign: true, times: 3 }).success).toBe(true);
    expect(issuePath(resendRequest, { times: 0 })).toBe('times');
  });
});
