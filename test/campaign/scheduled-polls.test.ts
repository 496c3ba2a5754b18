import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACCOUNT, openPollBench, type PollBench } from '../connector/support/poll-bench.ts';

const script = new URL('../connector/support/run-and-close.ts', import.meta.url).pathname;
let bench: PollBench;
let children: ChildProcess[];

beforeEach(async () => {
  bench = await openPollBench();
  bench.service.addConnection('c1');
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await bench.close();
});

async function startProcess(): Promise<ChildProcess> {
  const argument = JSON.stringify({
    databaseUrl: bench.databaseUrl,
    sealingKey: bench.sealingKey,
    baseUrl: bench.service.baseUrl,
  });
  const child = spawn(process.execPath, [script, argument], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

/** Resolves when the service was asked for messages this many times more. */
function polled(times: number): Promise<void> {
  const enough = Promise.withResolvers<void>();
  let seen = 0;
  bench.service.onRequest = ({ path }) => {
    if (path === '/messages' && ++seen === times) enough.resolve();
  };
  return enough.promise;
}

describe('connector processes with real queues', () => {
  it('poll by schedule, one at a time, register once, and shut down', async () => {
    let open = 0;
    let most = 0;
    const enough = polled(4);
    const counted = bench.service.onRequest;
    bench.service.onRequest = async (request) => {
      await counted(request);
      if (!request.path.startsWith('/messages') && request.path !== '/connections') return;
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
    };
    const processes = await Promise.all([startProcess(), startProcess()]);
    const message = bench.service.addMessage('c1', Date.UTC(2026, 0, 15));
    await enough;
    const ended = processes.map((child) => once(child, 'exit'));
    for (const child of processes) child.kill('SIGTERM');
    expect(await Promise.all(ended)).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(most).toBe(1);
    expect(await bench.storedIds()).toEqual([message.id]);
    expect(bench.service.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
    const leases = await bench.database.query('select name from connector.leases');
    expect(leases).toEqual([]);
  });

  it('continue to poll after one of them was killed', async () => {
    const first = await startProcess();
    await polled(2);
    first.kill('SIGKILL');
    const second = await startProcess();
    await polled(2);
    const ended = once(second, 'exit');
    second.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const [state] = await bench.database.query(
      'select failures from connector.poll_states where account_id = $1',
      [ACCOUNT],
    );
    expect(state).toEqual({ failures: 0 });
  });
});
