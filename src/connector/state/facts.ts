import type { Clock } from '../../runtime/clock/clock.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readQuotas } from '../accounts/quota.ts';
import { readDeadLetters } from '../consumers/dead-letters.ts';
import { readWaitingFiles } from '../db/media-copies.ts';
import { readLateSends, readWaitingSends } from '../outbox/due-queues.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { readProgress } from '../reconcile/progress.ts';
import { readTallies } from './deliveries.ts';
import {
  countConnections,
  countDoubtfulCreations,
  countGrants,
  listAbandonedCreations,
  listNumbers,
  listSendQueues,
  readConsumerFigures,
  readDuePolls,
  readFailedSends,
  readFeed,
  readWorkers,
} from './figures.ts';
import { readOldestSnapshot, readSessions } from './server-sessions.ts';

const DAY_MS = 24 * 3_600_000;
const MAX_CREATIONS = 100;
const MAX_LETTERS = 100;

export interface FactsOptions {
  readonly database: Queryable;
  readonly clock: Pick<Clock, 'now'>;
  /** What this process knows of its queues, which makes reading them cheaper. */
  readonly outbox?: Pick<Outbox, 'readKnown'> | undefined;
  /** The subscription of the OAuth app, if there is one. */
  readonly app?: string | undefined;
  /** The account that facts about one account are about. */
  readonly account?: { readonly id: string; readonly subscriptionId: string } | undefined;
}

/** What the figures are read from. Calls at the same time share one read. Each throws as `query` does. */
export function createFacts({ database: db, clock, outbox, app, account }: FactsOptions) {
  const known = async () => (await outbox?.readKnown()) ?? null;
  const { id, subscriptionId } = account ?? { id: '', subscriptionId: '' };
  const lately = () => clock.now() - DAY_MS;
  return {
    now: () => clock.now(),
    sessions: shareReads(() => readSessions(db, clock.now())),
    snapshot: shareReads(() => readOldestSnapshot(db)),
    workers: shareReads(() => readWorkers(db)),
    polls: shareReads(() => readDuePolls(db, clock.now(), app)),
    feed: shareReads(() => readFeed(db)),
    sends: shareReads(async () => readWaitingSends(db, await known())),
    lateSends: shareReads(async () => readLateSends(db, await known(), clock.now())),
    queues: shareReads(() => listSendQueues(db)),
    failedSends: shareReads(() => readFailedSends(db, lately())),
    consumers: shareReads(() => readConsumerFigures(db)),
    letters: shareReads(() => readDeadLetters(db, null, MAX_LETTERS)),
    files: shareReads(() => readWaitingFiles(db)),
    creations: shareReads(() => countDoubtfulCreations(db)),
    grants: shareReads(() => countGrants(db)),
    connections: shareReads(() => countConnections(db, clock.now())),
    quotas: shareReads(() => readQuotas(db)),
    // Of one account.
    numbers: shareReads(() => listNumbers(db, id, clock.now())),
    abandoned: shareReads(() => listAbandonedCreations(db, id, clock.now() - 30 * DAY_MS, MAX_CREATIONS)),
    quota: async () => (await readQuotas(db)).find(({ accountId }) => accountId === id),
    tallies: shareReads(() => readTallies(db, lately(), subscriptionId)),
    unreadDays: shareReads(async () => (await readProgress(db, id)).unread),
  };
}

export type Facts = ReturnType<typeof createFacts>;
