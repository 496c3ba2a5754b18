import { describe, expect, it } from 'vitest';
import type { Outbound } from '../../../src/contract/connector/outbound.ts';
import { dyingDatabase, type Moment } from '../../support/dying-database.ts';
import { ofFile } from '../../support/of-file.ts';
import { OutboxBench } from './outbox-bench.ts';

const bench = ofFile(() => OutboxBench.open());

/** Every file and text that reached a phone, by idempotency key: the service remembers texts only. */
const phones = new Map<string, string[]>();

function acceptSends(): void {
  const answered = new Map<string, string>();
  bench.answer = ({ connectionId, idempotencyKey = '', text, media }) => {
    const known = answered.get(idempotencyKey);
    const messageId = known ?? `m${answered.size}-${idempotencyKey}`;
    if (known === undefined) {
      phones.set(connectionId, [...(phones.get(connectionId) ?? []), text ?? media?.filename ?? '']);
      if (text !== undefined) answered.set(idempotencyKey, messageId);
    }
    return { messageId, waMessageId: null, status: 'sent', persisted: true };
  };
}

/** Kills the sender at its statement number `at`, and lets another one finish. Resolves with what became of it. */
async function survive(
  queue: (connectionId: string) => Promise<string>,
  at: number,
  moment: Moment,
): Promise<{ outbound: Outbound; received: readonly string[]; died: boolean }> {
  const connectionId = await bench.addConnection();
  acceptSends();
  const id = await queue(connectionId);
  const dying = dyingDatabase(bench.database, at, moment);
  const first = bench.process({ database: dying.database });
  await first.start().catch(() => undefined);
  await first.settle().catch(() => undefined);
  await bench.bury(first);
  const { died } = dying;
  const second = bench.process();
  await second.start();
  for (let looks = 0; looks < 3; looks += 1) {
    await second.settle();
    await bench.clock.skip(2 * 60_000);
  }
  await second.settle();
  const outbound = await bench.read(id);
  await bench.stopAll();
  return { outbound, received: phones.get(connectionId) ?? [], died };
}

/** All steps of a process, until one lives to the end. */
async function atEachStep(
  queue: (connectionId: string) => Promise<string>,
  check: (result: Awaited<ReturnType<typeof survive>>, where: string) => void,
): Promise<number> {
  for (let at = 1; ; at += 1) {
    let died = false;
    for (const moment of ['before', 'after'] as const) {
      const result = await survive(queue, at, moment);
      check(result, `${moment} statement ${at}`);
      died ||= result.died;
    }
    if (!died) return at - 1;
  }
}

describe('a sender that is killed at any of its statements', { timeout: 120_000 }, () => {
  it('sends a text exactly once', async () => {
    const steps = await atEachStep(
      (connectionId) => bench.queueText(connectionId, 'once'),
      ({ outbound, received }, where) => {
        expect(outbound.state, where).toBe('sent');
        expect(received, where).toEqual(['once']);
      },
    );
    expect(steps).toBeGreaterThan(8);
  });

  it('sends a file at most once, and knows whether it was sent or says that nobody does', async () => {
    const steps = await atEachStep(
      (connectionId) => bench.queueFile(connectionId),
      ({ outbound, received }, where) => {
        expect(received.length, where).toBeLessThanOrEqual(1);
        expect(['sent', 'unknown'], where).toContain(outbound.state);
        if (outbound.state === 'sent') expect(received, where).toHaveLength(1);
      },
    );
    expect(steps).toBeGreaterThan(8);
  });
});
