import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId, ofAccount } from './lists.ts';

const count = z.int().min(0);

/** What polling found that no webhook delivered within its three attempts. */
const repaired = z
  .object({
    messages: count.describe('Incoming messages.'),
    statuses: count.describe('Statuses of outgoing messages.'),
  })
  .describe(
    'What polling found that no webhook delivered within its three attempts, counted since the connector was set up. `qr` connections only.',
  );

export const WEBHOOK_HEALTH = ['healthy', 'lossy', 'silent', 'unknown'] as const;
const webhookHealth = z.enum(WEBHOOK_HEALTH);
const HEALTH_WORDS =
  '`healthy`: webhooks arrive, and polling repaired nothing within 24 h. `lossy`: polling repaired something within 24 h. `silent`: polling repaired something within 24 h, and no webhook has ever arrived. `unknown`: not enough data.';
export type WebhookHealth = z.infer<typeof webhookHealth>;

const openStatus = z.object({
  messageId: identifier.describe('The message.'),
  connectionId: identifier.describe('The connection that sent it.'),
  createdAt: dateTime.describe('When the message was created, according to the service.'),
});
const OPEN_STATUS =
  'The oldest message whose status can still advance, among the newest 1,000 sent messages of each connection and of the last seven days; the connector keeps asking the service for it. Null if there is none.';
const COVERED =
  "A time of the service's clock. Polling has seen every message created before it, so nothing older is missing. Null until a complete poll has found a message. It advances with the polls and moves back only if a clock was wrong and everything is read again.";

const lastPoll = z.object({
  startedAt: dateTime.describe("When the poll started, by the connector's clock."),
  ok: z.boolean().describe('Whether the poll succeeded; false while the same failure persists.'),
  error: z
    .string()
    .nullable()
    .describe(
      'Error code of the failure, such as `deadline`, or `stalled_list` if the pages of messages do not end; null if it succeeded.',
    ),
  notBefore: dateTime
    .nullable()
    .describe(
      'The earliest time of the next poll, because the service asked to wait or keeps failing. Null if polls run as usual.',
    ),
});

/** How far one connection is in sync with the service. */
export const connectionSync = z.object({
  connectionId: identifier.describe('The connection.'),
  coveredUntil: dateTime
    .nullable()
    .describe(
      `${COVERED} Earlier than that of the account while the connection is hidden or missed messages are being read.`,
    ),
  oldestOpenStatus: openStatus.nullable().describe(OPEN_STATUS),
  repaired,
  webhookHealth: webhookHealth.describe(`${HEALTH_WORDS} Only \`qr\` connections have webhooks.`),
  lastWebhookAt: dateTime
    .nullable()
    .describe(
      "When a webhook last changed something of this connection, by the connector's clock. Duplicates, polls and sends do not count. Derived from its newest messages and its last event. Null if there was none.",
    ),
});
export type ConnectionSync = z.infer<typeof connectionSync>;

/** How far one account is in sync with the service. */
export const accountSync = z.object({
  accountId,
  reauthRequired: z.boolean().describe('The grant has ended: polls wait until the customer consents again.'),
  coveredUntil: dateTime.nullable().describe(COVERED),
  openGaps: count.describe(
    'Time ranges that polling has not read yet because a poll was interrupted or a connection reappeared. 0 after a complete poll.',
  ),
  oldestOpenStatus: openStatus.nullable().describe(OPEN_STATUS),
  unresolvedStatuses: count.describe(
    'Messages of the last 37 days whose status has been open for more than seven days and is no longer checked.',
  ),
  lastPoll: lastPoll.nullable().describe('The most recent poll; null if there was none.'),
  pollOverdue: z
    .boolean()
    .describe(
      'Whether the next poll is late by more than the time between polls, although nothing prevents it: no process polls the account.',
    ),
  lastGoodPollAt: dateTime.nullable().describe('When a poll last succeeded; null if none has.'),
  repaired,
  undecidedRepairs: count.describe(
    'What polling found and no webhook has delivered yet, while one may still do so. It is counted in `repaired` or left out by the first poll after that.',
  ),
  statusConflicts: count.describe('Messages of the last seven days that were reported both read and failed.'),
  webhookHealth: webhookHealth.describe(`The worst value of its connections. ${HEALTH_WORDS}`),
  lastWebhookAt: dateTime.nullable().describe('The latest value of its connections; null if none.'),
  connections: z.array(connectionSync).describe('All connections of the account, by id.'),
});
export type AccountSync = z.infer<typeof accountSync>;

const OLDEST = 'null if none waits.';
const sendQueue = z
  .object({
    waiting: count.describe('How many are queued or running; 10,000 stands for that many or more.'),
    oldestAt: dateTime.nullable().describe(`When the oldest of them was queued; ${OLDEST}`),
  })
  .describe('The unfinished sends of all accounts.');

const dispatchQueue = z.object({
  waiting: count.describe('How many changes wait to be dispatched to the handler.'),
  oldestAt: dateTime.nullable().describe(`When the oldest of them was committed; ${OLDEST}`),
  deadLetters: count.describe(
    'How many changes the handler failed to process, as in `GET /v1/dead-letters`.',
  ),
});

/** Response of `GET /v1/sync`. */
export const syncStatus = z.object({
  accounts: z.array(accountSync).describe('Each requested account.'),
  sends: sendQueue,
  dispatch: dispatchQueue
    .nullable()
    .describe(
      "The queue of changes to the CRM's handler, for all accounts. Null if no handler has ever run.",
    ),
});
export type SyncStatus = z.infer<typeof syncStatus>;

/** Response of `POST /v1/sync`: the state afterwards, and what could not be polled. */
export const syncResult = syncStatus.extend({
  failed: z
    .array(
      z.object({
        accountId,
        error: z.string().describe('The error code that a request for this account alone returns.'),
        message: z.string().describe('The reason, for people.'),
      }),
    )
    .describe('The accounts that have not caught up, if others have. Empty if all have.'),
});

/** Body of `POST /v1/sync`. Without an account, all accounts are polled. */
export const syncRequest = z.strictObject({
  accountId: ofAccount.describe('The account to poll. If absent, all accounts.'),
});
export type SyncRequest = z.infer<typeof syncRequest>;

/** Response of `/healthz` and `/readyz`. It is public, so it contains nothing else. */
export const healthAnswer = z.object({
  ok: z.boolean().describe('True with 200, false with 503.'),
});
export type HealthAnswer = z.infer<typeof healthAnswer>;
