import type { AccountCheckInput, CheckInput, ServiceCheckInput, StoreCheckInput } from './check-input.ts';
import { accountCheck } from './checks/account.ts';
import { answersCheck } from './checks/answers.ts';
import { clockCheck } from './checks/clock.ts';
import { connectorCheck } from './checks/connector.ts';
import { eventsCheck } from './checks/events.ts';
import { missedEventsCheck } from './checks/missed-events.ts';
import { pollsCheck } from './checks/polls.ts';
import { redisCheck } from './checks/redis.ts';
import { rightsCheck } from './checks/rights.ts';
import { scopesCheck } from './checks/scopes.ts';
import { sealingCheck } from './checks/sealing.ts';
import { signaturesCheck } from './checks/signatures.ts';
import { snapshotsCheck } from './checks/snapshots.ts';
import { webhookCheck } from './checks/webhook.ts';
import { webhookAddressCheck } from './checks/webhook-address.ts';
import { figureCheck } from './figure-check.ts';
import type { Check } from './finding.ts';

/* The checks of each kind, causes before their effects: the first problem in a report is the one to fix first. */

/** Need the database, with the tables of this version. */
export const STORE_CHECKS: readonly Check<StoreCheckInput>[] = [
  rightsCheck,
  figureCheck('connections'),
  snapshotsCheck,
  sealingCheck,
  accountCheck,
];

/** Need only the settings. */
export const PLAIN_CHECKS: readonly Check<CheckInput>[] = [redisCheck, connectorCheck];

/** Need the database; they come last because they show effects: work that does not proceed. */
export const WORK_CHECKS: readonly Check<StoreCheckInput>[] = [
  figureCheck('processes'),
  answersCheck,
  figureCheck('feed'),
  figureCheck('sends'),
  figureCheck('handler'),
  figureCheck('files'),
];

/** Call the service, for each account, after the check `service`. */
export const SERVICE_CHECKS: readonly Check<ServiceCheckInput>[] = [
  scopesCheck,
  clockCheck,
  webhookCheck,
  webhookAddressCheck,
  eventsCheck,
];

/** Need the database, for each account. */
export const ACCOUNT_CHECKS: readonly Check<AccountCheckInput>[] = [
  signaturesCheck,
  pollsCheck,
  figureCheck('reading'),
  missedEventsCheck,
  figureCheck('numbers'),
];
