import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readDueQueues } from '../../../src/connector/outbox/due-queues.ts';
import type { Outbox } from '../../../src/connector/outbox/outbox.ts';
import { createQueueFloors } from '../../../src/connector/outbox/queue-floors.ts';
import { readNextSend } from '../../../src/connector/outbox/queue-store.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { newId } from '../support/event-fixtures.ts';
import { lose, OutboxBench, refuse, SOMEBODY, sentAs } from './outbox-bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const OTHER = '447700900202';
const THIRD = '447700900203';

let bench: OutboxBench;
beforeAll(async () => {
  bench = await OutboxBench.open();
});
afterAll(() => bench.close());
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

const unreachable = (): never => {
  throw new ServiceUnreachable('network');
};
/** Files alone are lost. */
const loseFiles = (body: {
  readonly media?: unknown;
  readonly to: string;
  readonly text?: string | undefined;
}) => (body.media === undefined ? sentAs(newId()) : lose());

describe('while a file whose answer was lost is being looked up', () => {
  it('sends to other people go out immediately, and those to the same person wait for its end', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = loseFiles;
    const lost = await bench.queueFile(connectionId);
    const same = await bench.queueText(connectionId, 'same', newId());
    const others = await Promise.all([
      bench.queueText(connectionId, 'other', newId(), OTHER),
      bench.queueText(connectionId, 'third', newId(), THIRD),
    ]);
    const outbox = await bench.running();
    await outbox.settle();
    expect(await bench.statesOf([lost, same, ...others])).toEqual(['sending', 'queued', 'sent', 'sent']);
    await pass(outbox, 3 * MINUTE);
    const late = await bench.queueText(connectionId, 'late', newId(), OTHER);
    await outbox.settle();
    expect(await bench.statesOf([lost, same, late])).toEqual(['sending', 'queued', 'sent']);
    await pass(outbox, MINUTE);
    expect(await bench.statesOf([lost, same])).toEqual(['unknown', 'sent']);
  });

  it('all other sends keep their order: none passes a send that waits for a retry', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = (body) => {
      if (body.to === OTHER) return refuse('rate_limited', 429);
      return loseFiles(body);
    };
    const lost = await bench.queueFile(connectionId);
    const waits = await bench.queueText(connectionId, 'waits', newId(), OTHER);
    const behind = await bench.queueText(connectionId, 'behind', newId(), THIRD);
    const outbox = await bench.running();
    await pass(outbox, 10 * SECOND);
    expect(await bench.statesOf([lost, waits, behind])).toEqual(['sending', 'queued', 'queued']);
    bench.answer = loseFiles;
    await pass(outbox, 30 * SECOND);
    expect(await bench.statesOf([lost, waits, behind])).toEqual(['sending', 'sent', 'sent']);
  });

  it('a second lost answer blocks the queue, so that not all of its files come into doubt', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    const ids = await Promise.all(
      [SOMEBODY, OTHER, THIRD].map((to, index) => bench.queueFile(connectionId, `${index}`, to)),
    );
    const outbox = await bench.running();
    await pass(outbox, 3 * MINUTE);
    expect((await bench.statesOf(ids)).sort()).toEqual(['queued', 'sending', 'sending']);
  });

  it('nothing goes out while the service does not answer look-ups, and the result waits for an answer', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    bench.list = unreachable;
    const lost = await bench.queueFile(connectionId);
    const others = await Promise.all([OTHER, THIRD].map((to) => bench.queueFile(connectionId, to, to)));
    const outbox = await bench.running();
    await pass(outbox, 10 * MINUTE);
    expect(await bench.statesOf([lost, ...others])).toEqual(['sending', 'queued', 'queued']);
    expect(bench.calls).toHaveLength(1);
    const found = bench.showPicture(newId(), connectionId);
    bench.answer = () => sentAs(newId());
    bench.list = () => [{ ...found, createdAt: bench.clock.now() - 10 * MINUTE }];
    await pass(outbox, 5 * SECOND);
    expect(await bench.statesOf([lost, ...others])).toEqual(['sent', 'sent', 'sent']);
  });

  it('a look-up that the service refuses permanently ends after four minutes as well', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    bench.list = () => refuse('insufficient_scope', 403);
    const lost = await bench.queueFile(connectionId);
    const outbox = await bench.running();
    await pass(outbox, 4 * MINUTE);
    expect(await bench.stateOf(lost)).toBe('unknown');
  });

  it('it is repeated when the service has asked for, and immediately once the service answers a poll', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    let looks = 0;
    const failing = (error: Error) => (): never => {
      looks += 1;
      throw error;
    };
    bench.list = failing(new ServiceRefusal({ status: 429, code: 'rate_limited', retryAfterMs: MINUTE }));
    await bench.queueFile(connectionId);
    const outbox = await bench.running();
    await pass(outbox, 55 * SECOND);
    await outbox.resumeSends('account-1');
    await outbox.settle();
    expect(looks).toBe(1);
    bench.list = failing(new ServiceUnreachable('network'));
    await pass(outbox, 5 * SECOND);
    expect(looks).toBe(2);
    await outbox.resumeSends('account-1');
    await outbox.settle();
    expect(looks).toBe(3);
  });
});

