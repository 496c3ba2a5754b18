import { expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import { traceMessage } from '../../../src/connector/trace/trace-message.ts';
import { ofFile } from '../../support/of-file.ts';
import { OutboxBench, refuse, sentAs } from '../outbox/outbox-bench.ts';
import { delivery, status } from '../support/event-fixtures.ts';

const bench = ofFile(() => OutboxBench.open());

it('the trace of a send contains each attempt with its code and key, and remains after its row is deleted', async () => {
  const connectionId = await bench.addConnection();
  const outboundId = await bench.queueText(connectionId, 'Hello', 'order-7');
  await bench.clock.advance(1_000);
  let calls = 0;
  bench.answer = async () => {
    calls += 1;
    if (calls === 1) refuse('send_failed');
    // Its status arrives while the call is under way.
    const message = status(connectionId, 'm-own', 'delivered', bench.clock.now());
    const receivedAt = bench.clock.now();
    await commitBatch(bench.database, {
      now: receivedAt,
      deliveries: [delivery({ message }, { receivedAt })],
    });
    return sentAs('m-own');
  };
  const outbox = await bench.running();
  await bench.sendAll(outbox, 2);
  await numberChanges(bench.database);

  const page = await traceMessage(bench.database, 'm-own');
  const entries = page?.entries ?? [];
  expect(
    entries.map((entry) => [entry.source, entry.outcome, entry.send?.attempts, entry.send?.errorCode]),
  ).toEqual([
    ['send', 'queued', 0, null],
    ['send', 'sending', 1, null],
    ['send', 'queued', 1, 'send_failed'],
    // At one time deliveries come first.
    ['webhook', 'merged', undefined, undefined],
    ['send', 'sending', 2, 'send_failed'],
    ['send', 'merged', undefined, undefined],
    ['send', 'sent', 2, 'send_failed'],
  ]);
  const [key] = bench.calls.map(({ idempotencyKey }) => idempotencyKey);
  expect(bench.calls.map(({ idempotencyKey }) => idempotencyKey)).toEqual([key, key]);
  const sends = entries.flatMap(({ send }) => (send === null ? [] : [send]));
  expect(sends.every((send) => send.outboundId === outboundId && send.reference === 'order-7')).toBe(true);
  expect(sends.map(({ idempotencyKey }) => idempotencyKey)).toEqual([null, key, key, key, key]);
  expect(entries[2]?.explanation).toMatch(
    /^Attempt 1 failed \(send_failed\); the next attempt is due at 2026-/,
  );
  // The status was higher already; the answer brought text and peer.
  expect(entries[5]).toMatchObject({
    changed: ['fields'],
    explanation: 'The answer of the send added missing fields.',
  });
  expect(entries.flatMap(({ seqs }) => seqs)).toHaveLength(7);

  const row = await bench.database.query(`SELECT status, peer FROM connector.messages WHERE id = 'm-own'`);
  expect(row).toEqual([{ status: 'delivered', peer: '447700900201' }]);

  await bench.database.query('DELETE FROM connector.outbound');
  const later = await traceMessage(bench.database, 'm-own');
  const kept = (later?.entries ?? []).flatMap(({ send }) => (send === null ? [] : [send]));
  expect(kept.map(({ idempotencyKey }) => idempotencyKey)).toEqual(Array(5).fill(null));
});
