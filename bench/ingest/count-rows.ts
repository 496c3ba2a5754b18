import postgres from 'postgres';
import type { RowCheck } from '../report/row-check.ts';
import type { Contender } from './contenders.ts';
import { type ExpectedRows, expectedRows } from './service-events.ts';

/** The events of one run that were acknowledged: always the first `used` of it. */
export interface AcknowledgedRun {
  readonly run: number;
  readonly used: number;
}

/** Counts what a contender stored. One that stores nothing has no checks. */
export async function countRows(contender: Contender, runs: readonly AcknowledgedRun[]): Promise<RowCheck[]> {
  const events = runs.reduce((sum, { used }) => sum + used, 0);
  const sql = postgres(contender.databaseUrl, { max: 1 });
  const count = async (text: string): Promise<number> => {
    const [row] = await sql.unsafe<{ count: number }[]>(`SELECT count(*)::int AS count FROM ${text}`);
    return row?.count ?? -1;
  };
  try {
    switch (contender.name) {
      case 'connector':
        return await countConnectorRows(count, events, sumExpected(runs));
      case 'insert':
        return [{ what: 'events', expected: events, found: await count('events') }];
      case 'stripe':
        return [{ what: 'customers', expected: events, found: await count('stripe.customers') }];
      case 'verify':
        return [];
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function countConnectorRows(
  count: (text: string) => Promise<number>,
  events: number,
  expected: ExpectedRows,
): Promise<RowCheck[]> {
  const queries: [what: string, expected: number, text: string][] = [
    ['raw events', events, 'connector.inbox'],
    ['messages', expected.messages, 'connector.messages'],
    ['messages delivered', expected.statuses.delivered, `connector.messages WHERE status = 'delivered'`],
    ['messages read', expected.statuses.read, `connector.messages WHERE status = 'read'`],
    [
      'changes that announce a message',
      expected.messages,
      `connector.changes WHERE type = 'message.created'`,
    ],
    [
      'changes without a number',
      0,
      `connector.changes c LEFT JOIN connector.change_batches b ON b.id = c.batch WHERE b.last_seq IS NULL`,
    ],
  ];
  const checks: RowCheck[] = [];
  for (const [what, wanted, text] of queries)
    checks.push({ what, expected: wanted, found: await count(text) });
  return checks;
}

function sumExpected(runs: readonly AcknowledgedRun[]): ExpectedRows {
  const all = runs.map(({ run, used }) => expectedRows(run, used));
  const sum = (pick: (rows: ExpectedRows) => number): number =>
    all.reduce((total, rows) => total + pick(rows), 0);
  return {
    messages: sum((rows) => rows.messages),
    statuses: {
      sent: sum((rows) => rows.statuses.sent),
      delivered: sum((rows) => rows.statuses.delivered),
      read: sum((rows) => rows.statuses.read),
    },
  };
}
