import { describe, expect, it } from 'vitest';
import { exactly } from '../../../src/contract/sandbox/filter.ts';
import type { DeliveryRecord } from '../../../src/platform/webhooks/delivery-record.ts';
import { claimByIndex, endAttempts } from '../../../src/platform/webhooks/delivery-rows.ts';
import { recordEvents } from '../../../src/platform/webhooks/ledger.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { proves } from '../../support/proves.ts';
import { startReceiver } from '../../support/receiver.ts';
import { aroundStatements } from '../../support/replace-calls.ts';
import { HOOK, receivedEvent, receivedEvents, shareDatabase, useHook, WORKSPACE } from './fixture.ts';

const OTHER = 'cworkspace000000000000002';

shareDatabase();

describe('the queue of an account', () => {
  const hook = useHook(() => ({ attemptsAtOnce: 2 }));

  it('opens no more concurrent attempts than its limit', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.otherwise({ after: answer.promise });
    await hook.fixture.emit(...receivedEvents(5));
    await hook.receiver.received(2);
    expect(hook.receiver.connections).toBe(2);
    const pending = await hook.fixture.delivery.list({ limit: 10, where: exactly({ status: 'pending' }) });
    // What goes on shows where it is sent, although nothing is stored yet.
    expect(pending.map(({ url }) => url)).toEqual([null, null, null, HOOK, HOOK]);
    answer.resolve();
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(5);
    expect(hook.receiver.connections).toBe(2);
  });

  it('does not affect other accounts if its receiver never answers', async () => {
    const hole = await startReceiver();
    hole.otherwise({ hang: true });
    hook.fixture.tunnels.set('hole.example.com', hole.origin);
    await hook.fixture.configuration.put(OTHER, 'https://hole.example.com/');
    await hook.fixture.emit(...receivedEvents(40, OTHER));
    await hole.received(2);
    await hook.fixture.emit(...receivedEvents(20));
    await hook.receiver.received(20);
    expect(hole.requests).toHaveLength(2);
    await hole.close();
  });

  it('occupies no place while it waits for a retry', async () => {
    hook.receiver.script({ status: 500 }, { status: 500 });
    await hook.fixture.emit(...receivedEvents(6));
    await hook.receiver.received(6);
    await hook.fixture.clock.timerSet(500);
    await hook.fixture.retry(500);
    expect(hook.receiver.requests).toHaveLength(8);
  });

  it('begins the events that wait in the order in which they happened', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise }, { after: answer.promise });
    await hook.fixture.emit(...receivedEvents(45));
    await hook.receiver.received(2);
    answer.resolve();
    await hook.fixture.delivery.settle();
    const ids = hook.receiver.requests.map(({ body }) => JSON.parse(body.toString()).message.id);
    expect(new Set(ids).size).toBe(45);
    expect(ids).toHaveLength(45);
    expect(ids[44]).toMatch(/cmessage4[34]/);
  });

  it('settles at once if nothing was sent', async () => {
    await hook.fixture.delivery.settle();
    expect(await hook.fixture.delivery.list({ limit: 1 })).toEqual([]);
  });

  it('settles only after the last retry', async () => {
    hook.receiver.script({ status: 500 }, { status: 500 }, { status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    let settled = false;
    const settle = hook.fixture.delivery.settle().then(() => {
      settled = true;
    });
    await hook.fixture.pass(500);
    await hook.fixture.clock.timerSet(1_000);
    expect(settled).toBe(false);
    await hook.fixture.clock.advance(1_000);
    await settle;
    expect(hook.receiver.requests).toHaveLength(3);
  });

  it('makes a retry on time although the clock of the machine is set back', async () => {
    hook.receiver.script({ status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    hook.fixture.clock.jump(-3_600_000);
    await hook.fixture.clock.advance(500);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(2);
  });

  it('makes no retry early while the clock of the machine is behind', async () => {
    const { clock, delivery, emit, pass } = hook.fixture;
    hook.receiver.otherwise({ status: 500 });
    await emit(receivedEvent('cmessage1'));
    await clock.timerSet(500);
    clock.jump(-3_600_000);
    await clock.advance(500);
    await clock.timerSet(1_000);
    await clock.advance(900);
    await emit(receivedEvent('cmessage2'));
    await clock.timerSet(500);
    await clock.advance(100);
    await hook.receiver.received(4);
    await clock.advance(400);
    await hook.receiver.received(5);
    await pass(1_000);
    await delivery.settle();
    const [second] = await delivery.list({ limit: 1 });
    const times = second?.attempts.map(({ at }) => at) ?? [];
    expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 500, 1_500]);
  });

  it('signs with the present time after the clock of the machine was set back', async () => {
    proves('delivery.timestamp-header');
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    hook.fixture.clock.jump(-3_600_000);
    await hook.fixture.deliver(receivedEvent('cmessage2'));
    const signed = hook.receiver.requests.map(({ headers }) => Number(headers['x-service-timestamp']?.[0]));
    const now = hook.fixture.clock.now();
    expect(signed).toEqual([now + 3_600_000, now]);
  });
});

