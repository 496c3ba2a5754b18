import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Outbox } from '../../../src/connector/outbox/outbox.ts';
import { readDueQueues, readNextSend } from '../../../src/connector/outbox/queue-store.ts';
import type { PolledMessage } from '../../../src/connector/service-client/polled.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { newId } from '../support/event-fixtures.ts';
import { lose, OutboxBench, PICTURE, refuse, SOMEBODY, sentAs } from './outbox-bench.ts';

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

/** An outgoing picture as the service lists it, with its file to be fetched. */
function show(id: string, connectionId: string, text: string | null = null): PolledMessage {
  bench.files.set(`https://files.example/${id}`, PICTURE);
  return {
    id,
    connectionId,
    direction: 'outgoing',
    text,
    mediaUrl: `https://files.example/${id}`,
    mediaType: 'image/png',
    status: 'sent',
    errorMessage: null,
    waMessageId: null,
    createdAt: bench.clock.now(),
  };
}

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
const stateOf = async (id: string): Promise<string> => (await bench.read(id)).state;
const statesOf = (ids: readonly string[]): Promise<string[]> => Promise.all(ids.map(stateOf));
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
    expect(await statesOf([lost, same, ...others])).toEqual(['sending', 'queued', 'sent', 'sent']);
    await pass(outbox, 3 * MINUTE);
    const late = await bench.queueText(connectionId, 'late', newId(), OTHER);
    await outbox.settle();
    expect(await statesOf([lost, same, late])).toEqual(['sending', 'queued', 'sent']);
    await pass(outbox, MINUTE);
    expect(await statesOf([lost, same])).toEqual(['unknown', 'sent']);
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
    expect(await statesOf([lost, waits, behind])).toEqual(['sending', 'queued', 'queued']);
    bench.answer = loseFiles;
    await pass(outbox, 30 * SECOND);
    expect(await statesOf([lost, waits, behind])).toEqual(['sending', 'sent', 'sent']);
  });

  it('a second lost answer blocks the queue, so that not all of its files come into doubt', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    const ids = await Promise.all(
      [SOMEBODY, OTHER, THIRD].map((to, index) => bench.queueFile(connectionId, `${index}`, to)),
    );
    const outbox = await bench.running();
    await pass(outbox, 3 * MINUTE);
    expect((await statesOf(ids)).sort()).toEqual(['queued', 'sending', 'sending']);
  });

  it('nothing goes out while the service does not answer look-ups, and the result waits for an answer', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    bench.list = unreachable;
    const lost = await bench.queueFile(connectionId);
    const others = await Promise.all([OTHER, THIRD].map((to) => bench.queueFile(connectionId, to, to)));
    const outbox = await bench.running();
    await pass(outbox, 10 * MINUTE);
    expect(await statesOf([lost, ...others])).toEqual(['sending', 'queued', 'queued']);
    expect(bench.calls).toHaveLength(1);
    const found = show(newId(), connectionId);
    bench.answer = () => sentAs(newId());
    bench.list = () => [{ ...found, createdAt: bench.clock.now() - 10 * MINUTE }];
    await pass(outbox, 5 * SECOND);
    expect(await statesOf([lost, ...others])).toEqual(['sent', 'sent', 'sent']);
  });

  it('a look-up that the service refuses permanently ends after four minutes as well', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = lose;
    bench.list = () => refuse('insufficient_scope', 403);
    const lost = await bench.queueFile(connectionId);
    const outbox = await bench.running();
    await pass(outbox, 4 * MINUTE);
    expect(await stateOf(lost)).toBe('unknown');
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
    bench.listed = [show(newId(), connectionId)];
    await pass(outbox, 5 * MINUTE);
    expect(await statesOf(ids)).toEqual(['unknown', 'unknown']);
  });

  it('are not distinguished if a process died during the second, whose message exists', async () => {
    const connectionId = await bench.addConnection();
    const dying = dyingDatabase(bench.database, Number.POSITIVE_INFINITY, 'after');
    bench.answer = ({ to }) => {
      if (to !== OTHER) return lose();
      bench.listed = [show(newId(), connectionId)];
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
    expect(await statesOf([lost, cutOff])).toEqual(['sending', 'sending']);
    // Both are due, so the first one is looked up before anyone has looked at the second.
    await bench.clock.advance(2 * MINUTE);
    await pass(await bench.running(), 5 * MINUTE);
    expect(await statesOf([lost, cutOff])).toEqual(['unknown', 'unknown']);
  });

  it('are distinguished if one was answered', async () => {
    const connectionId = await bench.addConnection();
    const [mine, answered] = [newId(), newId()];
    bench.answer = ({ to }) => (to === OTHER ? sentAs(answered) : lose());
    const lost = await bench.queueFile(connectionId);
    await bench.queueFile(connectionId, undefined, OTHER);
    const outbox = await bench.running();
    await outbox.settle();
    bench.listed = [show(answered, connectionId), show(mine, connectionId)];
    await pass(outbox, 5 * SECOND);
    expect(await bench.read(lost)).toMatchObject({ state: 'sent', messageId: mine });
  });
});

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
/** How it meets a look among the messages. `behind`: it does not list what came in the last ten seconds. */
const LOOKS = ['whole', 'whole', 'behind', 'away', 'refused'] as const;
type Look = (typeof LOOKS)[number];

