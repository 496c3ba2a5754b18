import dns from 'node:dns';
import { describe, expect, it, vi } from 'vitest';
import { createConnector } from '../../src/connector/connector.ts';
import { queueSend } from '../../src/connector/outbox/queue-send.ts';
import type { PhoneMessage } from '../../src/contract/sandbox/contacts.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../src/runtime/database/database.ts';
import { createKeyRing, generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createClockNotifier } from '../support/clock-notifier.ts';
import { createTestDatabase } from '../support/database.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ofFile } from '../support/of-file.ts';
import { type OutageGate, type Passage, startOutageGate } from '../support/outage-gate.ts';
import { silentLogger } from '../support/platform.ts';
import { readAllEntries } from '../support/read-lists.ts';
import { replaceCalls } from '../support/replace-calls.ts';
import { openSendsWorld } from '../support/sends-world.ts';

/*
 * The service is unavailable for ten minutes, in every way that it can be. Once it is back, everything that waits is
 * sent within ten seconds. A complete connector runs on a manual clock and calls the service over HTTP.
 */

const SECOND = 1_000;
const OUTAGE_MS = 600 * SECOND;
const PROMISED_MS = 10 * SECOND;
const QUEUES = 4;
const IN_OUTAGE_STEP_MS = 10 * SECOND;
const STEP_MS = 500;

const OUTAGES: readonly { readonly name: string; readonly passage: Passage; readonly nameless?: true }[] = [
  { name: 'connections are refused', passage: { kind: 'refused' } },
  { name: 'its name is not found', passage: { kind: 'refused' }, nameless: true },
  { name: 'connections are reset', passage: { kind: 'reset' } },
  { name: 'connections are accepted and never answered', passage: { kind: 'silent' } },
  { name: '503 with Retry-After', passage: { kind: 'answered', status: 503, retryAfter: 5 } },
  { name: '429 with Retry-After', passage: { kind: 'answered', status: 429, retryAfter: 5 } },
];

const world = ofFile(() => openSendsWorld(QUEUES));

interface OutageTest {
  readonly gate: OutageGate;
  queue(queue: number, to: number, kind: 'text' | 'file', reference: string): Promise<void>;
  /** States by reference. */
  states(): Promise<Map<string, string>>;
  pass(ms: number, step: number): Promise<void>;
  close(): Promise<void>;
}

/** A new connector with its own database. All share one service. */
async function open(): Promise<OutageTest> {
  const gate = await startOutageGate(world.baseUrl);
  const { url, drop } = await createTestDatabase({ connector: true });
  const real = openDatabase({ url, name: 'test', poolSize: 10, clock: systemClock, logger: silentLogger });
  let asked = 0;
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    asked += 1;
    return await work.finally(() => {
      asked -= 1;
    });
  };
  const database = replaceCalls(real, {
    query: (...call) => counted(real.query(...call)),
    transaction: (...call) => counted(real.transaction(...call)),
  });
  const clock = new ManualClock(world.clock.now());
  const notifier = createClockNotifier(clock);
  const connector = await createConnector({
    database,
    notifier,
    clock,
    logger: silentLogger,
    role: 'all',
    apiToken: 'token-of-an-outage-for-tests',
    keyRing: createKeyRing([generateSealingKey()]),
    service: { baseUrl: gate.baseUrl, apiKey: world.apiKey },
    reconcileIntervalMs: 45 * SECOND,
    inboxRetentionDays: 30,
    random: () => 1,
  });
  await connector.start();

  /** Resolves when all remaining work waits for the clock or the service. */
  async function quiet(): Promise<void> {
    for (let calm = 0; calm < 3; ) {
      await systemClock.sleep(1);
      calm = asked === 0 && gate.open === 0 ? calm + 1 : 0;
    }
  }

  return {
    gate,
    async queue(queue, to, kind, reference) {
      const { connectionId = '', phones = [] } = world.queues[queue] ?? {};
      const what =
        kind === 'text'
          ? { text: reference }
          : {
              media: {
                filename: 'a.txt',
                mimetype: 'text/plain',
                data: Buffer.from(reference).toString('base64'),
              },
            };
      const queued = await queueSend(
        database,
        { connectionId, to: phones[to] ?? '', reference, ...what },
        clock.now(),
      );
      expect(queued.kind).toBe('queued');
    },
    async states() {
      const rows = await database.query<{ reference: string; state: string }>(
        'select reference, state from connector.outbound order by position',
      );
      return new Map(rows.map(({ reference, state }) => [reference, state]));
    },
    async pass(ms, step) {
      for (let left = ms; left > 0; left -= step) {
        world.clock.shift(Math.min(left, step));
        await clock.advance(Math.min(left, step));
        await quiet();
      }
    },
    async close() {
      await gate.set({ kind: 'open' });
      const closing = connector.close();
      await clock.advance(20 * SECOND);
      await closing;
      await notifier.close();
      await gate.close();
      await real.close();
      await drop();
    },
  };
}

