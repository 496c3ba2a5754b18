import { readDueAccounts } from '../../../src/connector/accounts/poll-state.ts';
import * as consumers from '../../../src/connector/consumers/consumer-store.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { emptyMessages } from '../../../src/connector/db/expire-messages.ts';
import { heldLease } from '../../../src/connector/db/lease.ts';
import { readChanges, readFiltered } from '../../../src/connector/feed/read-changes.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import { readQueues } from '../../../src/connector/outbox/due-queues.ts';
import * as sends from '../../../src/connector/outbox/queue-store.ts';
import { coverageChange } from '../../../src/connector/reconcile/progress.ts';
import { storePage } from '../../../src/connector/reconcile/store-page.ts';
import { readConnections } from '../../../src/connector/state/sync-report.ts';
import { readDeliveries } from '../../../src/connector/trace/read-deliveries.ts';
import { createPresence } from '../../../src/connector/work/presence.ts';
import type { Database, Queryable } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { HotStatement } from '../../support/statements.ts';
import { delivery, outage, received, silentLogger, T0 } from '../support/event-fixtures.ts';

const lease = { name: 'poll:account-1', fence: 1 };
const message = received('c-7', 'm-7');
const progress = {
  ...{ partition: 1, place: 7, passing: [], doneEntries: [{ key: 'c-7', seq: 7 }], rows: [], letters: [] },
  ...{ entries: [{ key: 'c-7', seq: 8, attempts: 0 }], endedRows: [] },
};

function merge(
  told: { message: typeof message } | { connection: ReturnType<typeof outage> },
  body = Buffer.from('{}'),
): HotStatement['run'] {
  return (db) => commitBatch(db, { now: T0, deliveries: [delivery(told, { body })] });
}

/** As outside a transaction, where messages are stored as if they had one period until the database refuses that. */
const outsideTransaction =
  (run: HotStatement['run']): HotStatement['run'] =>
  (db) =>
    run({ ...db, transaction: null } as Queryable);

const MERGE_INDEXES = ['connections_pkey', 'expired_messages_pkey', 'messages_pkey'];

/** The statements on the hot path. Each has its text in `golden/` and a test of its plan in `hot-statements.test.ts`. */
export const HOT_STATEMENTS: Readonly<Record<string, HotStatement>> = {
  'merge-messages': { run: merge({ message }), indexes: MERGE_INDEXES },
  'merge-messages-undivided': {
    run: outsideTransaction(merge({ message })),
    indexes: ['connections_pkey'],
    like: 'merge-messages',
  },
  'merge-messages-not-utf8': {
    run: merge({ message }, Buffer.from([255])),
    indexes: MERGE_INDEXES,
    like: 'merge-messages',
  },
  'merge-events': {
    run: merge({ connection: outage('c-7', T0) }),
    indexes: MERGE_INDEXES,
    like: 'merge-messages',
  },
  'merge-events-not-utf8': {
    run: merge({ connection: outage('c-7', T0) }, Buffer.from([255])),
    indexes: MERGE_INDEXES,
    like: 'merge-events',
  },
  'merge-replay': {
    run: (db) => commitBatch(db, { now: T0, messages: [message], via: 'replay' }),
    indexes: MERGE_INDEXES,
    like: 'merge-messages',
  },
  'merge-page': {
    run: (db) =>
      storePage(
        { database: db, clock: { now: () => T0 }, lease, accountId: 'account-1', registeredAt: T0 } as never,
        [],
        coverageChange({ watermark: T0, gaps: [] }),
      ),
    indexes: [...MERGE_INDEXES, 'leases_pkey'],
    like: 'merge-messages',
  },
  'sync-connections': {
    run: (db) => readConnections(db, 'account-1', T0),
    indexes: ['messages_newest', 'messages_conflicts'],
  },
  'expire-messages': {
    run: (db) => emptyMessages(db, { before: T0, now: T0, stopping: AbortSignal.abort() }, []),
    indexes: ['messages_newest'],
    whole: ['connections'],
  },
  'number-changes': { run: (db) => numberChanges(db) },
  'read-feed': {
    run: (db) => readChanges(db, 1_000, 100),
    indexes: ['change_batches_seq', 'changes_default_pkey'],
  },
  'read-feed-stretch': {
    run: (db) => readFiltered(db, 1_000, 100, { connectionId: 'c-7' }),
    indexes: ['change_batches_seq'],
  },
  'write-progress': {
    run: (db) => consumers.writeProgress(db, 'handler', [{ progress, lease, placeId: 1, open: true }], T0),
    indexes: ['leases_pkey', 'parked_entries_pkey', 'parked_pkey'],
  },
  'read-parked-entries': {
    run: (db) => consumers.readEntries(db, 'handler', [{ name: 'c-7', readTo: 0 }]),
    indexes: ['parked_entries_pkey', 'change_batches_seq', 'changes_default_pkey'],
  },
  'due-sends': {
    run: (db) => readQueues(db, { above: 29_500, queues: new Map([['c-7', 7]]) }, T0),
    indexes: ['outbound_queue', 'outbound_unfinished', 'leases_pkey'],
  },
  'all-due-sends': { run: (db) => readQueues(db, null, T0), indexes: ['outbound_queue', 'leases_pkey'] },
  'next-send': { run: (db) => sends.readNextSend(db, 'c-7', T0), indexes: ['outbound_queue'] },
  'begin-send': {
    run: (db) => sends.beginAttempt(db, lease, { outboundId: 'o-7', attemptId: 'a', now: T0 }),
    indexes: ['outbound_pkey', 'leases_pkey'],
  },
  'due-polls': {
    run: (db) => readDueAccounts(db, ['account-1'], { now: T0, limit: 10, longestWaitMs: 120_000 }),
    indexes: ['poll_states_pkey', 'leases_pkey'],
  },
  guard: {
    run: (db) => db.query(heldLease('$1', '$2'), [lease.name, lease.fence]),
    indexes: ['leases_pkey'],
  },
  // It looks for leases whose holders are gone.
  heartbeat: { run: beat, whole: ['leases'] },
  'trace-merged': { run: (db) => readDeliveries(db, 'm-7', 'merged', 201), indexes: ['inbox_message'] },
  'trace-unchanged': { run: (db) => readDeliveries(db, 'm-7', 'unchanged', 201), indexes: ['inbox_message'] },
};

async function beat(db: Queryable): Promise<void> {
  const query: Queryable['query'] = async <Row extends object>(text: string, params?: readonly unknown[]) => {
    await db.query(text, params);
    return [{ alive: true, others: [], leases: [] }] as unknown as Row[];
  };
  const presence = createPresence({
    database: { query } as unknown as Database,
    clock: new ManualClock(T0),
    logger: silentLogger,
    works: true,
  });
  await presence.beat();
}
