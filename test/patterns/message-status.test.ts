import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { MessageStatus as ContractStatus } from '../../src/contract/service/statuses.ts';
import { applyStatus, type MessageStatus } from '../../src/patterns/message-status.ts';
import { proves } from '../support/proves.ts';

interface Case {
  readonly current: string | null;
  readonly update: string | null;
  readonly result: MessageStatus | null;
  readonly changed: boolean;
  readonly conflict: boolean;
}

const vectors: { readonly cases: readonly Case[]; readonly unknown: readonly Case[] } = JSON.parse(
  readFileSync(new URL('../vectors/message-status.json', import.meta.url), 'utf8'),
);

describe('applyStatus', () => {
  it('has a vector for each of the 20 pairs', () => {
    expect(new Set(vectors.cases.map((entry) => `${entry.current} ${entry.update}`)).size).toBe(20);
  });

  it.each(vectors.cases.map((entry) => [`${entry.current}, then ${entry.update}`, entry] as const))(
    'returns the expected result: %s',
    (_, entry) => {
      proves('status.sent-delivered', 'status.delivered-read', 'status.sent-failed');
      proves('status.delivered-failed', 'status.failed-terminal', 'status.failed-not-after-read');
      proves('status.consumer.rank', 'status.consumer.never-back', 'status.consumer.duplicates');
      expect(applyStatus(entry.current, entry.update)).toEqual({
        status: entry.result,
        changed: entry.changed,
        conflict: entry.conflict,
      });
    },
  );

  it.each(vectors.unknown.map((entry) => [`${entry.current}, then ${entry.update}`, entry] as const))(
    'ignores a status without a rank: %s',
    (_, entry) => {
      expect(applyStatus(entry.current, entry.update)).toEqual({
        status: entry.result,
        changed: entry.changed,
        conflict: entry.conflict,
      });
    },
  );

  it('keeps the stored status if an update contains none', () => {
    for (const current of [null, 'sent', 'delivered', 'read', 'failed'] as const) {
      expect(applyStatus(current, null)).toEqual({ status: current, changed: false, conflict: false });
    }
  });

  it('has the same result in whatever order sent, delivered and read arrive, including repeats', () => {
    proves('status.consumer.rank', 'status.consumer.duplicates', 'status.consumer.never-back');
    const ladder = ['sent', 'delivered', 'read'] as const;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...ladder), { minLength: 1, maxLength: 12 }), (updates) => {
        let status: MessageStatus | null = null;
        for (const update of updates) status = applyStatus(status, update).status;
        expect(status).toBe(ladder.findLast((step) => updates.includes(step)));
      }),
    );
  });

  it('covers the statuses of the contract', () => {
    expectTypeOf<MessageStatus>().toEqualTypeOf<ContractStatus>();
  });
});
