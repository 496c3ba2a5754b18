import { expect, it, onTestFinished } from 'vitest';
import { createFacts } from '../../../src/connector/state/facts.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';

const NOW = Date.UTC(2026, 0, 15, 12);
const DAY = 24 * 3_600_000;
const database = databaseOfFile();

function factsAt(now = NOW) {
  const account = { id: 'a1', subscriptionId: 's1' };
  return createFacts({ database, clock: { now: () => now }, account });
}

/** Stores rows, each with these columns where it has no others. */
async function store(table: string, common: object, rows: readonly object[]): Promise<void> {
  for (const [index, row] of rows.entries()) {
    const full = { ...common, ...row };
    const values = Object.values(full).map((value) => (value === '#' ? `${table}-${index}` : value));
    const [names, places] = [Object.keys(full), values.map((_, place) => `$${place + 1}`)];
    await database.query(
      `insert into connector.${table} (${names.join()}) values (${places.join()})`,
      values,
    );
  }
}

it('counts the sends of a day that failed, with the most frequent reason of those that were rejected', async () => {
  const send = {
    id: '#',
    account_id: 'a1',
    connection_id: 'c1',
    reference: '#',
    fingerprint: 'f',
    recipient: '1',
  };
  const rejected = { state: 'rejected', last_error: 'recipient_not_on_whatsapp', created_at: NOW - DAY };
  await store('outbound', { ...send, idempotency_key: 'k', updated_at: NOW }, [
    rejected,
    rejected,
    { ...rejected, last_error: 'invalid_request' },
    { ...rejected, created_at: NOW - DAY - 1 },
    ...Array(4).fill({ ...rejected, state: 'unknown', last_error: 'send_failed' }),
    { ...rejected, state: 'sent', last_error: null },
  ]);
  expect(await factsAt().failedSends()).toEqual({
    unknown: 4,
    rejected: 3,
    code: 'recipient_not_on_whatsapp',
  });
});

it('lists the creations of an account that remain in doubt, for 30 days', async () => {
  const doubt = { unsettled: 1, next_attempt_at: null, connection_id: null, account_id: 'a1' };
  await store('creations', { ...doubt, id: '#', idempotency_key: 'k', created_at: NOW - 30 * DAY }, [
    { label: 'in doubt' },
    { label: 'too old', created_at: NOW - 30 * DAY - 1 },
    { label: 'of another account', account_id: 'a2' },
    { label: 'repeated', next_attempt_at: NOW },
    { label: 'created', connection_id: 'c1' },
    { label: 'refused', unsettled: 0 },
  ]);
  expect((await factsAt().abandoned()).map(({ label }) => label)).toEqual(['in doubt']);
});

it('says of a license that it ends within three days, or that its end has passed and nothing was listed since', async () => {
  const listed = { account_id: 'a1', listed_at: NOW, visible: true, license_valid: true, updated_at: NOW };
  await store('coverage', {}, [{ account_id: 'a1', listed_at: NOW - 10 }]);
  await store('connections', listed, [
    { connection_id: 'ends in more than 3 days', license_expires: NOW + 3 * DAY + 1 },
    { connection_id: 'ends in 3 days', license_expires: NOW + 3 * DAY },
    { connection_id: 'ended before the listing', license_expires: NOW - 10 },
    { connection_id: 'ended after the listing', license_expires: NOW - 9 },
    { connection_id: 'hidden', license_expires: NOW + 1, visible: false },
    { connection_id: 'invalid', license_expires: NOW + 1, license_valid: false },
  ]);
  const notices = (await factsAt().numbers()).map(({ connectionId, notice }) => [connectionId, notice]);
  expect(Object.fromEntries(notices)).toEqual({
    'ends in more than 3 days': null,
    'ends in 3 days': 'ends_soon',
    'ended before the listing': null,
    'ended after the listing': 'end_passed',
    hidden: null,
    invalid: null,
  });
});

it('counts transactions that have been idle for more than a minute', async () => {
  onTestFinished(await holdSnapshot(database.url));
  const idle = async (now: number) => (await factsAt(now).sessions()).idleInTransaction;
  expect([await idle(Date.now() + 30_000), await idle(Date.now() + 61_000)]).toEqual([0, 1]);
});

it('knows a late poll unless it runs or the last one failed, and the last heartbeat of a process that works', async () => {
  await store('accounts', { id: '#', kind: 'api_key', subscription_id: 's', created_at: 0 }, [{}, {}, {}]);
  await store('poll_states', { last_started_at: NOW - 90 }, [
    { account_id: 'accounts-0', due_at: NOW - 40 },
    { account_id: 'accounts-1', due_at: NOW - 91 },
    { account_id: 'accounts-2', due_at: NOW - 80, last_error_code: 'http_500' },
  ]);
  expect(await factsAt().polls()).toEqual({ waiting: 1, oldestAt: NOW - 40 });
  await store('processes', { id: '#', host: 'h', works: true, started_at: 0 }, [
    { beat_at: NOW - 2 },
    { beat_at: NOW - 1, works: false },
  ]);
  expect(await factsAt().workers()).toEqual({ last: NOW - 2 });
});
