import { beforeEach, describe, expect, it } from 'vitest';
import { askForPoll } from '../../../src/connector/accounts/poll-state.ts';
import type { ApiParts } from '../../../src/connector/api/operations.ts';
import { operateSync } from '../../../src/connector/api/sync.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { ConnectionStateFacts, MessageFacts } from '../../../src/connector/db/facts.ts';
import type { Feed } from '../../../src/connector/feed/feed.ts';
import type { Reconciler } from '../../../src/connector/reconcile/reconciler.ts';
import { createFacts } from '../../../src/connector/state/facts.ts';
import { oldestWaitMs, readDuePolls } from '../../../src/connector/state/figures.ts';
import { reportSync } from '../../../src/connector/state/sync-report.ts';
import { delivery, outage, received, status } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const bench = pollBenchOfTest();

beforeEach(async () => {
  await bench.database.query('update connector.subscriptions set registered_at = 0');
  bench.service.addConnection('c1');
});

async function report() {
  const accounts = await reportSync({ database: bench.database, clock: bench.clock }, undefined);
  return accounts?.[0] ?? expect.fail('no account');
}

/** What the first connection's webhook health is. */
async function health(): Promise<string | undefined> {
  return (await report()).connections[0]?.webhookHealth;
}

/** Commits what a webhook tells. */
async function bring(facts: MessageFacts | ConnectionStateFacts): Promise<void> {
  const told = { ...facts, accountId: ACCOUNT };
  const receivedAt = bench.clock.now();
  const content = 'event' in told ? { connection: told } : { message: told };
  await commitBatch(bench.database, { now: receivedAt, deliveries: [delivery(content, { receivedAt })] });
}

async function pollLater(ms = MINUTE): Promise<void> {
  await bench.clock.advance(ms);
  await bench.poll();
}

