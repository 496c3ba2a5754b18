import type { Account } from '../accounts/account-store.ts';
import { type CredentialOptions, clientOf } from '../accounts/credential-source.ts';
import type { PollState } from '../accounts/poll-state.ts';
import type { KnownVersions } from '../db/connection-listing.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { KnownBeforePoll } from './progress.ts';
import { dueHorizon, HORIZONS } from './sweep-statuses.ts';

/** What a poll that changed nothing had before it. */
export interface SettledPoll {
  /** The answers of the service and the rows of the account: see `seenBy`. */
  readonly seen: string;
  /** As this poll stored it. */
  readonly lastGoodAt: number;
}

/**
 * The polls of this process that changed nothing, by account. A poll with the same answers has nothing to store, so
 * it neither validates nor merges them, under these conditions:
 *
 * - The rows of connections have the versions that they had then. Every writer raises the version, so their merge,
 *   which changed nothing, would change nothing again. Statuses and fields of messages only move forward, so a
 *   webhook or a send that changed a message cannot be undone by merging the older answer again.
 * - `lastGoodAt` is the value that this process stored: no other process has polled since, and the database was
 *   neither restored nor failed over to a state before it.
 * - Nothing else is due: no gap, except of hidden connections, sweep, judgement of repairs, failure or full sweep. The
 *   sweep of the last hour is due every ten minutes, so at least then everything is merged again.
 */
export type SettledPolls = Map<string, SettledPoll>;

/**
 * What a poll sees, as one value to compare: digests of the answers, the versions of the rows that a listing may change,
 * the watermark, and the connections with gaps (none of them was listed, so there was nothing to read).
 */
export function seenBy(
  answers: readonly string[],
  known: KnownVersions,
  { coverage, visibility }: KnownBeforePoll,
): string {
  const versions = [...known].map((row) => row.join(' ')).sort();
  return JSON.stringify([answers, versions, coverage.watermark, visibility.map(({ slot }) => slot)]);
}

/** True if nothing but the newest answers can give a poll something to do. Times are epoch milliseconds. */
export function isNothingDue(
  state: PollState,
  progress: KnownBeforePoll,
  { now, latest }: { readonly now: number; readonly latest: number },
): boolean {
  if (state.failures > 0 || state.needsFullSweep || state.lastGoodAt === null || progress.repairsWait)
    return false;
  const gaps = progress.coverage.gaps.length + progress.sweeps.length;
  if (gaps > 0 || dueHorizon(progress.swept, { at: now, reference: latest }) !== HORIZONS[0]) return false;
  const { watermark } = progress.coverage;
  return watermark !== null && watermark <= latest;
}

export type PollMemory = ReturnType<typeof createPollMemory>;

/** What a process keeps between the polls of its accounts. Nothing depends on it but time. */
export function createPollMemory() {
  const settled: SettledPolls = new Map();
  const clients = new Map<string, { readonly of: string; readonly client: ServiceClient }>();
  return {
    settled,
    /** The client of an account; the same one as long as its API key and address are the same. */
    clientOf(options: CredentialOptions, account: Account): ServiceClient {
      // The token of a grant changes.
      if (account.kind !== 'api_key') return clientOf(options, account);
      const of = [account.createdAt, account.credentialVersion, account.network, account.baseUrl].join(' ');
      const known = clients.get(account.id);
      if (known?.of === of) return known.client;
      const client = clientOf(options, account);
      clients.set(account.id, { of, client });
      return client;
    },
    forget(accountId: string): void {
      settled.delete(accountId);
      clients.delete(accountId);
    },
  };
}
