import { exactly } from '../../../src/contract/sandbox/filter.ts';
import { WRITE_STANDINGS } from '../../../src/platform/messages/apply-receipts.ts';
import { readPage } from '../../../src/platform/messages/read-page.ts';
import { INSERT_INCOMING } from '../../../src/platform/messages/receive-messages.ts';
import { findAnswer, keepAnswer, readSendKey } from '../../../src/platform/messages/send-journal.ts';
import { deleteTimers, readTimers } from '../../../src/platform/time/timers.ts';
import { claimDeliveries, dropPending, END_ATTEMPTS } from '../../../src/platform/webhooks/delivery-rows.ts';
import { INSERT_EVENTS } from '../../../src/platform/webhooks/ledger.ts';
import { listDeliveries } from '../../../src/platform/webhooks/list-deliveries.ts';
import type { HotStatement } from '../../support/statements.ts';

/** Virtual time of the filled database, epoch ms. */
export const T0 = 1_800_000_000_000;

const KEY = readSendKey(
  'w-7',
  'a key',
  { connectionId: 'c-7', to: '491700000001', text: 'hello', media: null },
  T0,
);
const SENT = { messageId: 'new', waMessageId: null, status: 'sent' } as const;

/** Ten connections of the workspace `w-7`: 7, 207, … */
const ALL_OF_WORKSPACE = Array.from({ length: 10 }, (_, n) => `c-${7 + 200 * n}`);

const page =
  (connectionIds: readonly string[]): HotStatement['run'] =>
  (db) =>
    readPage(db, { workspaceId: 'w-7', connectionIds, below: 1_000_000, limit: 21 });

const incoming = [
  ['m'],
  ['491700000001'],
  ['hello'],
  ['wa'],
  [null],
  [null],
  'w-7',
  'c-7',
  'delivered',
  2,
  T0,
];
const event = [['w-7'], ['c-7'], ['m-7'], ['message.received'], [null], [T0], ['{}'], T0];
const claim = {
  subscriptionId: 'w-7',
  now: T0,
  limit: 64,
  except: [8],
  destination: { url: 'https://a.example', secret: 's' },
  signedAt: T0,
};
const ends = ['[{"id": 7, "made": 1, "attempts": [], "outcome": "delivered"}]'];

/** Statements of each call, event and timer. Each has its text in `golden/` and a test of its plan. */
export const HOT_STATEMENTS: Readonly<Record<string, HotStatement>> = {
  'page-of-connection': { run: page(['c-7']), indexes: ['messages_connection'] },
  'page-of-workspace': { run: page(ALL_OF_WORKSPACE), indexes: ['messages_workspace'] },
  'find-answer': { run: (db) => findAnswer(db, KEY, T0), indexes: ['sends_key'] },
  'delete-expired-sends': {
    run: (db) => keepAnswer({ tx: db, now: T0 }, 'new', KEY, SENT),
    indexes: ['sends_expiry'],
  },
  'insert-incoming': { run: (db) => db.query(INSERT_INCOMING, incoming) },
  'write-standings': {
    run: (db) => db.query(WRITE_STANDINGS, [['m-7'], ['read'], [7], 'failed']),
    indexes: ['messages_pkey'],
  },
  'due-timers': { run: (db) => readTimers(db, T0, 100), indexes: ['timers_due'] },
  'fire-timers': { run: (db) => deleteTimers(db, [7, 8]), indexes: ['timers_pkey'] },
  'insert-events': { run: (db) => db.query(INSERT_EVENTS, event), indexes: ['oauth_grants_app'] },
  'claim-deliveries': { run: (db) => claimDeliveries(db, claim), indexes: ['deliveries_due', 'ledger_pkey'] },
  'end-attempts': { run: (db) => db.query(END_ATTEMPTS, ends) },
  'list-deliveries': {
    run: (db) => listDeliveries(db, { limit: 20 }),
    indexes: ['deliveries_pkey', 'ledger_pkey'],
  },
  'deliveries-of-message': {
    run: (db) => listDeliveries(db, { where: exactly({ message: 'm-7' }), limit: 20 }),
    indexes: ['ledger_message', 'deliveries_event'],
  },
  'deliveries-of-webhook': {
    run: (db) => listDeliveries(db, { where: exactly({ webhook: 'w-7' }), limit: 20 }),
    indexes: ['deliveries_subscription', 'ledger_pkey'],
  },
  // Once, at the start of the service.
  'drop-pending': { run: (db) => dropPending(db), whole: ['deliveries'] },
};
