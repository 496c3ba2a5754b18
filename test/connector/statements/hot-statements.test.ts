import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makePartitions } from '../../../src/connector/db/time-partitions.ts';
import { ofFile } from '../../support/of-file.ts';
import { describeHotStatements, explain, type Plan } from '../../support/statements.ts';
import { openConnectorDatabaseWithoutDays, T0 } from '../support/event-fixtures.ts';
import { HOT_STATEMENTS } from './hot-statements.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
/** In a small table, reading all of it is the cheapest plan. */
const LARGE =
  /^(?:messages_undivided|expired_messages|connections|changes_default|change_batches|inbox_\d+|outbound|parked|parked_entries|leases)$/;
const FUNCTIONS = ['number_changes'];

const opened = ofFile(openConnectorDatabaseWithoutDays);

beforeAll(async () => {
  await makePartitions(opened.database, 'inbox', T0, { days: 1, ahead: 0 });
  await fill();
}, 120_000);

/** A connector of some days: 2,000 connections, 60,000 messages and changes, a backlog for the handler and to send. */
async function fill(): Promise<void> {
  const now = `${T0}::bigint`;
  for (const statement of [
    `INSERT INTO connector.connections (connection_id, account_id, visible, version, updated_at)
     SELECT 'c-' || n, 'account-' || n % 50, true, 1, ${now} FROM generate_series(1, 2000) n`,
    `INSERT INTO connector.messages (connection_id, id, account_id, direction, created_at, first_seen_by, first_seen_at,
       polled, change_mask, webhook_seen, status_conflict)
     SELECT 'c-' || n % 2000 + 1, 'm-' || n, 'account-1', 'incoming', ${now} - n, 'webhook', ${now}, false, 13, 1, false
       FROM generate_series(1, 60000) n`,
    `INSERT INTO connector.expired_messages SELECT 'x-' || n, 'c-' || n % 2000 FROM generate_series(1, 60000) n`,
    `INSERT INTO connector.change_batches (id, size, changed_at, last_seq)
     SELECT n, 3, ${now}, CASE WHEN n <= 19900 THEN n * 3 END FROM generate_series(1, 20000) n`,
    `INSERT INTO connector.changes (batch, position, type, at, account_id, connection_id, message_id, source)
     SELECT (n - 1) / 3 + 1, (n - 1) % 3 + 1, 'message.created', ${now}, 'account-1', 'c-' || n % 2000 + 1, 'm-' || n,
            'webhook' FROM generate_series(1, 60000) n`,
    `INSERT INTO connector.inbox (received_at, subscription_id, account_id, signed_at, body, event, connection_id,
       message_id, outcome, change_mask, change_batch)
     SELECT ${now} + n, 'default', 'account-1', ${now}, '{}', 'message.received', 'c-' || n % 2000 + 1, 'm-' || n % 20000,
            'merged', 13, CASE WHEN n % 3 = 0 THEN n END FROM generate_series(1, 60000) n`,
    `INSERT INTO connector.parked (consumer, key, partition, connection_id, seq, due_at, since)
     SELECT 'handler', 'c-' || n, n % 16, 'c-' || n, n, ${now}, ${now} FROM generate_series(1, 2000) n`,
    `INSERT INTO connector.parked_entries (consumer, key, seq)
     SELECT 'handler', 'c-' || n % 100 + 1, n FROM generate_series(1, 10000) n`,
    `INSERT INTO connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key,
       state, created_at, updated_at)
     SELECT 'o-' || n, 'account-1', 'c-' || n % 2000 + 1, 'r-' || n, 'f', '4470000' || n, 'k-' || n,
            CASE WHEN n > 29000 THEN 'queued' ELSE 'sent' END, ${now} - n, ${now} FROM generate_series(1, 30000) n`,
    `INSERT INTO connector.poll_states (account_id, due_at) SELECT 'account-' || n, ${now} FROM generate_series(1, 500) n`,
    `INSERT INTO connector.processes (id, host, works, started_at, beat_at)
     SELECT 'p-' || n, 'h', true, ${now}, ${now} FROM generate_series(1, 10) n`,
    `INSERT INTO connector.leases (name, owner) SELECT 'send:c-' || n, 'p-' || n % 10 + 1 FROM generate_series(1, 2000) n`,
    'ANALYZE',
  ]) {
    await opened.database.query(statement, [], { deadlineMs: 60_000 });
  }
}

const INDEX_OF_FIRST_PERIOD: Readonly<Record<string, string>> = {
  messages_undivided_pkey: 'messages_pkey',
  messages_undivided_connection_id_direction_created_at_idx: 'messages_newest',
  messages_undivided_connection_id_created_at_idx1: 'messages_conflicts',
};
/** Without the name that the index of a partition has for itself. */
const indexOf = ({ 'Index Name': name = '' }: Plan): string =>
  INDEX_OF_FIRST_PERIOD[name] ??
  name.replace(/^inbox_\d+_message_id_change_batch_received_at_idx$/, 'inbox_message');

describeHotStatements({
  statements: HOT_STATEMENTS,
  golden: GOLDEN,
  functions: FUNCTIONS,
  large: LARGE,
  indexOf,
  database: () => opened.database,
});

describe('a hot statement in the database', () => {
  it.each(FUNCTIONS)('has the reviewed text: connector.%s', async (name) => {
    const [row] = await opened.database.query<{ text: string }>(
      `SELECT pg_get_functiondef(p.oid) AS text FROM pg_proc p WHERE p.proname = $1`,
      [name],
    );
    await expect(row?.text ?? '').toMatchFileSnapshot(join(GOLDEN, `${name}.sql`));
  });

  it('reads only newer batches to number, by their indexes', async () => {
    const [row] = await opened.database.query<{ source: string }>(
      `SELECT prosrc AS source FROM pg_proc WHERE proname = 'number_changes'`,
    );
    const source = row?.source ?? '';
    const [, page = '', from = ''] =
      /(WITH page AS[\s\S]*?)\n *INTO ids, ends, upto([\s\S]*?);/.exec(source) ?? [];
    const [, update = ''] = /(UPDATE connector.change_batches[\s\S]*?);/.exec(source) ?? [];
    const [, missing = ''] = /(SELECT unnest\(missing\)[\s\S]*?)\);\n/.exec(source) ?? [];
    const values: [RegExp, string][] = [
      [/number_changes\.above/g, '19900'],
      [/number_changes\.last_seq/g, '59700'],
      [/\bmost\b/g, '1000'],
      [/\bupto\b/g, '20000'],
      [/\(missing\)/g, `('{7,8}'::bigint[])`],
      [/\(ids\)/g, `('{19901,19902}'::bigint[])`],
      [/\bids, ends\b/g, `'{19901,19902}'::bigint[], '{59701,59702}'::bigint[]`],
    ];
    const plans = await opened.database.transaction(async (tx) => {
      await tx.query('SET LOCAL enable_nestloop = off');
      await tx.query('SET LOCAL enable_seqscan = off');
      const found: string[][] = [];
      for (const part of [page + from, update, missing]) {
        const text = values.reduce((made, [name, value]) => made.replaceAll(name, value), part);
        const nodes = await explain(tx, { text, params: [] });
        found.push(nodes.map(indexOf).filter((name) => name !== ''));
      }
      return found;
    });
    expect(plans.map((indexes) => [...new Set(indexes)].sort())).toEqual([
      ['change_batches_pkey', 'change_batches_unnumbered'],
      ['change_batches_unnumbered'],
      ['change_batches_pkey'],
    ]);
  });
});