describe('a service that was unavailable for ten minutes', () => {
  it.each(OUTAGES)(
    'receives all waiting sends within ten seconds: $name',
    async ({ name, passage, nameless }) => {
      const test = await open();
      try {
        // The first poll stores the connections.
        await test.pass(5 * SECOND, STEP_MS);
        await test.gate.set(passage);
        const lookup = nameless ? vi.spyOn(dns, 'lookup').mockImplementation(refuseName as never) : undefined;
        for (let queue = 0; queue < QUEUES; queue += 1) {
          await test.queue(queue, 0, queue % 2 === 0 ? 'file' : 'text', `${name} first ${queue}`);
          await test.queue(queue, 0, 'text', `${name} same ${queue}`);
          await test.queue(queue, 1, 'text', `${name} other ${queue}`);
        }
        await test.pass(OUTAGE_MS / 2, IN_OUTAGE_STEP_MS);
        for (let queue = 0; queue < QUEUES; queue += 1)
          await test.queue(queue, 2, 'text', `${name} later ${queue}`);
        await test.pass(OUTAGE_MS / 2, IN_OUTAGE_STEP_MS);
        // A file whose answer was lost is unknown.
        const isLostFile = (reference: string, state: string): boolean =>
          reference.includes('first') && state === 'unknown' && isLost(passage);
        for (const [reference, state] of await test.states())
          if (!isLostFile(reference, state)) expect(['queued', 'sending'], reference).toContain(state);

        lookup?.mockRestore();
        await test.gate.set({ kind: 'open' });
        let tookMs = 0;
        let waiting: readonly string[] = [];
        for (; tookMs < PROMISED_MS; ) {
          await test.pass(STEP_MS, STEP_MS);
          tookMs += STEP_MS;
          waiting = [...(await test.states())]
            .filter(([, state]) => state === 'queued' || state === 'sending')
            .map(([reference]) => reference);
          if (waiting.length === 0) break;
        }
        process.stdout.write(`${name}: everything was out ${tookMs / SECOND} s after the end\n`);
        expect(waiting).toEqual([]);
        const states = await test.states();
        for (const [reference, state] of states)
          expect(isLostFile(reference, state) ? 'sent' : state, reference).toBe('sent');
        // However often a text was repeated, it arrived once.
        const texts = [...states.keys()].filter((reference) => reference.includes(name) && isText(reference));
        expect((await arrived()).filter((text) => text?.startsWith(name)).sort()).toEqual(texts.sort());
      } finally {
        await test.close();
      }
    },
  );
});

function isText(reference: string): boolean {
  return !/ first [02]$/.test(reference);
}

/** The texts that phones have received. */
async function arrived(): Promise<(string | null)[]> {
  const phones = world.queues.flatMap((queue) => queue.phones);
  const received = await Promise.all(
    phones.map((phone) =>
      readAllEntries<PhoneMessage>(world.sandbox, `/contacts/${phone}/messages?limit=100`),
    ),
  );
  return received.flat().map(({ text }) => text);
}

function isLost(passage: Passage): boolean {
  return (
    passage.kind === 'reset' ||
    passage.kind === 'silent' ||
    (passage.kind === 'answered' && passage.status === 503)
  );
}

function refuseName(name: string, _options: unknown, done: (error: Error) => void): void {
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
  });
  process.nextTick(done, error);
}
