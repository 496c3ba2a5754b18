import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planReceipts } from '../../../src/platform/network/plan-receipts.ts';

const person = { onNetwork: true, deliverAfterMs: 100, readAfterMs: 300, failAfterMs: null, autoReply: null };
const delay = fc.option(fc.nat(1_000_000));
const behavior = fc.record({
  onNetwork: fc.constant(true),
  deliverAfterMs: delay,
  readAfterMs: delay,
  failAfterMs: delay,
  autoReply: fc.option(fc.string()),
});
const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('plan of receipts', () => {
  test('reports each receipt as it happens', () => {
    expect(planReceipts(person, 1_000, 0.999).receipts).toEqual([
      { status: 'delivered', at: 1_100, reportedAt: 1_100 },
      { status: 'read', at: 1_300, reportedAt: 1_300 },
    ]);
  });

  test('a delivered that read overtakes happens first and is reported last', () => {
    const [delivered, read] = planReceipts(person, 1_000, 0).receipts;
    expect(delivered?.at).toBe(1_100);
    expect(delivered?.reportedAt).toBeGreaterThan(read?.reportedAt ?? Number.POSITIVE_INFINITY);
  });

  test('a person whose phone never receives the message does not reply', () => {
    const never = { ...person, deliverAfterMs: null, readAfterMs: null, autoReply: 'hi' };
    expect(planReceipts(never, 0, 0).reply).toBeNull();
    expect(planReceipts({ ...person, autoReply: 'hi' }, 0, 0).reply?.at).toBeGreaterThan(300);
  });

  test('null means never, nothing is reported before it happens, and nothing happens before the send', () => {
    fc.assert(
      fc.property(behavior, fc.nat(), draw, (person, sentAt, drawn) => {
        const { receipts } = planReceipts(person, sentAt, drawn);
        const statuses = new Set(receipts.map((receipt) => receipt.status));
        expect(statuses.has('delivered')).toBe(person.deliverAfterMs !== null);
        expect(statuses.has('read')).toBe(person.readAfterMs !== null);
        expect(statuses.has('failed')).toBe(person.failAfterMs !== null);
        for (const receipt of receipts) {
          expect(receipt.at).toBeGreaterThanOrEqual(sentAt);
          expect(receipt.reportedAt).toBeGreaterThanOrEqual(receipt.at);
        }
      }),
    );
  });
});
