import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { openPool } from '../../support/database.ts';
import { type FaultProxy, startFaultProxyFor } from '../../support/fault-proxy.ts';
import { newId, openConnectorDatabase, readMessages, T0 } from '../support/event-fixtures.ts';
import { deliver, type ReceiverFixture, startReceiver } from '../support/receiver-fixture.ts';

let direct: Database;
let closeDatabase: () => Promise<void>;
let proxy: FaultProxy;
let routed: Database;
let fixture: ReceiverFixture;

beforeEach(async () => {
  const opened = await openConnectorDatabase();
  ({ database: direct, close: closeDatabase } = opened);
  proxy = await startFaultProxyFor(opened.url, 5432);
  routed = openPool(proxy.route(opened.url), { name: 'receiver', poolSize: 3 });
  fixture = await startReceiver(routed, { limits: { answerMs: 1_000 } });
});
afterEach(async () => {
  await fixture.close();
  await routed.close();
  await proxy.close();
  await closeDatabase();
});

function event(connectionId: string, messageId: string): string {
  const message = { id: messageId, wa_id: null, status: 'delivered', timestamp: T0 };
  return JSON.stringify({ event: 'message.status', connection_id: connectionId, message });
}

/** Delivers as the service does: up to three attempts, identical bytes. */
async function deliverPatiently(body: string): Promise<boolean> {
  const timestamp = systemClock.now();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const answer = await deliver(fixture.server, body, { timestamp });
    if (answer.status === 200) return true;
    expect(answer.status).toBe(503);
  }
  return false;
}

describe('a receiver whose database fails', () => {
  it('answers 503 with Retry-After while the database refuses connections, and 200 again afterwards', async () => {
    await proxy.refuse();
    proxy.cut();
    const refused = await deliver(fixture.server, event(newId(), newId()));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await fixture.metrics.render()).text).toContain(
      'connector_webhook_commit_failures_total{kind="given_up"} 1',
    );
    await proxy.accept();
    expect((await deliver(fixture.server, event(newId(), newId()))).status).toBe(200);
    expect(await readMessages(direct)).toHaveLength(1);
  });

  it('answers 503 by its deadline if the database is frozen, and continues when it responds again', async () => {
    expect((await deliver(fixture.server, event(newId(), newId()))).status).toBe(200);
    proxy.freeze();
    const frozen = await Promise.all(
      Array.from({ length: 30 }, () => deliver(fixture.server, event(newId(), newId()))),
    );
    const told = frozen.map(({ status, body }) => `${status}: ${body.message}`);
    expect([...new Set(told)]).toEqual(['503: The delivery could not be stored; send it again.']);
    proxy.thaw();
    const body = event(newId(), newId());
    expect(await deliverPatiently(body)).toBe(true);
  });
});