describe('two files that look the same, to two people', () => {
  it('are not distinguished if both answers were lost and one message exists', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    const ids = [await bench.queueFile(connectionId), await bench.queueFile(connectionId, undefined, OTHER)];
    const outbox = await bench.running();
    await outbox.settle();
    bench.listed = [bench.showPicture(newId(), connectionId)];
    await pass(outbox, 5 * MINUTE);
    expect(await bench.statesOf(ids)).toEqual(['unknown', 'unknown']);
  });

  it('are not distinguished if a process died during the second, whose message exists', async () => {
    const connectionId = await bench.addConnection();
    const dying = dyingDatabase(bench.database, Number.POSITIVE_INFINITY, 'after');
    bench.answer = ({ to }) => {
      if (to !== OTHER) return lose();
      bench.listed = [bench.showPicture(newId(), connectionId)];
      dying.kill();
      return sentAs(newId());
    };
    const lost = await bench.queueFile(connectionId);
    const sender = bench.process({ database: dying.database });
    await sender.start();
    await sender.settle();
    const cutOff = await bench.queueFile(connectionId, undefined, OTHER);
    await bench.clock.advance(5 * SECOND);
    await sender.settle().catch(() => undefined);
    await sender.close();
    await bench.bury(sender);
    expect(await bench.statesOf([lost, cutOff])).toEqual(['sending', 'sending']);
    // Both are due, so the first one is looked up before anyone has looked at the second.
    await bench.clock.advance(2 * MINUTE);
    await pass(await bench.running(), 5 * MINUTE);
    expect(await bench.statesOf([lost, cutOff])).toEqual(['unknown', 'unknown']);
  });

  it('are distinguished if one was answered', async () => {
    const connectionId = await bench.addConnection();
    const [mine, answered] = [newId(), newId()];
    bench.answer = ({ to }) => (to === OTHER ? sentAs(answered) : lose());
    const lost = await bench.queueFile(connectionId);
    await bench.queueFile(connectionId, undefined, OTHER);
    const outbox = await bench.running();
    await outbox.settle();
    bench.listed = [bench.showPicture(answered, connectionId), bench.showPicture(mine, connectionId)];
    await pass(outbox, 5 * SECOND);
    expect(await bench.read(lost)).toMatchObject({ state: 'sent', messageId: mine });
  });
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
       SELECT 'long' || n, 'account-1', 'queue' || n % 3, 'long' || n, '', CASE WHEN n < 6 THEN '1' ELSE '2' END, 'k',
              CASE WHEN n < 3 THEN 'sending' ELSE 'queued' END,
              CASE WHEN n < 3 OR n % 3 = 2 THEN $1::bigint + 5000 ELSE $1::bigint END, 0, 0
         FROM generate_series(0, ${WAITING - 1}) n`,
      [now],
      { deadlineMs: 60_000 },
    );
    await bench.database.query('ANALYZE connector.outbound');
    const counting = countBuffers(bench.database);
    expect(await readNextSend(counting, 'queue1', now)).toMatchObject({ id: 'long7', to: '2' });
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
