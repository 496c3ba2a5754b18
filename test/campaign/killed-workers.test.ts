import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addConsumer } from '../../src/connector/consumers/consumer-store.ts';
import { readDispatch } from '../../src/connector/state/figures.ts';
import { ConsumerBench } from '../connector/consumers/consumer-bench.ts';
import { newId } from '../connector/support/event-fixtures.ts';

const SCRIPT = new URL('../connector/support/dispatch-in-child.ts', import.meta.url).pathname;

let bench: ConsumerBench;
let children: ChildProcess[];

beforeEach(async () => {
  bench = await ConsumerBench.open();
  children = [];
  await bench.database.query("update connector.feed set id = 'f00dfeedf00d'");
  await addConsumer(bench.database, { name: 'handler', kind: 'handler', createdAt: 0 }, 0);
  await bench.database.query(
    `create table public.effects (id bigint generated always as identity, key text primary key,
                                  connection_id text not null, seq bigint not null)`,
  );
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await bench.close();
});

/** A worker process that has loaded and waits to start. */
interface Worker {
  /** Starts it. */
  go(): Promise<void>;
  /** The number of calls that it has begun. */
  calls(): number;
  /** Resolves when it begins its next one. */
  nextCall(): Promise<unknown>;
  kill(): Promise<void>;
}

function loadWorker(ways: { careless?: boolean; computesMs?: number } = {}): Worker {
  const argument = JSON.stringify({ databaseUrl: bench.databaseUrl, ...ways });
  const child = spawn(process.execPath, [SCRIPT, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  let calls = 0;
  const loaded = Promise.withResolvers<void>();
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (line === 'loaded') loaded.resolve();
    else calls += 1;
  });
  return {
    async go() {
      await loaded.promise;
      child.stdin.write('go\n');
    },
    calls: () => calls,
    nextCall: () => once(lines, 'line'),
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Adds changes to several connections, in turn. */
async function addChanges(connections: readonly string[], each: number): Promise<void> {
  for (let index = 0; index < each; index += 1) {
    await Promise.all(connections.map((connectionId) => bench.tell(connectionId, `${index}`)));
  }
}

interface Effect {
  readonly key: string;
  readonly connection_id: string;
  readonly seq: number;
}

const readEffects = () =>
  bench.database.query<Effect>('select key, connection_id, seq from public.effects order by id');

async function everythingDispatched(): Promise<void> {
  await expect.poll(async () => (await readDispatch(bench.database))?.waiting, { timeout: 50_000 }).toBe(0);
}

describe('workers killed during dispatch', () => {
  it('lose no change, keep the order of each connection, and cause each effect once', async () => {
    const connections = Array.from({ length: 8 }, newId);
    // Loading takes longest, so the later workers load while the earlier ones run.
    const [first, ...others] = Array.from({ length: 4 }, () => loadWorker()) as [Worker, ...Worker[]];
    let victim = first;
    await victim.go();
    for (const next of others) {
      await next.go();
      const enough = victim.calls() + Math.ceil(Math.random() * 10);
      while (victim.calls() < enough) {
        const moved = Promise.race([victim.nextCall(), next.nextCall()]);
        await addChanges(connections, 1);
        await moved;
      }
      await victim.kill();
      victim = next;
    }
    await everythingDispatched();
    const effects = await readEffects();
    const changes = await bench.feed.changesAfter(0, 100_000);
    expect(changes.length).toBeGreaterThan(connections.length);
    expect(new Set(effects.map(({ key }) => key))).toEqual(
      new Set(changes.map(({ seq }) => `f00dfeedf00d-${seq}`)),
    );
    for (const connectionId of connections) {
      const had = effects.filter((effect) => effect.connection_id === connectionId).map(({ seq }) => seq);
      expect(had).toEqual(had.toSorted((a, b) => a - b));
    }
  });

  it('lose changes that a handler acknowledges before it has processed them', async () => {
    const worker = loadWorker({ careless: true });
    await worker.go();
    await addChanges([newId(), newId()], 15);
    await everythingDispatched();
    await worker.kill();
    // The control of the test above: no change is repeated, and what was only in memory is lost.
    expect(await readEffects()).toHaveLength(20);
  });
});

describe('a worker whose handler blocks its process for longer than the heartbeat allows', () => {
  it('is considered dead, does not interfere with other workers, and resumes work afterwards', async () => {
    const [connectionId, later] = [newId(), newId()];
    const [computing, other] = [loadWorker({ computesMs: 9_000 }), loadWorker()] as const;
    await computing.go();
    await addChanges([connectionId], 10);
    while (computing.calls() === 0) await computing.nextCall();
    await other.go();
    await everythingDispatched();
    expect(computing.calls()).toBe(1);
    expect(other.calls()).toBe(10);

    // Its handler returns, and it takes work again.
    await other.kill();
    await addChanges([later], 5);
    await everythingDispatched();
    // It has repeated nothing of what it had in memory.
    expect(computing.calls()).toBe(6);
    const changes = await bench.feed.changesAfter(0, 100_000);
    const effects = await readEffects();
    expect(effects.map(({ seq }) => seq)).toEqual(changes.map(({ seq }) => seq));
    expect(await bench.database.query('select from connector.dead_letters')).toEqual([]);
  });
});