describe('with plans from when the tables were small', () => {
  const hook = useHook();
  const CLAIM = { subscriptionId: WORKSPACE, now: 1, limit: 8, except: [], destination: null, signedAt: 1 };
  const END = { attempts: [], outcome: 'delivered', reason: null, dueAt: null } as const;
  const ROWS_READ = `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS count
    FROM pg_stat_xact_user_tables WHERE relname IN ('deliveries', 'ledger')`;

  it.each<[string, number, (tx: Queryable, rows: readonly DeliveryRecord[]) => Promise<unknown>]>([
    ['a claim', 8, (tx) => claimByIndex(tx, CLAIM)],
    [
      'a write',
      64,
      (tx, rows) =>
        endAttempts(
          tx,
          rows.map((row) => ({ ...END, delivery: { ...row, made: 1 } })),
        ),
    ],
  ])('%s reads no other rows', async (_name, small, run) => {
    await recordEvents(hook.fixture.database, receivedEvents(small), 0);
    const rows = await hook.fixture.delivery.list({ limit: small });
    // One transaction is one session; a plan is kept from the sixth use on.
    await hook.fixture.database.transaction(async (tx) => {
      await tx.query('ANALYZE platform.ledger, platform.deliveries');
      for (let use = 0; use < 8; use += 1) await run(tx, rows);
      await recordEvents(tx, receivedEvents(2_000), 0);
      const [before] = await tx.query<{ count: number }>(ROWS_READ);
      await run(tx, rows);
      const [after] = await tx.query<{ count: number }>(ROWS_READ);
      expect((after?.count ?? Number.NaN) - (before?.count ?? 0)).toBeLessThan(200);
    });
  });
});

describe('while the database fails', () => {
  type Fate = 'before' | 'after' | undefined;
  let fail: (text: string) => Fate | Promise<Fate> = () => undefined;
  const lost = (): Error => new Error('the connection ended');
  const hook = useHook((database) => ({
    database: aroundStatements(database, async (text, run) => {
      const fate = await fail(text);
      if (fate === 'before') throw lost();
      const rows = await run();
      if (fate === 'after') throw lost();
      return rows;
    }),
  }));

  /** The first statement with these words fails. */
  const failOnce = (words: string, fate: 'before' | 'after'): void => {
    fail = (text) => {
      if (!text.includes(words)) return undefined;
      fail = () => undefined;
      return fate;
    };
  };

  it('an event waits until its delivery can be claimed', async () => {
    failOnce('"due_at" <=', 'before');
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.retry(1_000);
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it.each(['before', 'after'] as const)(
    'an attempt is stored once, if the first write fails %s it has taken effect',
    async (fate) => {
      failOnce('||', fate);
      await hook.fixture.emit(receivedEvent('cmessage1'));
      await hook.fixture.retry(1_000);
      expect(await hook.fixture.delivery.list({ limit: 10 })).toMatchObject([
        { outcome: 'delivered', attempts: [{ status: 200 }] },
      ]);
      expect(hook.receiver.requests).toHaveLength(1);
    },
  );

  it('a stop begins no attempt of what was being claimed', async () => {
    const [asked, claimed] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()];
    fail = (text) => {
      if (!text.includes('"due_at" <=')) return undefined;
      asked.resolve();
      return claimed.promise;
    };
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await asked.promise;
    const stopped = hook.fixture.delivery.close();
    claimed.resolve(undefined);
    await stopped;
    expect(hook.receiver.connections).toBe(0);
  });

  it('a stop ends, and leaves to the next start what it cannot drop', async () => {
    failOnce('set "outcome"', 'before');
    await hook.fixture.delivery.close();
  });

  it('a stop tries once more to store an attempt, and does not wait for it', async () => {
    let writes = 0;
    // Not for ever: a test that waits in vain is to end.
    fail = (text) => (text.includes('||') && ++writes < 100 ? 'before' : undefined);
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(1_000);
    await hook.fixture.delivery.close();
    expect(writes).toBe(2);
    fail = () => undefined;
  });
});