interface Schedule {
  readonly sends: readonly { readonly to: string; readonly file: boolean; readonly alike: boolean }[];
  readonly meetings: readonly Meeting[];
  readonly looks: readonly Look[];
  /** What happens after each other: time passes, and the process may be killed at one of its next statements. */
  readonly steps: readonly { readonly ms: number; readonly dies: number | null; readonly queues: number }[];
}

const schedules: fc.Arbitrary<Schedule> = fc.record({
  sends: fc.array(
    fc.record({ to: fc.constantFrom(SOMEBODY, OTHER, THIRD), file: fc.boolean(), alike: fc.boolean() }),
    { minLength: 3, maxLength: 12 },
  ),
  meetings: fc.array(fc.constantFrom(...MEETINGS), { minLength: 1, maxLength: 12 }),
  looks: fc.array(fc.constantFrom(...LOOKS), { minLength: 1, maxLength: 6 }),
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

/** A service that meets sends and looks as a schedule says, and knows texts again by their key, but no file. */
class CapriciousService {
  /** By the time at which a phone had it. */
  readonly arrivals: Arrival[] = [];
  healed = false;
  readonly #answered = new Map<string, { readonly messageId: string; readonly at: number }>();
  readonly #listed: PolledMessage[] = [];
  readonly #schedule: Schedule;
  readonly #connectionId: string;
  #sends = 0;
  #looks = 0;

  constructor(schedule: Schedule, connectionId: string) {
    this.#schedule = schedule;
    this.#connectionId = connectionId;
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
    if (media !== undefined)
      this.#listed.push({ ...show(messageId, this.#connectionId, media.caption ?? null), createdAt: at });
    return meeting === 'ok' ? sentAs(messageId) : lose();
  };

  readonly list = (): PolledMessage[] => {
    const look = this.healed ? 'whole' : pick(this.#schedule.looks, this.#looks++);
    if (look === 'away') return unreachable();
    if (look === 'refused') return refuse('rate_limited', 429);
    const until = bench.clock.now() - (look === 'behind' ? 10 * SECOND : 0);
    return this.#listed.filter(({ createdAt }) => createdAt <= until).toReversed();
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
  const service = new CapriciousService(schedule, connectionId);
  bench.answer = service.answer;
  bench.list = service.list;
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
  const states = await statesOf(queued.map(({ id }) => id));
  return {
    arrivals: service.arrivals.toSorted((a, b) => a.at - b.at),
    ends: queued.map(({ number, to }, index) => ({ number, to, state: states[index] ?? '' })),
  };
}

describe('whatever the service does and whenever a process dies', { timeout: 300_000 }, () => {
  it('the sends to one person arrive in order, none twice, and each final state is true', async () => {
    let overtook = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        const { arrivals, ends } = await runSchedule(schedule);
        const numbers = arrivals.map(({ number }) => number);
        if (numbers.some((number, index) => number < (numbers[index - 1] ?? 0))) overtook += 1;
        expect(new Set(numbers).size, 'one arrived twice').toBe(numbers.length);
        for (const to of [SOMEBODY, OTHER, THIRD]) {
          const received = arrivals.filter((arrival) => arrival.to === to).map(({ number }) => number);
          expect(received).toEqual(received.toSorted((a, b) => a - b));
        }
        for (const { number, state } of ends) {
          const arrived = numbers.includes(number);
          expect(['sent', 'delivered_not_stored', 'rejected', 'unknown']).toContain(state);
          if (state !== 'unknown') expect(arrived, `${number} is ${state}`).toBe(state !== 'rejected');
        }
      }),
      { numRuns: 60 },
    );
    // Otherwise nothing was tried.
    expect(overtook).toBeGreaterThan(0);
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
    expect((await readDueQueues(counting, now, 10)).toSorted()).toEqual(['queue0', 'queue1']);
    expect(counting.takeCount()).toBeLessThan(2 * FEW);
    const later = await readDueQueues(bench.database, now + 5_000, 10);
    expect(later.toSorted()).toEqual(['queue0', 'queue1', 'queue2']);
  });
});
