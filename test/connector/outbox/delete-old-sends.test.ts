import { expect, it } from 'vitest';
import { deleteOldSends } from '../../../src/connector/outbox/delete-old-sends.ts';
import { ofFile } from '../../support/of-file.ts';
import { OutboxBench, refuse } from './outbox-bench.ts';

const DAY = 24 * 3_600_000;
const bench = ofFile(() => OutboxBench.open());

async function idsOf(connectionId: string): Promise<string[]> {
  const rows = await bench.database.query<{ id: string }>(
    'select id from connector.outbound where connection_id = $1 order by position',
    [connectionId],
  );
  return rows.map(({ id }) => id);
}

it('sends are kept for 90 days after their end, with their reference', async () => {
  bench.forget();
  const connectionId = await bench.addConnection();
  const sent = await bench.queueText(connectionId, 'one', 'order-1');
  const outbox = await bench.running();
  await outbox.settle();
  bench.answer = () => refuse('license_inactive', 402);
  const rejected = await bench.queueText(connectionId, 'two', 'order-2');
  await outbox.settle();
  await outbox.close();
  const open = await bench.queueText(connectionId, 'three', 'order-3');
  const start = bench.clock.now();

  await deleteOldSends(bench.database, start + 89 * DAY);
  expect(await idsOf(connectionId)).toEqual([sent, rejected, open]);
  expect(await bench.queueText(connectionId, 'one', 'order-1')).toBe(sent);

  await deleteOldSends(bench.database, start + 91 * DAY);
  expect(await idsOf(connectionId)).toEqual([open]);
  expect(await bench.queueText(connectionId, 'one', 'order-1')).not.toBe(sent);
});

it('all old sends are deleted, however many there are', async () => {
  const connectionId = await bench.addConnection();
  await bench.database.query(
    `insert into connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key,
                                     state, created_at, updated_at)
     select 'old-' || n, 'a', $1, 'old-' || n, '', '447700900201', 'key', 'sent', n, n from generate_series(1, 2100) n`,
    [connectionId],
  );
  await deleteOldSends(bench.database, 91 * DAY);
  expect(await idsOf(connectionId)).toEqual([]);
});
