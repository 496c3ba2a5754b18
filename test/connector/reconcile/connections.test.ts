import { beforeEach, describe, expect, it, vi } from 'vitest';
import { FIRST_SUBSCRIPTION_ID } from '../../../src/connector/accounts/subscription-secrets.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { markDeleted } from '../../../src/connector/db/connection-rows.ts';
import { readProgress } from '../../../src/connector/reconcile/progress.ts';
import { delivery, outage, recovery } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const MINUTE = 60_000;
const bench = pollBenchOfTest();
let start: number;

beforeEach(async () => {
  start = bench.clock.now() - 24 * 60 * MINUTE;
});

async function mirror(id = 'c1') {
  const [row] = await bench.database.query(
    `select account_id as account, status, needs_reconnect as needs, visible, reason, label,
            license_status as license, listed_at is not null as listed, deleted_at is not null as deleted
     from connector.connections where connection_id = $1`,
    [id],
  );
  return row;
}

async function changes(): Promise<unknown[]> {
  return await bench.database.query(
    `select connection_id as id, source, data->>'status' as status, (data->>'visible')::boolean as visible
     from connector.changes where type = 'connection.updated' order by batch, position`,
  );
}

/** What a webhook does when it brings a connection event. */
async function bringEvent(connectionId: string, at: number, needsReconnect: boolean, accountId = ACCOUNT) {
  const whole = needsReconnect ? outage(connectionId, at) : recovery(connectionId, at);
  const nothing = { phoneNumber: null, label: null, licenseStatus: null, licenseExpires: null };
  const now = bench.clock.now();
  const told = delivery(
    { connection: { ...whole, ...nothing, accountId } },
    { subscriptionId: FIRST_SUBSCRIPTION_ID, receivedAt: now, signedAt: at },
  );
  await commitBatch(bench.database, { now, deliveries: [told] });
}

describe('a listing', () => {
  it('stores connections and reports them once', async () => {
    bench.service.addConnection('c1');
    await bench.poll();
    await bench.poll();
    expect(await mirror()).toMatchObject({
      account: ACCOUNT,
      status: 'open',
      needs: false,
      visible: true,
      listed: true,
    });
    expect(await changes()).toEqual([{ id: 'c1', source: 'poll', status: 'open', visible: true }]);
  });

  it('corrects what a dropped event would have reported', async () => {
    const connection = bench.service.addConnection('c1');
    await bench.poll();
    connection.status = 'disconnected';
    await bench.poll();
    expect(await mirror()).toMatchObject({ status: 'disconnected', needs: true });
    connection.status = 'open';
    await bench.poll();
    expect(await mirror()).toMatchObject({ status: 'open', needs: false });
  });

  it('clears the reason of a disconnect once the connection is open again', async () => {
    bench.service.addConnection('c1');
    await bench.poll();
    await bringEvent('c1', start, true);
    expect(await mirror()).toMatchObject({ reason: 'AUTH_LOST', needs: true });
    await bench.poll();
    expect(await mirror()).toMatchObject({ reason: null, needs: false, status: 'open' });
  });

  it('does not overwrite an event that arrived during the request', async () => {
    bench.service.addConnection('c1');
    await bench.poll();
    let told = false;
    bench.service.onRequest = async ({ path }) => {
      if (path !== '/connections' || told) return;
      told = true;
      await bringEvent('c1', bench.clock.now(), true);
    };
    await bench.poll();
    expect(told).toBe(true);
    expect(await mirror()).toMatchObject({ status: 'disconnected', needs: true });
    await bench.poll();
    expect(await mirror()).toMatchObject({ status: 'open', needs: false });
  });

  it('does not bring back a connection that was deleted during the request', async () => {
    bench.service.addConnection('c1');
    await bench.poll();
    bench.service.onRequest = async ({ path }) => {
      if (path === '/connections') await markDeleted(bench.database, 'c1', ACCOUNT, bench.clock.now());
    };
    await bench.poll();
    expect(await mirror()).toMatchObject({ deleted: true });
  });

  it('keeps values that the service omits', async () => {
    const connection = bench.service.addConnection('c1', { label: 'Shop' });
    await bench.poll();
    Reflect.deleteProperty(connection, 'label');
    await bench.poll();
    expect(await mirror()).toMatchObject({ label: 'Shop' });
  });

  it('assigns a connection that is known only from an event to its account, and no other', async () => {
    await bringEvent('c1', start, true, 'someone');
    await bench.database.query(
      `insert into connector.connections (connection_id, account_id, listed_at, visible, version, updated_at)
       values ('c2', 'someone', 1, true, 1, 1)`,
    );
    bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    bench.service.addMessage('c2', start);
    await bench.poll();
    expect(await mirror('c1')).toMatchObject({ account: ACCOUNT, status: 'open' });
    expect(await mirror('c2')).toMatchObject({ account: 'someone', status: null });
    expect(await bench.storedIds()).toEqual([]);
  });

  it('takes a connection over that its account no longer lists, and reads all that was missed of it', async () => {
    bench.service.addConnection('c1');
    bench.service.addMessages('c1', 300, (index) => start + (1_000 + index) * MINUTE);
    await bench.poll();
    await bench.database.query(
      `insert into connector.connections (connection_id, account_id, listed_at, visible, version, updated_at)
       values ('c2', 'someone', 1, false, 7, 1), ('c3', 'someone', 1, false, 7, 1)`,
    );
    bench.service.addConnection('c2');
    bench.service.addConnection('c3');
    const missed = bench.service.addMessage('c2', start);
    bench.service.onRequest = async ({ path }) => {
      if (path !== '/connections') return;
      const visible = `update connector.connections set visible = true where connection_id = 'c3'`;
      await bench.database.query(visible);
    };
    await bench.poll();
    expect(await mirror('c2')).toMatchObject({ account: ACCOUNT, status: 'open', visible: true });
    expect(await mirror('c3')).toMatchObject({ account: 'someone', status: null });
    expect(await bench.storedIds()).toContain(missed.id);
    expect(await changes()).toMatchObject([{ id: 'c1' }, { id: 'c2', status: 'open', visible: true }]);
  });

  it('marks a connection that is no longer listed as invisible, once', async () => {
    const connection = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    await bench.poll();
    connection.licenseValid = false;
    await bench.poll();
    await bench.poll();
    expect(await mirror('c1')).toMatchObject({ visible: false });
    expect(await mirror('c2')).toMatchObject({ visible: true });
    expect(await changes()).toHaveLength(3);
  });

  it('locks connections in the order of their ids, hidden or listed', async () => {
    const hidden = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    await bench.poll();
    hidden.licenseValid = false;
    const polled = await bench.database.transaction(async (tx) => {
      await tx.query(`select from connector.connections where connection_id = 'c1' for update`);
      const polling = bench.poll();
      await vi.waitFor(async () => {
        const waiting = await bench.database.query('select from pg_locks where not granted');
        expect(waiting).not.toEqual([]);
      });
      await tx.query(`select from connector.connections where connection_id = 'c2' for update nowait`);
      return { polling };
    });
    await polled.polling;
    expect(await mirror('c1')).toMatchObject({ visible: false });
  });

  it('reports no license as valid while the connection is hidden', async () => {
    const licenses = () =>
      bench.database.query('SELECT license_valid AS valid FROM connector.connections ORDER BY connection_id');
    const connection = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    await bench.poll();
    connection.licenseValid = false;
    await bench.poll();
    expect(await licenses()).toEqual([{ valid: null }, { valid: true }]);
    connection.licenseValid = true;
    await bench.poll();
    expect(await licenses()).toEqual([{ valid: true }, { valid: true }]);
  });
});

