import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { CommandOptions } from '../../../src/commands/command-line.ts';
import { createReplayReport } from '../../../src/commands/replay-report.ts';
import { runReplay } from '../../../src/commands/run-replay.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { RawDelivery } from '../../../src/connector/db/facts.ts';
import { dropInboxPartitions, makePartitions } from '../../../src/connector/db/time-partitions.ts';
import { interpretBody } from '../../../src/connector/inbox/interpret-body.ts';
import { type MessageDifference, replay } from '../../../src/connector/replay/replay.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  ACCOUNT,
  databaseOfFile,
  emptyTables,
  polled,
  readAllChanges,
  T0,
} from '../support/event-fixtures.ts';

const DAY = 86_400_000;

const database = databaseOfFile();
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock(T0);
  await emptyTables(database);
  await makePartitions(database, 'inbox', T0 - 2 * DAY, { days: 1, ahead: 3 });
});

/** Stores an event as the receiver does. */
async function receive(event: object, receivedAt = clock.now(), accountId = ACCOUNT): Promise<void> {
  const body = Buffer.from(JSON.stringify(event));
  const { kind, ...told } = interpretBody(body, { accountId, signedAt: receivedAt });
  const content = told as Pick<RawDelivery, 'event'>;
  const delivery = { subscriptionId: 's', accountId, receivedAt, signedAt: receivedAt, body, ...content };
  await commitBatch(database, { now: receivedAt, deliveries: [delivery] });
}

const text = (id: string, value = `Text of ${id}`, timestamp = T0) => ({
  event: 'message.received',
  connection_id: 'c1',
  message: {
    id,
    wa_id: null,
    from: '4915100000001',
    text: value,
    media_url: null,
    media_type: null,
    timestamp,
  },
});
const status = (id: string, reached: string, timestamp = T0) => ({
  event: 'message.status',
  connection_id: 'c1',
  message: { id, wa_id: null, status: reached, timestamp },
});

async function run(apply = false) {
  const differences: MessageDifference[] = [];
  const summary = await replay({
    database,
    clock,
    apply,
    signal: new AbortController().signal,
    onDifference: (difference) => differences.push(difference),
    onProgress: () => undefined,
  });
  return { differences, summary };
}

async function readLive() {
  return await database.query('SELECT * FROM connector.messages ORDER BY id');
}

/** Deliveries of several days with copies, orders, polls between, a conflict, a stranger and an invalid event. */
async function receiveMuch(): Promise<void> {
  for (const [index, at] of [T0 - 2 * DAY, T0 - DAY, T0, T0 + 9 * DAY].entries()) {
    await receive(text(`m${index}`), at);
    await receive(text(`m${index}`), at + 1);
    for (const reached of ['delivered', 'sent', 'read', 'read'])
      await receive(status(`o${index}`, reached), at + 2);
  }
  await receive(status('met', 'failed', T0 + 5));
  await receive(status('met', 'read', T0));
  await receive(text('foreign'), T0, 'account-2');
  for (const at of [T0, T0 + 1]) await receive({ ...status('o0', 'read'), connection_id: null }, at);
  await receive({ event: 'message.edited', connection_id: 'c1', message: { id: 'm0' } });
  const messages = [
    polled('c1', 'o3', { text: 'Out', direction: 'outgoing', createdAt: T0 - 5, status: 'read' }),
  ];
  await commitBatch(database, { now: T0, messages });
  const onlyPolled = [polled('c1', 'p1', { text: 'Never told by a webhook' })];
  await commitBatch(database, { now: T0, messages: onlyPolled });
}

