import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId, ofAccount } from './lists.ts';

const count = z.int().min(0);

/** What polling brought that no webhook had brought 40 s later. */
const repaired = z
  .object({
    messages: count.describe('Incoming messages.'),
    statuses: count.describe('Statuses of outgoing messages.'),
  })
  .describe(
    'What polling brought and no webhook had brought 40 s later, since the connector began. `qr` connections only.',
  );

export const WEBHOOK_HEALTH = ['healthy', 'lossy', 'silent', 'unknown'] as const;
const webhookHealth = z.enum(WEBHOOK_HEALTH);
const HEALTH_WORDS =
  '`healthy`: webhooks come, and polling repaired nothing within 24 h. `lossy`: polling had to repair something within 24 h. `silent`: the same, and no webhook ever came. `unknown`: there is nothing to judge by.';
export type WebhookHealth = z.infer<typeof webhookHealth>;

const openStatus = z.object({
  messageId: identifier.describe('The message.'),
  connectionId: identifier.describe('The connection that sent it.'),
  createdAt: dateTime.describe("The service's time of the message."),
});
const OPEN_STATUS =
  'The oldest message of the last seven days whose status may still rise: the service is asked for it again and again. Null: none.';
const COVERED =
  'A time of the service. Every message created before it has been seen by polling, so nothing older is missing here. Null: no poll has read to the end yet. It rises with the polls, and falls only when a clock was wrong and everything is read again.';

const lastPoll = z.object({
  startedAt: dateTime.describe('When it began, by the clock of the connector.'),
  ok: z.boolean().describe('Whether it went well; false as long as the same failure goes on.'),
  error: z.string().nullable().describe('Code of the failure, such as `service_unreachable`; null: none.'),
  notBefore: dateTime
    .nullable()
    .describe(
      'The next poll waits until then, since the service asked for it or fails. Null: polls come as usual.',
    ),
});

/** How far one connection is in step with the service. */
export const connectionSync = z.object({
  connectionId: identifier.describe('The connection.'),
  coveredUntil: dateTime
    .nullable()
    .describe(
      `${COVERED} Behind that of the account while the connection is hidden, or what it missed is being read.`,
    ),
  oldestOpenStatus: openStatus.nullable().describe(OPEN_STATUS),
  repaired,
  webhookHealth: webhookHealth.describe(`${HEALTH_WORDS} Only \`qr\` connections have webhooks.`),
  lastWebhookAt: dateTime
    .nullable()
    .describe(
      'When a webhook last brought something of it, by the clock of the connector; copies, polls and sends do not count. Goes by its newest messages and its last event. Null: none came.',
    ),
});
export type ConnectionSync = z.infer<typeof connectionSync>;

/** How far one account is in step with the service. */
export const accountSync = z.object({
  accountId,
  reauthRequired: z.boolean().describe('Its grant has ended: polls wait until the customer consents again.'),
  coveredUntil: dateTime.nullable().describe(COVERED),
  openGaps: count.describe(
    'Stretches of time that a poll has not read yet, since a walk was cut short or a connection came back. 0 after a whole poll.',
  ),
  oldestOpenStatus: openStatus.nullable().describe(OPEN_STATUS),
  unresolvedStatuses: count.describe('Open for more than seven days; no longer swept.'),
  lastPoll: lastPoll.nullable().describe('The poll that began last; null: none has.'),
  lastGoodPollAt: dateTime.nullable().describe('When a poll last ended well; null: none has.'),
  repaired,
  statusConflicts: count.describe('Messages of the last seven days that were told both read and failed.'),
  webhookHealth: webhookHealth.describe(`The worst of its connections. ${HEALTH_WORDS}`),
  lastWebhookAt: dateTime.nullable().describe('The latest of its connections; null: none came.'),
  connections: z.array(connectionSync).describe('All connections of the account, by id.'),
});
export type AccountSync = z.infer<typeof accountSync>;

/** Answer of `GET /v1/sync`, and of `POST /v1/sync` once the gap is closed. */
export const syncStatus = z.object({
  accounts: z.array(accountSync).describe('Each account that was asked for.'),
});
export type SyncStatus = z.infer<typeof syncStatus>;

/** Body of `POST /v1/sync`; without an account all of them are polled. */
export const syncRequest = z.strictObject({
  accountId: ofAccount.describe('The account to poll. Absent: all of them.'),
});
export type SyncRequest = z.infer<typeof syncRequest>;

/** Answer of `/healthz` and `/readyz`. Strangers may ask, so it says no more. */
export const healthAnswer = z.object({
  ok: z.boolean().describe('True with 200, false with 503.'),
});
export type HealthAnswer = z.infer<typeof healthAnswer>;
