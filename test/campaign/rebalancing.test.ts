import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addConsumer } from '../../src/connector/consumers/consumer-store.ts';
import { PARTITIONS, partitionOf } from '../../src/connector/consumers/partition-of.ts';
import { readConsumerFigures } from '../../src/connector/state/figures.ts';
import type { ConsumerRequest } from '../../src/contract/connector/consumer-requests.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { ConsumerBench } from '../connector/consumers/consumer-bench.ts';
import { newId } from '../connector/support/event-fixtures.ts';

const SCRIPT = new URL('../connector/support/dispatch-in-child.ts', import.meta.url).pathname;
const ROUNDS = process.env['CAMPAIGN'] === 'whole' ? 25 : 1;
/** Longer than a process may be silent. */
const STALL_MS = 6_000;
/** Changes of half a second, and two statements on a machine that is busy. */
const REPEATED_MS = 1_500;
/** Within this time, a process that got no time from the machine notices that it was considered dead. */
const LAG_MS = 2_000;

/** A call, as the handler or the endpoint saw it. Times in epoch ms. */
interface Call {
  readonly pid: number;
  /** The process, until it was considered dead. The endpoint does not know it. */
  readonly life?: string;
  readonly connectionId: string;
  readonly seq: number;
  /** When the process began it at the earliest. */
  readonly begun: number;
  /** When it was seen. */
  readonly at: number;
}

/** A process ended without an orderly stop, or was stopped for too long, between two moments; or nobody caused it. */
interface End {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
  readonly caused: boolean;
}

/** A worker process. */
interface Worker {
  readonly pid: number;
  /** The number of calls of its handler that it has begun. */
  calls(): number;
  /** Resolves when it begins its next one. */
  nextCall(): Promise<unknown>;
  /** SIGTERM stops it in an orderly way. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Stops its clock for longer than a process may be silent. */
  stall(): Promise<void>;
}

let bench: ConsumerBench;
let children: ChildProcess[];
/** One of each partition, so that every process with a share has something to call. */
let connections: readonly string[];
let journal: string;
let caused: End[];
let posts: Call[];

beforeEach(async () => {
  [children, caused, posts] = [[], [], []];
  connections = Array.from({ length: PARTITIONS }, (_, partition) => connectionIn(partition));
  const folder = await mkdtemp(join(tmpdir(), 'messaging-connector-calls-'));
  journal = join(folder, 'journal');
  const server = createServer(async (request, response) => {
    const at = systemClock.now();
    const body = await text(request).catch(() => null);
    // Its process was killed.
    if (body === null) return;
    receive(request.headers, body, at);
    await systemClock.sleep(10);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  bench = await ConsumerBench.open();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const kind of ['handler', 'http'] as const) {
    const settings = kind === 'http' ? { url, ordered: true } : {};
    await addConsumer(bench.database, { name: kind, kind, settings, sealedSecret: '', createdAt: 0 }, 0);
  }
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await bench.close();
});

function connectionIn(partition: number): string {
  for (let id = newId(); ; id = newId()) if (partitionOf(id) === partition) return id;
}

/** Notes a request under the process whose secret has signed it. */
function receive(headers: IncomingHttpHeaders, body: string, at: number): void {
  const { change } = JSON.parse(body) as ConsumerRequest;
  const begun = Number(headers['webhook-timestamp']) * 1_000;
  const isFrom = ({ pid }: ChildProcess): boolean => {
    const secret = Buffer.from(`of process ${pid}`).toString('base64');
    const signature = new Webhook(secret).sign(String(headers['webhook-id']), new Date(begun), body);
    return signature === headers['webhook-signature'];
  };
  const pid = children.findLast(isFrom)?.pid ?? 0;
  posts.push({ pid, connectionId: change.connectionId, seq: change.seq, begun, at });
}

async function addBacklog(each: number): Promise<void> {
  const texts = Array.from({ length: each }, (_, index) => `${index}`);
  await Promise.all(connections.map((connectionId) => bench.tellAtOnce(connectionId, texts)));
}

/** Starts so many workers. */
async function start(count: number, guarded = true): Promise<readonly Worker[]> {
  const argument = JSON.stringify({ databaseUrl: bench.databaseUrl, journal, guarded });
  const workers = Array.from({ length: count }, () => {
    const child = spawn(process.execPath, [SCRIPT, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout }) };
  });
  await Promise.all(workers.map(({ lines }) => once(lines, 'line')));
  return workers.map(({ child, lines }) => {
    let calls = 0;
    lines.on('line', () => {
      calls += 1;
    });
    child.stdin.write('go\n');
    return {
      pid: child.pid ?? 0,
      calls: () => calls,
      nextCall: () => once(lines, 'line'),
      async kill(signal = 'SIGKILL') {
        const gone = once(child, 'exit');
        child.kill(signal);
        await gone;
      },
      async stall() {
        child.kill('SIGSTOP');
        await systemClock.sleep(STALL_MS);
        child.kill('SIGCONT');
      },
    };
  });
}

/** Resolves when the worker has a share, and more to call than the change that it calls now. */
async function untilBusy(worker: Worker): Promise<void> {
  for (const before = worker.calls(); worker.calls() === before; await systemClock.sleep(200))
    await addBacklog(2);
  // Its share may have moved meanwhile, and then another worker calls what was added.
  for (let isCalled = false; !isCalled; ) {
    const called = worker.nextCall().then(() => true);
    await addBacklog(12);
    isCalled = await Promise.race([called, systemClock.sleep(1_000).then(() => false)]);
  }
}

/** Ends a process without an orderly stop, or the time in which it was stopped. */
async function end(worker: Worker, how: () => Promise<void>): Promise<void> {
  const from = systemClock.now();
  await how();
  caused.push({ pid: worker.pid, from, to: systemClock.now(), caused: true });
}

