import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { holdLease, type LeaseKeeper } from '../../../src/connector/leases/hold-lease.ts';
import { releaseLease, renewLease, takeLease } from '../../../src/connector/leases/lease.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { openConnectorDatabase, silentLogger } from '../support/event-fixtures.ts';

const TTL = 60_000;
let opened: Awaited<ReturnType<typeof openConnectorDatabase>>;
let database: Database;
let clock: WatchedClock;

beforeAll(async () => {
  opened = await openConnectorDatabase();
  database = opened.database;
});
afterAll(() => opened.close());
beforeEach(async () => {
  await database.query('truncate connector.leases');
  clock = new WatchedClock();
});

const take = (owner: string, now: number) => takeLease(database, { name: 'work', owner, now, ttlMs: TTL });
const keeper = (owner: string): LeaseKeeper => ({ database, clock, logger: silentLogger, owner });

describe('a lease', () => {
  it('is held by one of many who ask at once', async () => {
    const taken = await Promise.all(Array.from({ length: 20 }, (_, index) => take(`p${index}`, 1_000)));
    expect(taken.filter((lease) => lease !== null)).toHaveLength(1);
  });

  it('is free again once it is released, with a higher fence', async () => {
    const first = await take('a', 1_000);
    if (first === null) expect.fail('not taken');
    await releaseLease(database, first);
    expect((await take('b', 1_000))?.fence).toBe(first.fence + 1);
  });

  it('runs out at its time, not before', async () => {
    await take('a', 1_000);
    expect(await take('b', 1_000 + TTL - 1)).toBeNull();
    expect(await take('b', 1_000 + TTL)).not.toBeNull();
  });

  it('is not free to its own holder either', async () => {
    await take('a', 1_000);
    expect(await take('a', 1_001)).toBeNull();
  });

  it('can be neither renewed nor released by a holder that was replaced', async () => {
    const first = await take('a', 1_000);
    const second = await take('b', 1_000 + TTL);
    if (first === null || second === null) expect.fail('not taken');
    expect(await renewLease(database, first, 200_000, TTL)).toBe(false);
    await releaseLease(database, first);
    expect(await renewLease(database, second, 200_000, TTL)).toBe(true);
  });
});

describe('work under a lease', () => {
  it('is done by one and left alone by the other', async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const first = holdLease(keeper('a'), { name: 'work', ttlMs: TTL }, async () => {
      begun.resolve();
      await gate.promise;
      return 'done';
    });
    await begun.promise;
    expect(await holdLease(keeper('b'), { name: 'work', ttlMs: TTL }, async () => 'twice')).toEqual({
      held: false,
    });
    gate.resolve();
    expect(await first).toEqual({ held: true, value: 'done' });
    expect(await holdLease(keeper('b'), { name: 'work', ttlMs: TTL }, async () => 'next')).toMatchObject({
      held: true,
    });
    expect(clock.pending).toBe(0);
  });

  it('keeps its lease by renewing it, however long it takes', async () => {
    const gate = Promise.withResolvers<void>();
    const held = holdLease(keeper('a'), { name: 'work', ttlMs: TTL }, () => gate.promise);
    for (let renewals = 0; renewals < 6; renewals += 1) {
      await clock.timerSet(TTL / 3);
      await clock.advance(TTL / 3);
    }
    await clock.timerSet(TTL / 3);
    expect(await take('b', clock.now())).toBeNull();
    gate.resolve();
    await held;
  });

  it('is told when somebody else took over', async () => {
    const held = holdLease(keeper('a'), { name: 'work', ttlMs: TTL }, async (_lease, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'gave up';
    });
    await clock.timerSet(TTL / 3);
    await take('b', clock.now() + TTL);
    await clock.advance(TTL / 3);
    expect(await held).toEqual({ held: true, value: 'gave up' });
    expect(await take('c', clock.now())).toBeNull();
  });

  it('is told when the database takes no renewal for as long as the lease runs', async () => {
    const failing: Database = Object.create(database, {
      query: {
        value: (text: string, params: unknown[]) =>
          text.startsWith('update connector.leases set expires_at = $3')
            ? Promise.reject(new Error('lost'))
            : database.query(text, params),
      },
    });
    const held = holdLease(
      { ...keeper('a'), database: failing },
      { name: 'work', ttlMs: TTL },
      async (_lease, signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return clock.elapsed();
      },
    );
    for (let tries = 0; tries < 3; tries += 1) {
      await clock.timerSet(TTL / 3);
      await clock.advance(TTL / 3);
    }
    expect(await held).toEqual({ held: true, value: TTL });
  });

  it('lets go when it fails', async () => {
    const failing = holdLease(keeper('a'), { name: 'work', ttlMs: TTL }, () =>
      Promise.reject(new Error('failed')),
    );
    await expect(failing).rejects.toThrow('failed');
    expect(await take('b', clock.now())).not.toBeNull();
    expect(clock.pending).toBe(0);
  });
});
