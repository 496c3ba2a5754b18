import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readProgress } from '../../src/connector/reconcile/progress.ts';
import { ACCOUNT, openPollBench, type PollBench } from '../connector/support/poll-bench.ts';

const MINUTE = 60_000;
const script = new URL('../connector/support/poll-in-child.ts', import.meta.url).pathname;
let bench: PollBench;

beforeEach(async () => {
  bench = await openPollBench();
  bench.service.addConnection('c1');
  const hidden = bench.service.addConnection('c2');
  for (let index = 0; index < 150; index += 1) {
    bench.service.addMessage('c1', bench.clock.now() - index * MINUTE, {
      direction: 'outgoing',
      status: 'sent',
    });
    bench.service.addMessage('c2', bench.clock.now() - index * MINUTE);
  }
  await bench.poll();
  // Gives each step of a poll something to do: a gap, a connection that came back, statuses on old pages.
  hidden.licenseValid = false;
  await bench.poll();
  for (let index = 0; index < 250; index += 1) {
    bench.service.addMessage('c1', bench.clock.now() + 10 * MINUTE + index, {
      direction: 'outgoing',
      status: 'sent',
    });
    bench.service.addMessage('c2', bench.clock.now() + 10 * MINUTE + index);
  }
  for (const message of bench.service.messages) if (message.direction === 'outgoing') message.status = 'read';
  hidden.licenseValid = true;
  await bench.database.query('update connector.poll_states set needs_full_sweep = true');
});
afterEach(() => bench.close());

function startChild() {
  const argument = JSON.stringify({
    databaseUrl: bench.databaseUrl,
    sealingKey: bench.sealingKey,
    accountId: ACCOUNT,
  });
  return spawn(process.execPath, [script, argument], { stdio: ['ignore', 'pipe', 'inherit'] });
}

describe('a poller that is killed', () => {
  it('completes its poll if it is not killed', async () => {
    const child = startChild();
    const [line] = await once(child.stdout, 'data');
    expect(String(line)).toBe('done\n');
    expect(bench.service.countRequests('/messages')).toBeGreaterThan(8);
  });

  it.each([1, 2, 3, 5, 8, 11])('at request %i loses and duplicates nothing', async (at) => {
    bench.service.requests = [];
    const child = startChild();
    const dead = once(child, 'exit');
    bench.service.onRequest = async () => {
      if (bench.service.requests.length !== at) return;
      child.kill('SIGKILL');
      await dead;
    };
    const [, signal] = await dead;
    expect(signal).toBe('SIGKILL');
    bench.service.onRequest = () => undefined;
    // The process is considered dead.
    await bench.database.query('delete from connector.processes');
    await bench.poller.presence.beat();
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    const progress = await readProgress(bench.database, ACCOUNT);
    expect(progress).toMatchObject({ coverage: { gaps: [] }, visibility: [], sweeps: [] });
    expect(await bench.storedIds()).toEqual(bench.service.messages.map((message) => message.id).sort());
    const [row] = await bench.database.query(
      `select (select count(*) from connector.messages where direction = 'outgoing' and status <> 'read') as open,
              (select count(*) from connector.changes where type = 'message.created') as created,
              (select count(*) from connector.changes where type = 'message.status') as statuses`,
    );
    expect(row).toEqual({ open: 0, created: 800, statuses: 150 });
  });
});