async function everythingCalled(): Promise<void> {
  const waiting = async () => (await readConsumerFigures(bench.database)).map((each) => each.waiting);
  await expect.poll(waiting, { timeout: 60_000 }).toEqual([0, 0]);
}

/** What the handler and what the endpoint saw, and how processes ended. */
function readCalls(): { handler: readonly Call[]; http: readonly Call[]; ends: readonly End[] } {
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  const read = lines.map((line) => JSON.parse(line) as Call);
  // Lines without a change say that the process lives.
  const handler = read.filter(({ seq }) => seq !== undefined).map((call) => ({ ...call, begun: call.at }));
  const lives = Map.groupBy(
    new Map(read.toReversed().map((line) => [line.life, line])).values(),
    ({ pid }) => pid,
  );
  // Also a process that got no time from the machine is considered dead, and joins again.
  const later = [...lives.values()].flatMap((each) => each.sort((a, b) => a.at - b.at).slice(1));
  const ends = [...caused, ...later.map(({ pid, at }) => ({ pid, from: at, to: at, caused: false }))];
  // A call that was in progress when its process was stopped may be written down after those of others.
  return {
    handler: handler.sort((a, b) => a.at - b.at),
    http: posts,
    ends: ends.sort((a, b) => a.to - b.to),
  };
}

/** The calls of one consumer, in the order in which they began, against what they should be. */
function judge(
  calls: readonly Call[],
  changes: readonly { readonly connectionId: string; readonly seq: number }[],
  ends: readonly End[],
) {
  const found = { outOfOrder: 0, late: 0, unexplained: 0, repeats: 0, oldestRepeatMs: 0 };
  const endOf = ({ pid, begun }: Call) => ends.find((each) => each.pid === pid && each.to >= begun);
  const callsOf = Map.groupBy(calls, ({ connectionId }) => connectionId);
  for (const [connectionId, due] of Map.groupBy(changes, (change) => change.connectionId)) {
    /** The last call of each change, in the order of their first ones. */
    const last = new Map<number, Call>();
    const [newest, lostAt] = [new Map<string, number>(), new Map<string, number>()];
    for (const call of callsOf.get(connectionId) ?? []) {
      const { life, seq, at } = call;
      if (life !== undefined) {
        if (at > (lostAt.get(life) ?? at)) found.late += 1;
        // Whose changes come again from another process has lost them, and begins no call of the connection any more.
        for (const [other, highest] of newest)
          if (other !== life && highest >= seq && !lostAt.has(other)) lostAt.set(other, at);
        newest.set(life, Math.max(seq, newest.get(life) ?? 0));
      }
      const before = last.get(seq);
      last.set(seq, call);
      if (before === undefined) continue;
      found.repeats += 1;
      const [ended, own] = [endOf(before), endOf(call)];
      // Or it was in progress when its own process was stopped, and arrived afterwards.
      const isStale = own !== undefined && own.from <= at + (own.caused ? 0 : LAG_MS);
      if (ended === undefined && !isStale) found.unexplained += 1;
      if (ended?.caused) found.oldestRepeatMs = Math.max(found.oldestRepeatMs, ended.from - before.at);
    }
    const order = [...last.keys()];
    found.outOfOrder += due.filter(({ seq }, index) => order[index] !== seq).length;
  }
  return found;
}

describe('workers that join, leave, stall and are killed', () => {
  it('leave out no change, call nothing that others have taken, and repeat half a second of changes', async () => {
    let [last] = await start(1);
    for (let round = 0; round < ROUNDS; round += 1) {
      const [first, second, third] = await start(3);
      if (last === undefined || first === undefined || second === undefined || third === undefined) break;
      for (const worker of [first, second, third, last]) await untilBusy(worker);
      const [stalled] = [last];
      await Promise.all([end(stalled, () => stalled.stall()), addBacklog(5)]);
      await untilBusy(second);
      await second.kill('SIGTERM');
      for (const worker of [first, stalled]) {
        await untilBusy(worker);
        await end(worker, () => worker.kill());
      }
      last = third;
    }
    await everythingCalled();
    await last?.kill('SIGTERM');
    const { changes } = await bench.feed.pageAfter(0, 1_000_000);
    const { ends, ...consumers } = readCalls();
    const unknown = ends.filter((each) => !each.caused).length - ROUNDS;
    process.stdout.write(`${2 * ROUNDS} kills, ${unknown} other deaths, ${changes.length} changes\n`);
    for (const [name, calls] of Object.entries(consumers)) {
      const found = judge(calls, changes, ends);
      process.stdout.write(`${name}: ${calls.length} calls, ${JSON.stringify(found)}\n`);
      expect(found, name).toMatchObject({ outOfOrder: 0, late: 0, unexplained: 0 });
      expect(found.repeats, name).toBeGreaterThan(0);
      expect(found.oldestRepeatMs, name).toBeLessThanOrEqual(REPEATED_MS);
    }
  });

  it('would be found to call what others have taken if they did not ask first', async () => {
    const [stalling, other] = await start(2, false);
    if (stalling === undefined || other === undefined) throw new Error('two were started');
    await untilBusy(other);
    // A quick machine may have called all that it holds before it is stopped.
    for (let late = 0, tries = 0; late === 0; tries += 1) {
      expect(tries).toBeLessThan(10);
      await untilBusy(stalling);
      await end(stalling, () => stalling.stall());
      await everythingCalled();
      const { handler, ends } = readCalls();
      ({ late } = judge(handler, (await bench.feed.pageAfter(0, 100_000)).changes, ends));
    }
  });
});
