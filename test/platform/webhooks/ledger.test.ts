import { beforeEach, describe, expect, it } from 'vitest';
import { createLedger, type Ledger, recordEvents } from '../../../src/platform/webhooks/ledger.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { ofTest } from '../../support/of-file.ts';
import {
  CONNECTION,
  createWebhookFixture,
  receivedEvent,
  receivedEvents,
  shareDatabase,
  WORKSPACE,
} from './fixture.ts';

shareDatabase();

/** Writing twenty thousand events may take long on a busy machine. */
const SLOW = { deadlineMs: 60_000 };

describe('the ledger', () => {
  const fixture = ofTest(createWebhookFixture);
  let ledger: Ledger;

  beforeEach(async () => {
    ledger = createLedger(fixture);
  });

  it('contains every event with its payload, delivered or not', async () => {
    const event = receivedEvent('cmessage1', 'NUL \u0000, a lone surrogate \ud800 and ünïcödé');
    await recordEvents(fixture.database, [event], 0);
    expect(await ledger.read({}, 10)).toEqual([
      {
        seq: 1,
        at: event.at,
        workspaceId: WORKSPACE,
        connectionId: CONNECTION,
        messageId: 'cmessage1',
        event: 'message.received',
        status: null,
        payload: event.payload,
      },
    ]);
    const rows = await fixture.database.query('SELECT body FROM platform.ledger');
    expect(rows).toEqual([{ body: JSON.stringify(event.payload) }]);
  });

  it('returns the events after a seq, in pages', async () => {
    await recordEvents(fixture.database, receivedEvents(7), 0);
    const first = await ledger.read({}, 3);
    expect(first.map(({ seq, messageId }) => [seq, messageId])).toEqual([
      [1, 'cmessage0'],
      [2, 'cmessage1'],
      [3, 'cmessage2'],
    ]);
    expect((await ledger.read({ after: 3 }, 3)).map(({ seq }) => seq)).toEqual([4, 5, 6]);
    expect((await ledger.read({ after: 6 }, 3)).map(({ seq }) => seq)).toEqual([7]);
    expect(await ledger.read({ after: 7 }, 3)).toEqual([]);
  });

  it('contains nothing of a state change that was rolled back, and has no gap for it', async () => {
    await recordEvents(fixture.database, [receivedEvent('cmessage1')], 0);
    await expect(
      fixture.database.transaction(async (tx) => {
        await recordEvents(tx, [receivedEvent('cmessage2')], 0);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await recordEvents(fixture.database, [receivedEvent('cmessage3')], 0);
    const entries = await ledger.read({}, 10);
    expect(entries.map(({ seq, messageId }) => [seq, messageId])).toEqual([
      [1, 'cmessage1'],
      [2, 'cmessage3'],
    ]);
  });

  it('shows an event that began early and committed late to a reader that keeps the last seq', async () => {
    const late = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = fixture.database.transaction(async (tx) => {
      await recordEvents(tx, [receivedEvent('clate')], 0);
      begun.resolve();
      await late.promise;
    });
    await begun.promise;
    await recordEvents(fixture.database, [receivedEvent('cearly')], 0);
    const before = await ledger.read({}, 10);
    late.resolve();
    await slow;
    const after = await ledger.read({ after: before.at(-1)?.seq ?? 0 }, 10);
    expect([...before, ...after].map(({ seq, messageId }) => [seq, messageId])).toEqual([
      [1, 'cearly'],
      [2, 'clate'],
    ]);
  });

  it('numbers without gaps or repeats with many concurrent writers and readers', async () => {
    const writers = Array.from({ length: 8 }, (_, writer) =>
      Promise.all(
        Array.from({ length: 10 }, (__, batch) =>
          fixture.database.transaction((tx) =>
            recordEvents(
              tx,
              Array.from({ length: 5 }, (___, index) => receivedEvent(`cm${writer}x${batch}x${index}`)),
              0,
            ),
          ),
        ),
      ),
    );
    const readAll = async () => {
      const seen: string[] = [];
      let last = 0;
      while (seen.length < 400) {
        for (const entry of await ledger.read({ after: last }, 50)) {
          expect(entry.seq).toBe(last + 1);
          last = entry.seq;
          seen.push(entry.messageId ?? '');
        }
      }
      return seen;
    };
    const [one, two] = await Promise.all([readAll(), readAll(), ...writers]);
    expect(two).toEqual(one);
    expect(new Set(one).size).toBe(400);
    expect(await ledger.read({ after: 400 }, 10)).toEqual([]);
  });

  it('numbers a backlog in time with a plan that was made while the ledger was small', async () => {
    const number = (tx: Queryable): Promise<unknown> =>
      tx.query('SELECT platform.number_ledger($1::integer)', [20_000], { deadlineMs: 8_000 });
    const record = (tx: Queryable, count: number): Promise<unknown> =>
      recordEvents(tx, receivedEvents(count), 0);

    // One transaction is one session; a plan is kept from the sixth use on.
    await fixture.database.transaction(async (tx) => {
      await record(tx, 3);
      await tx.query('ANALYZE platform.ledger');
      for (let use = 0; use < 8; use += 1) {
        await record(tx, 1);
        await number(tx);
      }
      await record(tx, 20_000);
      await number(tx);
    }, SLOW);
    expect((await ledger.read({ after: 20_009 }, 100)).map(({ seq }) => seq)).toEqual([20_010, 20_011]);
  });

  it('records nothing when there is nothing to record', async () => {
    expect(await recordEvents(fixture.database, [], 0)).toEqual(new Set());
  });
});
