import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeliveryLog, type FinishedDelivery } from '../../../src/platform/webhooks/delivery-log.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { createWebhookFixture, shareDatabase, silent, type WebhookFixture } from './fixture.ts';

shareDatabase();

function row(id: number): FinishedDelivery {
  return {
    id,
    eventId: id,
    subscriptionId: 'cworkspace',
    url: 'https://hooks.example.com/',
    outcome: 'delivered',
    reason: null,
    createdAt: 1,
    signedAt: 2,
    signature: 'sha256=00',
    attempts: [{ at: 3, ms: 4, status: 200 }],
    variant: null,
  };
}

describe('the log of deliveries', () => {
  let fixture: WebhookFixture;
  let failures: number;
  let writes: number;
  let rooms: number;
  let log: DeliveryLog;

  beforeEach(async () => {
    fixture = await createWebhookFixture();
    failures = 0;
    writes = 0;
    rooms = 0;
    const flaky: Queryable = {
      async query(text, params) {
        writes += 1;
        const rows = await fixture.database.query<never>(text, params);
        if (failures === 0) return rows;
        failures -= 1;
        // As when the answer to a commit is lost.
        throw new Error('the connection broke after the write');
      },
    };
    log = new DeliveryLog({
      database: flaky,
      clock: fixture.clock,
      logger: silent,
      onRoom: () => {
        rooms += 1;
      },
    });
  });

  afterEach(() => fixture.close());

  const stored = async () =>
    (await fixture.database.query<{ id: number }>('SELECT id FROM platform.deliveries ORDER BY id')).map(
      ({ id }) => id,
    );
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it('writes a few rows after a short wait, in one statement', async () => {
    for (const id of numbers(3)) log.add(row(id));
    await fixture.clock.advance(99);
    expect(writes).toBe(0);
    await fixture.clock.advance(1);
    await log.flush();
    expect(writes).toBe(1);
    expect(await stored()).toEqual([1, 2, 3]);
    expect(fixture.clock.pending).toBe(0);
  });

  it('writes many rows at once, in batches', async () => {
    for (const id of numbers(4_500)) log.add(row(id));
    await log.flush();
    expect(await stored()).toEqual(numbers(4_500));
    expect(writes).toBeLessThan(10);
  });

  it('retries a failed write, and stores the row once', async () => {
    failures = 1;
    log.add(row(1));
    await fixture.clock.advance(100);
    await fixture.clock.timerSet(1_000);
    log.add(row(2));
    await fixture.clock.advance(1_000);
    await log.flush();
    expect(await stored()).toEqual([1, 2]);
  });

  it('reports a failed write to waiting callers, and keeps the rows', async () => {
    failures = 1;
    log.add(row(1));
    await expect(log.flush()).rejects.toThrow('the connection broke');
    await log.flush();
    expect(await stored()).toEqual([1]);
  });

  it('is full if the database falls far behind, and reports when it no longer is', async () => {
    for (const id of numbers(20_000)) log.add(row(id));
    expect(log.full).toBe(true);
    await log.flush();
    expect(log.full).toBe(false);
    expect(rooms).toBe(1);
  });

  it('discards rows on request, and does not write them later', async () => {
    log.add(row(1));
    await log.discard();
    await fixture.clock.advance(10_000);
    log.add(row(2));
    await log.flush();
    expect(await stored()).toEqual([2]);
  });
});
