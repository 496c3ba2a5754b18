import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginDispatch } from '../../src/connector/dispatch/distribute.ts';
import { readDispatch } from '../../src/connector/state/figures.ts';
import { DispatchBench } from '../connector/dispatch/dispatch-bench.ts';
import { newId } from '../connector/support/event-fixtures.ts';

const SCRIPT = new URL('../connector/support/dispatch-in-child.ts', import.meta.url).pathname;

let bench: DispatchBench;
let children: ChildProcess[];

beforeEach(async () => {
  bench = await DispatchBench.open();
  children = [];
  await bench.database.query("update connector.feed set id = 'f00dfeedf00d'");
  await beginDispatch(bench.database);
  await bench.database.query(
    `create table public.effects (id bigint generated always as identity, key text primary key,
                                  connection_id text not null, seq bigint not null)`,
  );
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await bench.close();
});

/** A worker process, loaded and waiting. */
interface Worker {
  /** Lets it begin. */
  go(): Promise<void>;
  /** Calls that it has begun. */
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

/** Changes of several connections, told in turn. */
async function tellAll(connections: readonly string[], each: number): Promise<void> {
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

async function everythingHandedOver(): Promise<void> {
  await expect.poll(async () => (await readDispatch(bench.database))?.waiting, { timeout: 50_000 }).toBe(0);
}

describe('workers that are killed during dispatch', () => {
  it('lose nothing, keep the order of each connection, and cause each effect once', async () => {
    const connections = Array.from({ length: 8 }, newId);
    // Loading takes longest of all, so the later ones load while the earlier ones work.
    const [first, ...others] = Array.from({ length: 4 }, () => loadWorker()) as [Worker, ...Worker[]];
    let victim = first;
    await victim.go();
    for (const next of others) {
      await next.go();
      const enough = victim.calls() + Math.ceil(Math.random() * 10);
      while (victim.calls() < enough) {
        const moved = Promise.race([victim.nextCall(), next.nextCall()]);
        await tellAll(connections, 1);
        await moved;
      }
      await victim.kill();
      victim = next;
    }
    await everythingHandedOver();
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

  it('lose what a handler acknowledges before it does its work', async () => {
    const worker = loadWorker({ careless: true });
    await worker.go();
    await tellAll([newId(), newId()], 15);
    await everythingHandedOver();
    await worker.kill();
    // The control of the test above: nothing comes again, and what was only in memory is gone.
    expect(await readEffects()).toHaveLength(20);
  });
});

describe('a worker whose handler blocks its process for longer than the heartbeat allows', () => {
  it('is taken for dead, does not interfere with the other workers, and works again afterwards', async () => {
    const [connectionId, later] = [newId(), newId()];
    const [computing, other] = [loadWorker({ computesMs: 9_000 }), loadWorker()] as const;
    await computing.go();
    await tellAll([connectionId], 10);
    while (computing.calls() === 0) await computing.nextCall();
    await other.go();
    await everythingHandedOver();
    expect(computing.calls()).toBe(1);
    expect(other.calls()).toBe(10);

    // It comes back from its handler, and takes part again.
    await other.kill();
    await tellAll([later], 5);
    await everythingHandedOver();
    expect(computing.calls()).toBe(6);
    const changes = await bench.feed.changesAfter(0, 100_000);
    const effects = await readEffects();
    expect(effects.map(({ seq }) => seq)).toEqual(changes.map(({ seq }) => seq));
    expect(await bench.database.query('select from connector.dead_letters')).toEqual([]);
  });
});
