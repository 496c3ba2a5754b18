import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceUnreachable } from '../../src/connector/service-client/service-errors.ts';
import { lose, OutboxBench, refuse, SOMEBODY, sentAs } from '../connector/outbox/outbox-bench.ts';
import { newId } from '../connector/support/event-fixtures.ts';
import { dyingDatabase } from '../support/dying-database.ts';
import { ofFile } from '../support/of-file.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const OTHER = '447700900202';
const THIRD = '447700900203';

const bench = ofFile(() => OutboxBench.open());
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

/**
 * How the service meets a send. Without an answer: `lost_before` and `lost_after` it was carried out, or so `lost_early`
 * that it still takes its time, as while a session heals.
 */
const MEETINGS = [
  'ok',
  'ok',
  'ok',
  'lost_before',
  'lost_after',
  'lost_early',
  'not_sent',
  'later',
  'never',
  'not_stored',
] as const;
type Meeting = (typeof MEETINGS)[number];

interface Schedule {
  readonly sends: readonly { readonly to: string; readonly file: boolean; readonly alike: boolean }[];
  readonly meetings: readonly Meeting[];
  /** What happens after each other: time passes, and the process may be killed at one of its next statements. */
  readonly steps: readonly { readonly ms: number; readonly dies: number | null; readonly queues: number }[];
}

const schedules: fc.Arbitrary<Schedule> = fc.record({
  sends: fc.array(
    fc.record({ to: fc.constantFrom(SOMEBODY, OTHER, THIRD), file: fc.boolean(), alike: fc.boolean() }),
    { minLength: 3, maxLength: 12 },
  ),
  meetings: fc.array(fc.constantFrom(...MEETINGS), { minLength: 1, maxLength: 12 }),
  steps: fc.array(
    fc.record({
      ms: fc.constantFrom(0, SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE),
      dies: fc.option(fc.integer({ min: 1, max: 40 })),
      queues: fc.integer({ min: 0, max: 6 }),
    }),
    { minLength: 2, maxLength: 8 },
  ),
});

interface Arrival {
  readonly number: number;
  readonly to: string;
  readonly at: number;
}

/** How long a send takes that outlives its call. */
const HEALING_MS = 100 * SECOND;

/** A service that meets sends as a schedule says, and knows texts again by their key, but no file. */
class CapriciousService {
  /** By the time at which a phone had it. */
  readonly arrivals: Arrival[] = [];
  healed = false;
  readonly #answered = new Map<string, { readonly messageId: string; readonly at: number }>();
  readonly #schedule: Schedule;
  #sends = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The number of a send stands in its text, or in the name of its file. */
  readonly answer: OutboxBench['answer'] = ({ to, idempotencyKey = '', text, media }) => {
    const known = this.#answered.get(idempotencyKey);
    if (known !== undefined)
      return known.at > bench.clock.now() ? refuse('in_progress', 409) : sentAs(known.messageId);
    const meeting = this.healed ? 'ok' : pick(this.#schedule.meetings, this.#sends++);
    if (meeting === 'lost_before') return lose();
    if (meeting === 'not_sent') throw new ServiceUnreachable('connect');
    if (meeting === 'later') return refuse('send_failed');
    if (meeting === 'never') return refuse('recipient_not_on_whatsapp', 422);
    const at = bench.clock.now() + (meeting === 'lost_early' ? HEALING_MS : 0);
    this.arrivals.push({ number: Number(text ?? media?.filename), to, at });
    const messageId = newId();
    if (text !== undefined) this.#answered.set(idempotencyKey, { messageId, at });
    if (meeting === 'not_stored') return { ...sentAs(messageId), messageId: null, persisted: false };
    return meeting === 'ok' ? sentAs(messageId) : lose();
  };
}

function pick<T>(all: readonly T[], index: number): T {
  return all[index % all.length] as T;
}

async function runSchedule(schedule: Schedule): Promise<{
  readonly arrivals: readonly Arrival[];
  readonly ends: readonly { readonly number: number; readonly to: string; readonly state: string }[];
}> {
  const connectionId = await bench.addConnection();
  const service = new CapriciousService(schedule);
  bench.answer = service.answer;
  const queued: { readonly number: number; readonly to: string; readonly id: string }[] = [];
  async function queueNext(): Promise<void> {
    const number = queued.length;
    const next = schedule.sends[number];
    if (next === undefined) return;
    const { to, file, alike } = next;
    const id = file
      ? await bench.queueFile(connectionId, alike ? 'alike' : `${number}`, to, `${number}`)
      : await bench.queueText(connectionId, `${number}`, newId(), to);
    queued.push({ number, to, id });
  }

  for (const { ms, dies, queues } of schedule.steps) {
    const dying = dies === null ? undefined : dyingDatabase(bench.database, dies, 'after');
    const sender = bench.process(dying === undefined ? {} : { database: dying.database });
    await sender.start().catch(() => undefined);
    for (let count = 0; count < queues; count += 1) await queueNext();
    await sender.settle().catch(() => undefined);
    dying?.kill();
    await sender.close();
    await bench.bury(sender);
    await bench.clock.advance(ms);
  }
  while (queued.length < schedule.sends.length) await queueNext();
  service.healed = true;
  for (let times = 0; times <= queued.length; times += 1) {
    const sender = await bench.running();
    await sender.settle();
    await sender.close();
    await bench.clock.advance(5 * MINUTE);
  }
  const states = await bench.statesOf(queued.map(({ id }) => id));
  return {
    arrivals: service.arrivals.toSorted((a, b) => a.at - b.at),
    ends: queued.map(({ number, to }, index) => ({ number, to, state: states[index] ?? '' })),
  };
}

describe('whatever the service does and whenever a process dies', () => {
  it('the sends of a connection arrive in order, none twice, and each final state is true', async () => {
    let doubts = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        const { arrivals, ends } = await runSchedule(schedule);
        const numbers = arrivals.map(({ number }) => number);
        expect(new Set(numbers).size, 'one arrived twice').toBe(numbers.length);
        // One that nobody knows of may arrive after those that went out behind it.
        const unknown = ends.filter(({ state }) => state === 'unknown').map(({ number }) => number);
        doubts += unknown.length;
        const certain = numbers.filter((number) => !unknown.includes(number));
        expect(certain).toEqual(certain.toSorted((a, b) => a - b));
        for (const { number, state } of ends) {
          const arrived = numbers.includes(number);
          expect(['sent', 'delivered_not_stored', 'rejected', 'unknown']).toContain(state);
          if (state !== 'unknown') expect(arrived, `${number} is ${state}`).toBe(state !== 'rejected');
        }
      }),
      { numRuns: WHOLE ? 1_000 : 60 },
    );
    // Otherwise nothing was tried.
    expect(doubts).toBeGreaterThan(0);
  });
});
