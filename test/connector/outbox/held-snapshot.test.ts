import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { queueSend } from '../../../src/connector/outbox/queue-send.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { replaceCalls } from '../../support/replace-calls.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { newId } from '../support/event-fixtures.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';
import { OutboxBench, SOMEBODY } from './outbox-bench.ts';

const FINISHED = 3_000;
/** Longer than the time in which sends that were stored at once are committed. */
const LATER_MS = 31_000;

let bench: OutboxBench;
let release: () => Promise<void>;

beforeAll(async () => {
  bench = await OutboxBench.open();
  release = await holdSnapshot(bench.databaseUrl);
});
afterEach(() => bench.stopAll());
afterAll(async () => {
  await release();
  await bench.close();
});

it('while another session holds a snapshot, the next send is found without reading those that finished', async () => {
  const counting = countBuffers(bench.database);
  const query: Database['query'] = (text, ...rest) =>
    text.startsWith('SELECT o.id') ? counting.query(text, ...rest) : bench.database.query(text, ...rest);
  const sender = bench.process({ database: replaceCalls(bench.database, { query }) });
  await sender.start();
  const connectionId = await bench.addConnection();
  const send = async (): Promise<number> => {
    const id = await bench.queueText(connectionId, 'hello', newId());
    counting.takeCount();
    await sender.runNow(connectionId);
    expect(await bench.stateOf(id)).toBe('sent');
    return counting.takeCount();
  };
  const first = await send();
  await bench.database.query(
    `INSERT INTO connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key,
       state, created_at, updated_at)
     SELECT 'many' || n, 'account-1', $1, 'many' || n, '', '1', 'k', 'queued', 0, 0 FROM generate_series(1, ${FINISHED}) n`,
    [connectionId],
  );
  for (const state of ['sending', 'sent'])
    await bench.database.query(`UPDATE connector.outbound SET state = $1 WHERE id LIKE 'many%'`, [state]);
  expect(await send()).toBeGreaterThan(first + 100);
  for (let checks = 0; checks < 2; checks += 1) {
    await bench.clock.skip(LATER_MS);
    await sender.settle();
  }
  // The lease was released meanwhile, which looks at the queue once more.
  await send();
  expect(await send()).toBeLessThan(first + 60);
});

it('a send that is stored long after the sends behind it goes out within a minute', async () => {
  const sender = await bench.running();
  const connectionId = await bench.addConnection();
  const request = { connectionId, to: SOMEBODY, text: 'late', reference: newId() };
  const late = await bench.database.transaction(
    async (tx) => {
      const within = Object.assign(Object.create(bench.database), { query: tx.query.bind(tx) });
      const queued = await queueSend(within, request, bench.clock.now());
      for (let sends = 0; sends < 3; sends += 1) {
        await bench.queueText(connectionId, 'early', newId());
        await bench.clock.skip(LATER_MS);
        await sender.settle();
      }
      return queued.kind === 'queued' ? queued.outboundId : '';
    },
    { deadlineMs: 60_000 },
  );
  await sender.runNow(connectionId);
  await sender.settle();
  expect(await bench.stateOf(late)).toBe('queued');
  await bench.clock.skip(60_000);
  await sender.settle();
  expect(await bench.stateOf(late)).toBe('sent');
});