describe('a connection that was hidden', () => {
  async function visibilityGaps() {
    return (await readProgress(bench.database, ACCOUNT)).visibility;
  }

  it('is read from when it was last visible once it is listed again', async () => {
    const hidden = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    bench.service.addMessage('c1', start);
    bench.service.addMessage('c2', start);
    await bench.poll();
    hidden.licenseValid = false;
    const missed = Array.from({ length: 150 }, (_, index) =>
      bench.service.addMessage('c1', start + (index + 1) * MINUTE),
    );
    bench.service.addMessages('c2', 150, (index) => start + (index + 1) * MINUTE);
    await bench.poll();
    expect(await visibilityGaps()).toMatchObject([{ slot: 'c1', gap: { cursor: null } }]);
    expect(await bench.storedIds()).not.toContain(missed[0]?.id);
    hidden.licenseValid = true;
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toHaveLength(302);
    expect(await visibilityGaps()).toEqual([]);
  });

  it('loses no message from between its last listing and its hiding', async () => {
    const hidden = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    bench.service.addMessage('c2', start);
    await bench.poll();
    // Hidden just after the listing: the walk of the same poll passes over messages it should have seen.
    for (let index = 0; index < 250; index += 1) {
      bench.service.addMessage('c1', start + (60 + index) * MINUTE);
      bench.service.addMessage('c2', start + (400 + index) * MINUTE);
    }
    bench.service.onRequest = ({ path }) => {
      if (path === '/messages') hidden.licenseValid = false;
    };
    await bench.poll();
    bench.service.onRequest = () => undefined;
    await bench.poll();
    expect(await bench.storedIds()).toHaveLength(251);
    hidden.licenseValid = true;
    await bench.poll();
    expect(await bench.storedIds()).toHaveLength(501);
  });

  it('keeps its gap if it is hidden again during the walk', async () => {
    const hidden = bench.service.addConnection('c1');
    bench.service.addConnection('c2');
    await bench.poll();
    hidden.licenseValid = false;
    await bench.poll();
    bench.service.addMessages('c1', 300, (index) => start + index * MINUTE);
    // Newer messages of the other keep the account's own walk away from those of the hidden one.
    bench.service.addMessages('c2', 300, (index) => start + (1_000 + index) * MINUTE);
    await bench.poll();
    hidden.licenseValid = true;
    let pages = 0;
    bench.service.onRequest = ({ query }) => {
      if (query.get('connectionId') === 'c1' && ++pages === 2) hidden.licenseValid = false;
    };
    expect(await bench.poll()).toMatchObject({ cycle: { closed: false } });
    bench.service.onRequest = () => undefined;
    expect(await visibilityGaps()).toHaveLength(1);
    // What comes while it is hidden again lies above what was read of it before.
    bench.service.addMessages('c1', 150, (index) => start + (500 + index) * MINUTE);
    await bench.poll();
    hidden.licenseValid = true;
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toHaveLength(750);
    expect(await visibilityGaps()).toEqual([]);
  });

  it('is read from its beginning if it is new but not from the first listing', async () => {
    bench.service.addConnection('c1');
    bench.service.addMessages('c1', 300, (index) => start + (1_000 + index) * MINUTE);
    await bench.poll();
    // A key that was widened shows a connection with a history.
    bench.service.addConnection('c2');
    bench.service.addMessages('c2', 150, (index) => start + index * MINUTE);
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toHaveLength(450);
  });
});
