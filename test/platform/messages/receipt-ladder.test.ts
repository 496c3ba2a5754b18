import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { messageStatus } from '../../../src/contract/service/statuses.ts';
import { applyReceipt, RECEIPT_BITS } from '../../../src/platform/messages/receipt-ladder.ts';

const vectors = z
  .object({
    cases: z.array(
      z.object({
        current: messageStatus.nullable(),
        update: messageStatus,
        result: messageStatus,
        changed: z.boolean(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(new URL('../../vectors/message-status.json', import.meta.url), 'utf8')));

describe('receipt ladder', () => {
  test.each(vectors.cases)('$current, then $update, is $result', ({ current, update, result, changed }) => {
    // A message is at least sent before any receipt of it can come.
    const standing = {
      status: current ?? 'sent',
      receipts: current === null ? 0 : RECEIPT_BITS[current],
    } as const;
    const next = applyReceipt(standing, update);
    expect((next ?? standing).status).toBe(result);
    if (changed) expect(next).not.toBeNull();
  });

  test('delivered after read is reported once and does not change the status', () => {
    const read = applyReceipt({ status: 'sent', receipts: RECEIPT_BITS.sent }, 'read');
    expect(read).toEqual({ status: 'read', receipts: RECEIPT_BITS.sent | RECEIPT_BITS.read });
    const late = read === null ? null : applyReceipt(read, 'delivered');
    expect(late?.status).toBe('read');
    expect(late === null ? null : applyReceipt(late, 'delivered')).toBeNull();
  });

  test('nothing is reported after failed', () => {
    const failed = applyReceipt({ status: 'sent', receipts: RECEIPT_BITS.sent }, 'failed');
    for (const status of messageStatus.options) {
      expect(failed === null ? null : applyReceipt(failed, status)).toBeNull();
    }
  });

  test('failed is not reported after read', () => {
    expect(
      applyReceipt({ status: 'read', receipts: RECEIPT_BITS.sent | RECEIPT_BITS.read }, 'failed'),
    ).toBeNull();
  });
});