describe('the state of an account', () => {
  it('is empty before the first poll', async () => {
    expect(await report()).toMatchObject({
      accountId: ACCOUNT,
      coveredUntil: null,
      lastPoll: null,
      lastGoodPollAt: null,
      oldestOpenStatus: null,
      webhookHealth: 'unknown',
      connections: [],
    });
  });

  it('looks for the oldest open status among the newest 1,000 sent messages of a connection', async () => {
    const { id } = bench.service.addSent('c1', bench.clock.now());
    await bench.poll();
    const resolve = (count: number): Promise<unknown> =>
      bench.database.query(
        `insert into connector.messages (connection_id, id, account_id, direction, status, created_at, first_seen_by,
           first_seen_at, polled, change_mask, webhook_seen, status_conflict)
         select 'c1', 'later-' || n || '-' || $1::bigint, account_id, 'outgoing', 'read', created_at + n, 'poll',
           created_at, true, 0, 0, false
           from connector.messages, generate_series(1, $1::bigint) n where id = $2`,
        [count, id],
      );
    await resolve(999);
    expect((await report()).oldestOpenStatus).toMatchObject({ messageId: id });
    await resolve(1);
    expect((await report()).oldestOpenStatus).toBeNull();
  });

  it('shows gaps, coverage and the oldest open status of each connection', async () => {
    const hidden = bench.service.addConnection('c2');
    const now = bench.clock.now();
    bench.service.addSent('c1', now - 3 * MINUTE, 'read');
    const oldest = bench.service.addSent('c1', now - 2 * MINUTE, 'delivered');
    bench.service.addSent('c2', now - MINUTE);
    await bench.poll();
    await pollLater();
    hidden.licenseValid = false;
    await pollLater();
    expect(await report()).toMatchObject({
      coveredUntil: new Date(now - MINUTE).toISOString(),
      openGaps: 0,
      oldestOpenStatus: {
        messageId: oldest.id,
        connectionId: 'c1',
        createdAt: new Date(now - 2 * MINUTE).toISOString(),
      },
      connections: [
        { connectionId: 'c1', coveredUntil: new Date(now - MINUTE).toISOString() },
        { connectionId: 'c2', coveredUntil: new Date(now - 6 * MINUTE).toISOString() },
      ],
    });
    hidden.licenseValid = true;
    await bench.clock.advance(MINUTE);
    bench.service.fault = ({ path }) => (path === '/messages' ? 'reset' : undefined);
    await bench.poll();
    expect(await report()).toMatchObject({ openGaps: 1 });
  });

  it('shows the last failure and when polling continues', async () => {
    await bench.poll();
    const good = bench.clock.now();
    await bench.clock.advance(MINUTE);
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await bench.poll();
    expect(await report()).toMatchObject({
      lastPoll: {
        startedAt: new Date(good + MINUTE).toISOString(),
        ok: false,
        error: 'internal_error',
        notBefore: new Date(good + MINUTE + 2_000).toISOString(),
      },
      lastGoodPollAt: new Date(good).toISOString(),
    });
  });

  it('says that the next poll is overdue once it is late by more than the time between polls', async () => {
    await bench.poll();
    const now = bench.clock.now();
    await askForPoll(bench.database, ACCOUNT, { at: now + 40_000, now, fullSweep: false });
    await bench.clock.advance(80_000);
    expect(await report()).toMatchObject({ pollOverdue: false });
    await bench.clock.advance(1);
    expect(await report()).toMatchObject({ pollOverdue: true });
    // A grant that has ended is not polled, so nothing is overdue.
    const become = (kind: string) => bench.database.query('update connector.accounts set kind = $1', [kind]);
    await become('oauth');
    expect(await report()).toMatchObject({ pollOverdue: false, reauthRequired: true });
    await become('api_key');
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await bench.poll();
    await bench.clock.advance(DAY);
    expect(await report()).toMatchObject({ pollOverdue: false, lastPoll: { ok: false } });
  });

  it('measures how late the latest poll is that no failure delays', async () => {
    const late = async (app?: string) =>
      oldestWaitMs(await readDuePolls(bench.database, bench.clock.now(), app), bench.clock.now());
    expect(await late()).toBe(0);
    await bench.poll();
    const now = bench.clock.now();
    await askForPoll(bench.database, ACCOUNT, { at: now + 40_000, now, fullSweep: false });
    await bench.clock.advance(40_000);
    expect(await late()).toBe(0);
    await bench.clock.advance(90_000);
    expect(await late()).toBe(90_000);
    await bench.database.query(`update connector.accounts set kind = 'oauth', subscription_id = 'app'`);
    expect([await late('app'), await late('another'), await late()]).toEqual([90_000, 0, 0]);
    await bench.database.query(`update connector.accounts set kind = 'api_key', subscription_id = 'default'`);
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await bench.poll();
    await bench.clock.advance(MINUTE);
    expect(await late()).toBe(0);
  });

  it('counts a repair as undecided until its webhook arrives, or can no longer arrive', async () => {
    await bench.poll();
    const late = bench.service.addMessage('c1', bench.clock.now());
    bench.service.addMessage('c1', bench.clock.now());
    await bench.poll();
    expect(await report()).toMatchObject({ undecidedRepairs: 2, repaired: { messages: 0, statuses: 0 } });
    await bring(received('c1', late.id, { createdAt: late.createdAt }));
    expect(await report()).toMatchObject({ undecidedRepairs: 1, repaired: { messages: 0, statuses: 0 } });
    await pollLater();
    expect(await report()).toMatchObject({ undecidedRepairs: 0, repaired: { messages: 1, statuses: 0 } });
  });

  it('counts messages that were reported both as read and as failed', async () => {
    await bench.poll();
    await bring(status('c1', 'm1', 'read', bench.clock.now()));
    await bring(status('c1', 'm1', 'failed', bench.clock.now()));
    expect(await report()).toMatchObject({ statusConflicts: 1 });
  });

  it('exists for each account and for no other id', async () => {
    expect(await reportSync({ database: bench.database, clock: bench.clock }, 'other')).toBeUndefined();
    expect(await reportSync({ database: bench.database, clock: bench.clock }, ACCOUNT)).toHaveLength(1);
  });
});

