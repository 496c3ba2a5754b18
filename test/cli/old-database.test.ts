import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningConnector, runConnector } from '../../src/commands/run-connector.ts';
import { credentialContext, secretContext } from '../../src/connector/db/sealed-columns.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { digest } from '../../src/runtime/sealing/digest.ts';
import { createKeyRing, generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callJson, createLoopClient, type LoopClient } from '../support/loop-client.ts';
import { silentLogger } from '../support/platform.ts';
import { ROOT } from '../support/root.ts';
import { startTestService, type TestService } from '../support/service.ts';

const TOKEN = 'token-of-a-test-0123456789';
const AT = Date.UTC(2026, 0, 15, 9);
const MINUTE = 60_000;
const FEED = '0123456789ab';
const FOLDER = join(ROOT, 'drizzle/connector');

/** Migrates as far as these many of the first migrations go. */
async function migrateTo(url: string, count: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'old-migrations-'));
  try {
    await cp(FOLDER, folder, { recursive: true });
    const path = join(folder, 'meta/_journal.json');
    const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: unknown[] };
    await writeFile(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
    await migrateDatabase({ url, folder, schema: 'connector', logger: silentLogger, clock: systemClock });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Rows as the tables were after the first two migrations: columns by name, so that none is left out by chance. */
async function fill(database: Database, connection: string, sealed: Record<string, string>): Promise<void> {
  const insert = async (table: string, ...rows: Readonly<Record<string, unknown>>[]): Promise<void> => {
    for (const row of rows) {
      const names = Object.keys(row);
      await database.query(
        `insert into connector.${table} (${names.map((name) => `"${name}"`).join(', ')})
         values (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
        Object.values(row),
      );
    }
  };
  const of = { account_id: 'default', connection_id: connection };
  await insert('subscriptions', {
    ...{ id: 'default', account_id: 'default', is_first: true, sealed_secret: sealed['secret'] },
    ...{ secret_version: 3, registered_url: 'https://crm.example/webhooks/messaging', registered_at: AT },
  });
  await insert('accounts', {
    ...{ id: 'default', kind: 'api_key', base_url: sealed['baseUrl'], sealed_credential: sealed['key'] },
    ...{
      credential_digest: sealed['digest'],
      credential_version: 5,
      subscription_id: 'default',
      created_at: AT,
    },
  });
  await insert('connections', {
    ...{
      ...of,
      listed_at: AT,
      phone_number: '4915112345678',
      label: 'Front desk',
      provider: 'qr',
      tier: 'basic',
    },
    ...{ status: 'open', needs_reconnect: false, license_valid: true, license_status: 'active' },
    ...{ customer_ref: 'crm-7', version: 4, updated_at: AT },
  });
  const message = { ...of, polled: true, change_mask: 0, status_conflict: false, updated_at: AT };
  await insert(
    'messages',
    {
      ...{
        ...message,
        id: 'old-in',
        direction: 'incoming',
        peer: '447700900201',
        text: 'Hello',
        created_at: AT,
      },
      ...{ first_seen_by: 'webhook', first_seen_at: AT, webhook_seen: 1 },
    },
    {
      ...{ ...message, id: 'old-out', direction: 'outgoing', peer: '447700900202', text: 'Good morning' },
      ...{
        status: 'read',
        created_at: AT + MINUTE,
        first_seen_by: 'send',
        first_seen_at: AT,
        webhook_seen: 14,
      },
    },
  );
  const change = { ...of, position: 1, type: 'message.created', source: 'webhook', first_seen_by: 'webhook' };
  for (const batch of [1, 2, 3]) {
    await insert('change_batches', { id: batch, size: 1, told_at: AT, last_seq: batch });
    await insert('changes', {
      ...{
        ...change,
        batch,
        at: AT,
        message_id: `old-${batch}`,
        direction: 'incoming',
        text: `Change ${batch}`,
      },
      ...{ created_at: AT },
    });
  }
  await database.query(`select setval('connector.change_batch_id', 3)`);
  await database.query('update connector.feed set last_seq = 3');
  await insert('handover', { feed_id: FEED, cursor: 3 });
  await insert('handover_lanes', { connection_id: connection, waiting: 1, set_aside: 1, due_at: 0 });
  await insert('handover_queue', { connection_id: connection, seq: 3, batch: 3, position: 1 });
  await insert('dead_letters', {
    ...{
      seq: 2,
      connection_id: connection,
      batch: 2,
      position: 1,
      attempts: 12,
      last_error: 'Error',
      at: systemClock.now(),
    },
  });
  const send = { ...of, fingerprint: 'f', created_at: AT, updated_at: systemClock.now() };
  await insert(
    'outbound',
    {
      ...{ ...send, id: 'send-0', reference: 'order-0', recipient: '447700900202', text: 'Good morning' },
      ...{
        idempotency_key: 'key-0',
        state: 'sent',
        message_id: 'old-out',
        attempts: 1,
        first_attempt_at: AT,
      },
    },
    {
      ...{
        ...send,
        id: 'send-1',
        reference: 'order-1',
        recipient: '447700900203',
        text: 'Your table is free',
      },
      ...{ idempotency_key: 'key-1', state: 'queued', next_attempt_at: AT },
    },
  );
  await insert('coverage', { account_id: 'default', watermark: AT, listed_watermark: AT, listed_at: AT });
  await insert('inbox', {
    ...{
      ...of,
      received_at: AT,
      subscription_id: 'default',
      signed_at: AT,
      body: Buffer.from('{"event":"x"}'),
    },
    ...{
      event: 'message.received',
      message_id: 'old-in',
      outcome: 'merged',
      change_mask: 1,
      change_batch: 1,
    },
  });
  // What is left of processes that are gone: nobody waits for them.
  const until = systemClock.now() + 60 * MINUTE;
  await insert('leases', { name: 'poll:default', owner: 'gone', fence: 7, expires_at: until });
  await insert('senders', { owner: 'gone', expires_at: until });
}

describe('a database from before the tables of processes, named settings and the feed id', () => {
  let database: TestDatabase;
  let rows: Database;
  let service: TestService;
  let client: LoopClient;
  let connector: RunningConnector;
  let connectionId: string;
  const handed: { key: string; text: unknown }[] = [];
  const get = <Answer>(path: string): Promise<Answer> =>
    callJson(`${connector.url}${path}`, { token: TOKEN });

  beforeAll(async () => {
    database = await createTestDatabase();
    rows = openDatabase({ url: database.url, name: 'test', clock: systemClock, logger: silentLogger });
    service = await startTestService();
    const { info } = service;
    connectionId = await createLoopClient({
      ...info,
      connectorUrl: null,
      connectorToken: null,
    }).qrConnection();
    const sealingKey = generateSealingKey();
    const keyRing = createKeyRing([sealingKey]);
    await migrateTo(database.url, 2);
    await fill(rows, connectionId, {
      baseUrl: info.baseUrl,
      key: await keyRing.seal(info.apiKey, credentialContext('default')),
      digest: digest(info.apiKey),
      secret: await keyRing.seal('whsec_of_before', secretContext('default')),
    });
    connector = await runConnector({
      databaseUrl: database.url,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken: TOKEN,
      sealingKeys: [sealingKey],
      service: { baseUrl: info.baseUrl, apiKey: info.apiKey },
      reconcileIntervalMs: 60_000,
      inboxRetentionDays: 3_650,
      handlers: {
        onChange: (change, { key }) =>
          void handed.push({ key, text: 'text' in change.data ? change.data.text : null }),
      },
      clock: systemClock,
      logger: silentLogger,
    });
    client = createLoopClient({ ...info, connectorUrl: connector.url, connectorToken: TOKEN });
    await connector.settle();
  }, 120_000);
  afterAll(async () => {
    await connector.close();
    await service.close();
    await rows.close();
    await database.drop();
  }, 60_000);

  it('keeps messages, connections and their customers', async () => {
    expect((await client.messages()).filter(({ id }) => id.startsWith('old-'))).toMatchObject([
      {
        ...{ id: 'old-out', connectionId, direction: 'outgoing', peer: '447700900202', text: 'Good morning' },
        ...{
          status: 'read',
          firstSeenBy: 'send',
          customerRef: 'crm-7',
          createdAt: '2026-01-15T09:01:00.000Z',
        },
      },
      {
        ...{
          id: 'old-in',
          connectionId,
          direction: 'incoming',
          peer: '447700900201',
          text: 'Hello',
          status: null,
        },
        ...{ firstSeenBy: 'webhook', customerRef: 'crm-7', createdAt: '2026-01-15T09:00:00.000Z' },
      },
    ]);
    expect(await get(`/v1/connections/${connectionId}`)).toMatchObject({
      customerRef: 'crm-7',
      visible: true,
    });
    const [account] = (await get<{ accounts: { lastWebhookAt: string }[] }>('/v1/sync')).accounts;
    expect(account?.lastWebhookAt).toBe('2026-01-15T09:00:00.000Z');
  });

  it('keeps the feed with its id and its numbers, and continues after them', async () => {
    const { changes, feedId, lastSeq } = await get<{
      changes: { seq: number; data: { text?: string } }[];
      feedId: string;
      lastSeq: number;
    }>('/v1/changes?after=0');
    expect(feedId).toBe(FEED);
    expect(changes.slice(0, 3).map(({ seq, data }) => [seq, data.text])).toEqual([
      [1, 'Change 1'],
      [2, 'Change 2'],
      [3, 'Change 3'],
    ]);
    expect(changes.map(({ seq }) => seq)).toEqual(changes.map((_, index) => index + 1));
    expect(lastSeq).toBeGreaterThan(3);
  });

  it('dispatches waiting changes with the keys that the CRM would have received, and keeps dead letters', async () => {
    expect(handed[0]).toEqual({ key: `${FEED}-3`, text: 'Change 3' });
    expect(handed.filter(({ key }) => key === `${FEED}-2`)).toEqual([]);
    const letter = { id: `${FEED}-2`, attempts: 12, lastError: 'Error' };
    expect(await get('/v1/dead-letters')).toMatchObject({ deadLetters: [letter] });
    await callJson(`${connector.url}/v1/dead-letters/${FEED}-2/replay`, { method: 'POST', token: TOKEN });
    await connector.settle();
    expect(handed.filter(({ key }) => key === `${FEED}-2`)).toEqual([{ key: `${FEED}-2`, text: 'Change 2' }]);
  });

  it('sends queued messages once, and repeats no finished send', async () => {
    expect(await get('/v1/outbound/send-0')).toMatchObject({
      state: 'sent',
      messageId: 'old-out',
      attempts: 1,
    });
    expect(await get('/v1/outbound/send-1')).toMatchObject({
      state: 'sent',
      reference: 'order-1',
      attempts: 1,
    });
    const phone = async (number: string) =>
      (
        await callJson<{ entries: { text: string }[] }>(
          `${service.info.sandboxUrl}/sandbox/v1/contacts/${number}/messages`,
        )
      ).entries.map(({ text }) => text);
    expect(await phone('447700900203')).toEqual(['Your table is free']);
    expect(await phone('447700900202')).toEqual([]);
  });

  it('continues polling from its watermark, with its stored credential', async () => {
    const id = await client.write(connectionId, 'After the upgrade');
    await client.sync();
    // A contact may have answered what was sent meanwhile.
    expect(await client.messages()).toContainEqual(
      expect.objectContaining({ id, text: 'After the upgrade' }),
    );
    expect(await rows.query('select credential_version as version from connector.accounts')).toEqual([
      { version: 5 },
    ]);
    expect(await rows.query('select secret_version as version from connector.subscriptions')).toEqual([
      { version: 3 },
    ]);
  });

  it('keeps the raw deliveries, and does not wait for processes that no longer exist', async () => {
    expect(
      await rows.query(`select message_id as id, convert_from(body, 'UTF8') as body from connector.inbox`),
    ).toEqual([{ id: 'old-in', body: '{"event":"x"}' }]);
    expect(await rows.query(`select owner from connector.leases where owner = 'gone'`)).toEqual([]);
  });
});
