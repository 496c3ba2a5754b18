import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId } from './lists.ts';

const count = z.int().min(0);

/** What polling brought that no webhook had brought 40 s later. */
const repaired = z.object({ messages: count, statuses: count });

/**
 * `healthy`; `lossy` (polling had to repair something lately); `silent` (nothing came although messages
 * did); `unknown` (nothing to judge by).
 */
export const WEBHOOK_HEALTH = ['healthy', 'lossy', 'silent', 'unknown'] as const;
const webhookHealth = z.enum(WEBHOOK_HEALTH);
export type WebhookHealth = z.infer<typeof webhookHealth>;

const openStatus = z.object({ messageId: identifier, connectionId: identifier, createdAt: dateTime });

const lastPoll = z.object({
  startedAt: dateTime,
  ok: z.boolean(),
  error: z.string().nullable().describe('Code of the failure.'),
  notBefore: dateTime.nullable().describe('The next poll waits until then.'),
});

/** How far one connection is in step with the service. */
export const connectionSync = z.object({
  connectionId: identifier,
  coveredUntil: dateTime.nullable().describe('Every message created before has been seen by polling.'),
  oldestOpenStatus: openStatus.nullable(),
  repaired,
  webhookHealth,
  lastWebhookAt: dateTime.nullable(),
});
export type ConnectionSync = z.infer<typeof connectionSync>;

/** How far one account is in step with the service. */
export const accountSync = z.object({
  accountId,
  reauthRequired: z.boolean().describe('Its grant has ended: polls wait until the customer consents again.'),
  coveredUntil: dateTime.nullable().describe('Every message created before has been seen by polling.'),
  openGaps: count,
  oldestOpenStatus: openStatus.nullable(),
  unresolvedStatuses: count.describe('Open for more than seven days; no longer swept.'),
  lastPoll: lastPoll.nullable(),
  lastGoodPollAt: dateTime.nullable(),
  repaired,
  statusConflicts: count.describe('Messages that were told both read and failed.'),
  webhookHealth,
  lastWebhookAt: dateTime.nullable(),
  connections: z.array(connectionSync),
});
export type AccountSync = z.infer<typeof accountSync>;

/** Answer of `GET /v1/sync`, and of `POST /v1/sync` once the gap is closed. */
export const syncStatus = z.object({ accounts: z.array(accountSync) });
export type SyncStatus = z.infer<typeof syncStatus>;

/** Body of `POST /v1/sync`; without an account all of them are polled. */
export const syncRequest = z.strictObject({ accountId: accountId.optional() });
export type SyncRequest = z.infer<typeof syncRequest>;

/** Answer of `/healthz` and `/readyz`. Strangers may ask, so it says no more. */
export const healthAnswer = z.object({ ok: z.boolean() });
export type HealthAnswer = z.infer<typeof healthAnswer>;