describe('the health of the webhook queue', () => {
  it('is unknown, healthy, then lossy, and healthy again a day later', async () => {
    await bench.poll();
    expect(await health()).toBe('unknown');
    const brought = bench.service.addMessage('c1', bench.clock.now());
    await bring(received('c1', brought.id, { createdAt: brought.createdAt }));
    await pollLater();
    expect(await health()).toBe('healthy');
    bench.service.addMessage('c1', bench.clock.now());
    await pollLater();
    await pollLater();
    expect(await report()).toMatchObject({
      webhookHealth: 'lossy',
      repaired: { messages: 1, statuses: 0 },
      connections: [{ webhookHealth: 'lossy', repaired: { messages: 1, statuses: 0 } }],
    });
    await bench.clock.advance(DAY);
    expect(await health()).toBe('healthy');
  });

  it('is silent if nothing arrived although there are messages', async () => {
    await bench.poll();
    bench.service.addMessage('c1', bench.clock.now());
    await pollLater();
    await pollLater();
    expect(await health()).toBe('silent');
    expect(await report()).toMatchObject({ webhookHealth: 'silent', lastWebhookAt: null });
  });

  it('contains the time of the last webhook: polls and sends do not change it, a later event does', async () => {
    const message = bench.service.addSent('c1', bench.clock.now());
    await bench.poll();
    expect((await report()).lastWebhookAt).toBeNull();
    await bench.clock.advance(MINUTE);
    const told = new Date(bench.clock.now()).toISOString();
    await bring(status('c1', message.id, 'sent', bench.clock.now()));
    expect((await report()).lastWebhookAt).toBe(told);
    message.status = 'delivered';
    await pollLater();
    expect(await report()).toMatchObject({ lastWebhookAt: told, connections: [{ lastWebhookAt: told }] });
    const incoming = bench.service.addMessage('c1', bench.clock.now());
    await bring(received('c1', incoming.id, { createdAt: incoming.createdAt }));
    const came = new Date(bench.clock.now()).toISOString();
    await pollLater();
    expect((await report()).lastWebhookAt).toBe(came);
    await bring(status('c1', message.id, 'read', bench.clock.now()));
    expect((await report()).lastWebhookAt).toBe(new Date(bench.clock.now()).toISOString());
  });

  it('contains the time of the last webhook of a connection, by our clock', async () => {
    await bench.poll();
    await bench.clock.advance(MINUTE);
    await bring(outage('c1', bench.clock.now() + 7 * DAY));
    expect((await report()).lastWebhookAt).toBe(new Date(bench.clock.now()).toISOString());
  });

  it('is unknown for a cloud_api connection, which emits no events', async () => {
    bench.service.addConnection('c0', { provider: 'cloud_api' });
    bench.service.addMessage('c0', bench.clock.now());
    await bench.poll();
    await pollLater();
    expect(await health()).toBe('unknown');
  });
});

it('a sync answers once its changes are in the feed, and names the accounts that failed among others', async () => {
  const { database, clock } = bench;
  await database.query(`insert into connector.accounts (id, kind, subscription_id, created_at)
                        values ('second', 'api_key', 's2', 1)`);
  const failing = new Set(['second']);
  const reconciler = {
    syncNow: async (id: string) =>
      failing.has(id) ? { kind: 'unreachable', code: 'network' } : { kind: 'closed' },
  } as unknown as Reconciler;
  const parts = { database, clock, reconciler, facts: createFacts({ database, clock }) };
  const sync = (settle: () => Promise<void>) =>
    operateSync({ ...parts, feed: { settle } as Feed } as unknown as ApiParts).syncNow({
      ...{ id: '', query: undefined, body: undefined },
    });
  const settled = () => Promise.resolve();
  expect((await sync(settled)).failed).toMatchObject([{ accountId: 'second', error: 'service_unreachable' }]);
  await expect(sync(() => Promise.reject(new Error('not numbered')))).rejects.toThrow('not numbered');
  failing.add(ACCOUNT);
  await expect(sync(settled)).rejects.toMatchObject({ code: 'service_unreachable' });
});
