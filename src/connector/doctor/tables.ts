import { answerTimes } from './checks/answer-times.ts';
import { configuredAccount } from './checks/configured-account.ts';
import { databaseConnections } from './checks/database-connections.ts';
import { databaseRights } from './checks/database-rights.ts';
import { dispatchLag } from './checks/dispatch-lag.ts';
import { eventTypes } from './checks/event-types.ts';
import { feedNumbering } from './checks/feed-numbering.ts';
import { liveProcesses } from './checks/live-processes.ts';
import { missedEvents } from './checks/missed-events.ts';
import { numbers } from './checks/numbers.ts';
import { polls } from './checks/polls.ts';
import { redisStore } from './checks/redis-store.ts';
import { runningConnector } from './checks/running-connector.ts';
import { scopes } from './checks/scopes.ts';
import { sealedSecrets } from './checks/sealed-secrets.ts';
import { sendQueues } from './checks/send-queues.ts';
import { serviceAnswers } from './checks/service-answers.ts';
import { serviceClock } from './checks/service-clock.ts';
import { signatures } from './checks/signatures.ts';
import { webhookReachable } from './checks/webhook-reachable.ts';
import { webhookRegistration } from './checks/webhook-registration.ts';
import type { AccountFacts, Facts, ServiceFacts, StoreFacts } from './facts.ts';
import type { Check } from './finding.ts';

/*
 * The checks, in the order in which causes come before what they cause: who reads from the top finds the cause
 * first.
 */

/** Need the tables of this version. */
export const STORE_CHECKS: readonly Check<StoreFacts>[] = [
  databaseRights,
  databaseConnections,
  sealedSecrets,
  configuredAccount,
];

/** Need settings alone. */
export const PLAIN_CHECKS: readonly Check<Facts>[] = [redisStore, runningConnector];

/** Need the tables, and tell how the work goes. */
export const WORK_CHECKS: readonly Check<StoreFacts>[] = [
  liveProcesses,
  answerTimes,
  feedNumbering,
  sendQueues,
  dispatchLag,
];

/** Asked of the service, for each account. The first one says whether the others can be. */
export const SERVICE_CHECKS: readonly Check<ServiceFacts>[] = [
  serviceAnswers,
  scopes,
  serviceClock,
  webhookRegistration,
  webhookReachable,
  eventTypes,
];

/** Read from the tables, for each account. */
export const ACCOUNT_CHECKS: readonly Check<AccountFacts>[] = [signatures, polls, missedEvents, numbers];
