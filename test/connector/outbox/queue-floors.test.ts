import { expect, it } from 'vitest';
import { createQueueFloors, type KnownQueues } from '../../../src/connector/outbox/due-queues.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SECOND = 1_000;

/** The unfinished sends of each queue, the highest position that was given, and what the last check was told. */
class Sends {
  readonly clock = new ManualClock();
  readonly floors = createQueueFloors(this.clock);
  readonly unfinished: Record<string, number[]> = {};
  last = 0;
  told: KnownQueues | null = null;

  async check(): Promise<void> {
    const read = async (known: KnownQueues | null) => {
      this.told = known;
      return Object.entries(this.unfinished).flatMap(([connectionId, positions]) => {
        const above = known === null ? 0 : (known.queues.get(connectionId) ?? known.above);
        const firstPosition = Math.min(...positions.filter((position) => position > above));
        return Number.isFinite(firstPosition) ? [{ connectionId, firstPosition }] : [];
      });
    };
    await this.floors.check(read, async () => this.last);
  }

  async later(seconds: number): Promise<void> {
    await this.clock.advance(seconds * SECOND);
    await this.check();
  }
}

it('unfinished sends are looked for above those that had finished 30 seconds ago', async () => {
  const sends = new Sends();
  Object.assign(sends, { last: 20, unfinished: { waits: [5, 20] } });
  await sends.check();
  expect(sends.told).toBeNull();
  sends.last = 30;
  await sends.later(29);
  expect([sends.floors.of('waits'), sends.floors.of('other')]).toEqual([0, 0]);
  await sends.later(1);
  expect([sends.floors.of('waits'), sends.floors.of('other')]).toEqual([4, 20]);
  sends.unfinished['waits'] = [20];
  sends.unfinished['other'] = [31];
  await sends.later(5);
  expect(sends.told).toEqual({ above: 20, queues: new Map([['waits', 4]]) });
  expect([sends.floors.of('waits'), sends.floors.of('other')]).toEqual([4, 20]);
  await sends.later(25);
  expect([sends.floors.of('waits'), sends.floors.of('other'), sends.floors.of('third')]).toEqual([4, 20, 30]);
  await sends.later(30);
  expect([sends.floors.of('waits'), sends.floors.of('other')]).toEqual([19, 30]);
  sends.unfinished['waits'] = [];
  await sends.later(5);
  expect(sends.floors.of('waits')).toBe(30);
});

it('once a minute all are looked at, and a send that was stored late lowers the floor of its queue', async () => {
  const sends = new Sends();
  sends.last = 20;
  await sends.check();
  await sends.later(30);
  sends.unfinished['late'] = [7, 25];
  await sends.later(29);
  expect(sends.floors.of('late')).toBe(20);
  await sends.later(1);
  expect(sends.told).toBeNull();
  expect([sends.floors.of('late'), sends.floors.of('other')]).toEqual([6, 20]);
  await sends.later(5);
  expect(sends.floors.of('late')).toBe(6);
});

it('a look at all sends that fails is repeated by the next check', async () => {
  const sends = new Sends();
  sends.last = 20;
  await sends.check();
  await sends.later(30);
  await sends.clock.advance(30 * SECOND);
  const failing = sends.floors.check(
    () => Promise.reject(new Error('the database is away')),
    async () => 20,
  );
  sends.unfinished['late'] = [7];
  await Promise.all([expect(failing).rejects.toThrow('away'), sends.check()]);
  expect(sends.floors.of('late')).toBe(6);
});

it('a database without sends does not hide the first one', async () => {
  const sends = new Sends();
  await sends.check();
  await sends.later(30);
  sends.unfinished['first'] = [1];
  await sends.later(5);
  expect(sends.floors.of('first')).toBe(0);
});