describe('a replay', () => {
  it('of a correct merge finds no difference, and leaves nothing behind', async () => {
    await receiveMuch();
    const before = await readLive();
    const { differences, summary } = await run();
    expect(differences).toEqual([]);
    // Four texts, four sends and one that met both ends; the stranger's is none of ours, the polled one no delivery.
    expect(summary).toMatchObject({ messages: 9, different: 0, invalid: 2, refused: 0, applied: 0 });
    expect(summary.keptSince).toBe(Math.floor((T0 - 2 * DAY) / DAY) * DAY);
    expect(await readLive()).toEqual(before);
  });

  it('names the fields that a damaged table lacks, without their values, and writes nothing', async () => {
    await receiveMuch();
    await database.query(`DELETE FROM connector.messages WHERE id = 'm0'`);
    await database.query(`UPDATE connector.messages SET text = NULL, webhook_seen = 0 WHERE id = 'm1'`);
    await database.query(`UPDATE connector.messages SET status = 'sent' WHERE id = 'o1'`);
    // The first value is kept.
    await database.query(`UPDATE connector.messages SET text = 'Another' WHERE id = 'm2'`);
    await database.query(`UPDATE connector.messages SET status = NULL WHERE id = 'o2'`);
    const before = await readLive();
    const { differences, summary } = await run();
    expect(differences.map(({ messageId, fields }) => [messageId, fields])).toEqual([
      ['m0', ['peer', 'text', 'createdAt', 'webhookSeen']],
      ['m1', ['text', 'webhookSeen']],
      ['o1', ['status']],
      ['o2', ['status']],
    ]);
    expect(summary).toMatchObject({ different: 4, applied: 0 });
    expect(await readLive()).toEqual(before);
  });

  it('adds what the merge would add and reports it in the feed, and never lowers or erases a value', async () => {
    await receiveMuch();
    const whole = await readLive();
    await database.query(`DELETE FROM connector.messages WHERE id IN ('m0', 'm3')`);
    await database.query(`UPDATE connector.messages SET text = NULL WHERE id = 'm1'`);
    await database.query(`UPDATE connector.messages SET status = 'sent' WHERE id = 'o1'`);
    await database.query(`UPDATE connector.messages SET text = 'Kept' WHERE id = 'm2'`);
    const told = (await readAllChanges(database)).length;
    const { summary } = await run(true);
    expect(summary).toMatchObject({ different: 4, applied: 4 });
    const told2 = (await readAllChanges(database)).slice(told);
    expect(told2.map(({ type, message_id }) => [message_id, type])).toEqual([
      ['m0', 'message.created'],
      ['m3', 'message.created'],
      ['m1', 'message.updated'],
      ['o1', 'message.status'],
    ]);
    expect(told2.every(({ seq }) => seq !== null)).toBe(true);
    const [source] = await database.query(
      `SELECT DISTINCT source, via FROM connector.changes WHERE via IS NOT NULL`,
    );
    expect(source).toEqual({ source: 'webhook', via: 'replay' });
    const facts = (rows: Record<string, unknown>[]) =>
      rows.map(({ id, peer, text: value, status: reached, created_at, status_conflict }) => ({
        ...{ id, peer, reached, created_at, status_conflict },
        value: id === 'm2' ? 'Kept' : value,
      }));
    expect(facts(await readLive())).toEqual(facts(whole));
    expect((await run(true)).summary).toMatchObject({ different: 0, applied: 0 });
  });

  it('compares only what the stored days contain', async () => {
    await receiveMuch();
    await dropInboxPartitions(database, T0 + DAY);
    await makePartitions(database, 'inbox', T0 + 9 * DAY, { days: 1, ahead: 0 });
    const { differences, summary } = await run();
    expect(differences).toEqual([]);
    expect(summary.messages).toBe(2);
  });

  it('processes thousands of deliveries, including large ones, in order', async () => {
    await receive(text('long', 'x'.repeat(100_000)));
    for (let part = 0; part < 3; part += 1) {
      await database.query(
        `INSERT INTO connector.inbox (received_at, subscription_id, account_id, signed_at, body, event, connection_id,
                                      message_id, outcome, change_mask)
         SELECT $1::bigint, 's', $2::text, $1::bigint,
                convert_to('{"event":"message.status","connection_id":"c1","message":{"id":"b' || n || '","wa_id":null,"status":"'
                  || (ARRAY['sent','delivered','read'])[1 + (n + $3::int) % 3] || '","timestamp":' || $1::bigint || '}}', 'UTF8'),
                'message.status', 'c1', 'b' || n, 'unchanged', 0
           FROM generate_series(1, 3000) n`,
        [T0, ACCOUNT, part],
      );
    }
    const { summary } = await run(true);
    expect(summary).toMatchObject({ deliveries: 9_001, messages: 3_001, different: 3_000, applied: 3_000 });
    const rows = await database.query(
      `SELECT status, count(*)::int FROM connector.messages GROUP BY 1 ORDER BY 1`,
    );
    expect(rows).toEqual([
      { status: 'read', count: 3_000 },
      { status: null, count: 1 },
    ]);
  });

  it('that is interrupted changes nothing', async () => {
    await receiveMuch();
    await database.query(`DELETE FROM connector.messages WHERE id = 'm0'`);
    const before = await readLive();
    const over = new AbortController();
    const options = { database, clock, apply: false, signal: over.signal };
    const onDifference = () => over.abort(new Error('stopped'));
    const onProgress = () => undefined;
    await expect(replay({ ...options, onDifference, onProgress })).rejects.toThrow('stopped');
    expect(await readLive()).toEqual(before);
  });

  it('omits a message that the database refuses, and compares the others', async () => {
    await receiveMuch();
    await database.query(
      `ALTER TABLE connector.messages ADD CONSTRAINT refused CHECK (id <> 'o1') NOT VALID`,
    );
    onTestFinished(
      async () => void (await database.query('ALTER TABLE connector.messages DROP CONSTRAINT refused')),
    );
    await database.query(`DELETE FROM connector.messages WHERE id IN ('m0', 'o1')`);
    const { differences, summary } = await run();
    expect(differences).toMatchObject([{ messageId: 'm0' }]);
    expect(summary).toMatchObject({ messages: 8, refused: 3 });
  });

  it('does not interfere with deliveries that are merged concurrently', async () => {
    await receiveMuch();
    let open = true;
    const replays = (async () => {
      const found: MessageDifference[] = [];
      while (open) found.push(...(await run()).differences);
      return found;
    })();
    for (let round = 0; round < 20; round += 1) {
      await receive(text(`during${round}`), T0 + round);
      await receive(status('o3', 'read'), T0 + round);
      await receive(status(`sent${round}`, 'delivered'), T0 + round);
      await receive(status(`sent${round}`, 'sent'), T0 + round);
    }
    open = false;
    expect(await replays).toEqual([]);
    expect((await run()).summary).toMatchObject({ messages: 49, different: 0 });
  });
});

