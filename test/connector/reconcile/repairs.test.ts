import { beforeEach, describe, expect, it } from 'vitest';
import { FIRST_SUBSCRIPTION_ID } from '../../../src/connector/accounts/subscription-secrets.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { delivery, received, status } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';
import type { ServiceMessage } from '../support/scripted-service.ts';

const bench = pollBenchOfTest();
let registered: number;

beforeEach(async () => {
  registered = bench.clock.now();
  await bench.database.query('update connector.subscriptions set registered_at = $1', [registered]);
  bench.service.addConnection('c1');
  await bench.poll();
  await bench.clock.advance(60_000);
});

/** What a webhook does when it brings this message, or its present status. */
async function bring(message: ServiceMessage): Promise<void> {
  const { connectionId, id, createdAt } = message;
  const incoming = message.direction === 'incoming';
  const told = { accountId: ACCOUNT, createdAt, peer: null, text: null };
  const facts = incoming
    ? received(connectionId, id, told)
    : status(connectionId, id, message.status as 'sent', createdAt, told);
  const now = bench.clock.now();
  const event = incoming ? 'message.received' : 'message.status';
  const whole = delivery(
    { message: facts },
    { subscriptionId: FIRST_SUBSCRIPTION_ID, receivedAt: now, signedAt: now, event },
  );
  await commitBatch(bench.database, { now, deliveries: [whole] });
}

async function pollAfter(ms: number): Promise<void> {
  await bench.clock.advance(ms);
  await bench.poll();
}

async function totals() {
  const [row] = await bench.database.query<{ messages: number; statuses: number }>(
    'select messages, statuses from connector.repair_totals',
  );
  return row ?? { messages: 0, statuses: 0 };
}

async function pending(): Promise<number> {
  const [row] = await bench.database.query<{ count: number }>(
    'select count(*) as count from connector.repairs',
  );
  return row?.count ?? 0;
}

describe('what a poll has found', () => {
  it('counts as repaired if no webhook has delivered it 40 s later', async () => {
    bench.service.addMessage('c1', bench.clock.now());
    bench.service.addSent('c1', bench.clock.now());
    await bench.poll();
    await pollAfter(39_999);
    expect(await totals()).toEqual({ messages: 0, statuses: 0 });
    await pollAfter(1);
    expect(await totals()).toEqual({ messages: 1, statuses: 1 });
    expect(await pending()).toBe(0);
    const { text } = await bench.metrics.render();
    expect(text).toContain('connector_poll_repaired_total{what="message"} 1');
    expect(text).toContain('connector_poll_repaired_total{what="status"} 1');
  });

  it('does not count as repaired if the webhook was only late', async () => {
    const received = bench.service.addMessage('c1', bench.clock.now());
    const sent = bench.service.addSent('c1', bench.clock.now());
    await bench.poll();
    await bring(received);
    await bring(sent);
    await pollAfter(45_000);
    expect(await totals()).toEqual({ messages: 0, statuses: 0 });
    expect(await pending()).toBe(0);
  });

  it('does not count as repaired if a webhook has reported a higher status in the meantime', async () => {
    const message = bench.service.addSent('c1', bench.clock.now(), 'delivered');
    await bench.poll();
    message.status = 'read';
    await bring(message);
    await pollAfter(45_000);
    expect(await totals()).toEqual({ messages: 0, statuses: 0 });
  });

  it('counts once for each lost status of a message', async () => {
    const message = bench.service.addSent('c1', bench.clock.now());
    await bring(message);
    message.status = 'delivered';
    await pollAfter(45_000);
    message.status = 'read';
    await pollAfter(45_000);
    await pollAfter(45_000);
    expect(await totals()).toEqual({ messages: 0, statuses: 2 });
  });

  it('does not count if a webhook had delivered it before', async () => {
    const message = bench.service.addMessage('c1', bench.clock.now());
    await bring(message);
    await bench.poll();
    expect(await pending()).toBe(0);
  });

  it('does not count for a cloud_api connection, which emits no events', async () => {
    bench.service.addConnection('c2', { provider: 'cloud_api' });
    bench.service.addMessage('c2', bench.clock.now());
    await bench.poll();
    expect(await pending()).toBe(0);
  });

  it('does not count if it is from before the registration', async () => {
    bench.service.addMessage('c1', registered - 1);
    bench.service.addMessage('c1', registered);
    await bench.poll();
    expect(await pending()).toBe(1);
  });

  it('does not count if the webhook was never registered', async () => {
    await bench.database.query('update connector.subscriptions set registered_at = null');
    bench.service.addMessage('c1', bench.clock.now());
    await bench.poll();
    expect(await pending()).toBe(0);
  });
});
