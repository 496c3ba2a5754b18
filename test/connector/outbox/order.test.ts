import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createQueueFloors, readDueQueues } from '../../../src/connector/outbox/due-queues.ts';
import type { Outbox } from '../../../src/connector/outbox/outbox.ts';
import { retrySend } from '../../../src/connector/outbox/queue-send.ts';
import { readNextSend } from '../../../src/connector/outbox/queue-store.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { newId } from '../support/event-fixtures.ts';
import { OutboxBench, refuse, sentAs } from './outbox-bench.ts';

const SECOND = 1_000;
const OTHER = '447700900202';

const bench = ofFile(() => OutboxBench.open());
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

/** Lets time pass in steps that are shorter than any wait, with everything that comes due. */
async function pass(outbox: Outbox, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5 * SECOND) {
    await outbox.settle();
    await bench.clock.advance(Math.min(left, 5 * SECOND));
  }
  await outbox.settle();
}

it('the sends of a connection keep their order: none overtakes one that waits for a retry', async () => {
  const connectionId = await bench.addConnection();
  bench.answer = () => refuse('rate_limited', 429);
  const waits = await bench.queueText(connectionId, 'waits', newId());
  const behind = [
    await bench.queueText(connectionId, 'same', newId()),
    await bench.queueFile(connectionId, 'other', OTHER),
  ];
  const outbox = await bench.running();
  await pass(outbox, 10 * SECOND);
  expect(await bench.statesOf([waits, ...behind])).toEqual(['queued', 'queued', 'queued']);
  bench.answer = () => sentAs(newId());
  await pass(outbox, 30 * SECOND);
  expect(await bench.statesOf([waits, ...behind])).toEqual(['sent', 'sent', 'sent']);
  expect(bench.calls.map(({ text, media }) => text ?? media?.caption)).toEqual([
    'waits',
    'waits',
    'same',
    'other',
  ]);
});

it('a send that a person retries goes behind those that wait', async () => {
  const connectionId = await bench.addConnection();
  bench.answer = () => refuse('license_inactive', 402);
  const rejected = await bench.queueText(connectionId, 'rejected', newId());
  const outbox = await bench.running();
  await outbox.settle();
  await outbox.close();
  await bench.queueText(connectionId, 'waits', newId());
  await retrySend(bench.database, rejected, bench.clock.now());
  bench.answer = () => sentAs(newId());
  await (await bench.running()).settle();
  expect(bench.calls.map(({ text }) => text)).toEqual(['rejected', 'waits', 'rejected']);
});

describe('the next send of a queue', () => {
  const WAITING = 30_000;
  /** Pages of 8 KiB; what waits lies on hundreds. */
  const FEW = 30;

  it('is found by the index of the queues, however long they are', async () => {
    // The dead rows of other tests make the index larger, by as much as chance decides.
    await bench.database.query('TRUNCATE connector.outbound CASCADE');
    const now = bench.clock.now();
    await bench.database.query(
      `INSERT INTO connector.outbound
         (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key, state, next_attempt_at,
          created_at, updated_at)
       SELECT 'long' || n, 'account-1', 'queue' || n % 3, 'long' || n, '', '1', 'k', 'queued',
              CASE WHEN n % 3 = 2 THEN $1::bigint + 5000 ELSE $1::bigint END, 0, 0
         FROM generate_series(0, ${WAITING - 1}) n`,
      [now],
      { deadlineMs: 60_000 },
    );
    await bench.database.query('ANALYZE connector.outbound');
    const counting = countBuffers(bench.database);
    expect(await readNextSend(counting, 'queue1', now)).toMatchObject({ id: 'long1' });
    expect(await readNextSend(counting, 'queue2', now)).toMatchObject({
      id: 'long2',
      nextAttemptAt: now + 5_000,
    });
    expect(await readNextSend(counting, 'no-queue', now)).toBeNull();
    expect(counting.takeCount()).toBeLessThan(FEW);
    const readDue = (db: Queryable, at: number) =>
      readDueQueues(db, createQueueFloors(bench.clock), { now: at, limit: 10, owner: 'nobody' });
    expect((await readDue(counting, now)).toSorted()).toEqual(['queue0', 'queue1']);
    expect(counting.takeCount()).toBeLessThan(2 * FEW);
    const later = await readDue(bench.database, now + 5_000);
    expect(later.toSorted()).toEqual(['queue0', 'queue1', 'queue2']);
  });
});