describe('npm run replay', () => {
  async function command(options: CommandOptions, at = database.url) {
    let stdout = '';
    const env = { DATABASE_URL: at };
    const print = (words: string): void => {
      stdout += words;
    };
    const context = {
      options,
      words: {},
      env,
      clock: systemClock,
      print,
      warnOfTypo: () => undefined,
      typos: [],
    };
    const code = await runReplay(context, { show: 1, signal: new AbortController().signal });
    return { stdout, code };
  }

  it('exits with 1 while something differs and with 0 once it was repaired', async () => {
    await receiveMuch();
    await database.query(`DELETE FROM connector.messages WHERE id IN ('m0', 'm1')`);
    expect(await command({})).toEqual({
      code: 1,
      stdout:
        'm0 of c1 lacks data of its deliveries: peer, text, createdAt, webhookSeen\n' +
        '… and 1 more; --show 2 or --json shows them.\n' +
        `Retained deliveries since 2026-01-13: ${4 * 6 + 5}, for 9 messages in this database.\n` +
        'Invalid deliveries, which contain nothing to merge: 2.\n' +
        'Messages that differ: 2.\n' +
        'Nothing was written; --apply adds what is missing.\n',
    });
    const { stdout, code } = await command({ apply: true, json: true });
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { messageId: 'm0', connectionId: 'c1' },
      { messageId: 'm1', connectionId: 'c1' },
      { summary: { keptSince: '2026-01-13T00:00:00.000Z', messages: 9, applied: 2 } },
    ]);
    expect((await command({})).code).toBe(0);
  });

  it('does not finish on a database without the tables', async () => {
    const elsewhere = new URL(database.url);
    elsewhere.pathname = '/postgres';
    await expect(command({}, elsewhere.href)).rejects.toThrow('does not contain the tables of the connector');
  });

  it('does not finish in a folder without data, and leaves it as it is', async () => {
    const folder = join(tmpdir(), `no-replay-${process.pid}`);
    await expect(command({ 'data-dir': folder }, '')).rejects.toThrow(`there is no data in ${folder}.`);
    expect(existsSync(folder)).toBe(false);
  });
});

it('a replay reports its progress every three seconds', async () => {
  const lines: string[] = [];
  const print = (): void => undefined;
  const printProgress = (line: string): void => void lines.push(line);
  const { progress } = createReplayReport({
    json: false,
    show: 0,
    apply: false,
    clock,
    print,
    printProgress,
  });
  for (const messages of [10, 20, 30, 40]) {
    await clock.advance(2_000);
    progress?.({ deliveries: 2 * messages, messages });
  }
  expect(lines).toEqual([
    'compared 20 messages with 40 deliveries\n',
    'compared 40 messages with 80 deliveries\n',
  ]);
});
