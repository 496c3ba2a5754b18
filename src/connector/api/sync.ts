import type { SyncStatus } from '../../contract/connector/sync.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Database } from '../../runtime/database/database.ts';
import { readAccounts } from '../accounts/account-store.ts';
import type { Reconciler, SyncOutcome } from '../reconcile/reconciler.ts';
import type { Facts } from '../state/facts.ts';
import { reportSync } from '../state/sync-report.ts';
import { ApiError, notFound } from './api-error.ts';
import type { Operation } from './operations.ts';
import { consentRequired } from './service-failure.ts';

export interface SyncOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly reconciler: Reconciler;
  readonly facts: Pick<Facts, 'sends' | 'consumers'>;
  /** Resolves when the changes of the poll can be read from the feed. */
  readonly settleFeed: () => Promise<void>;
}

/** `GET /v1/sync`. */
export function getSync(options: SyncOptions): Operation<'getSync'> {
  return async ({ query }) => await report(options, query.accountId);
}

/** `POST /v1/sync`: responds when everything has been read and the changes are in the feed. */
export function syncNow(options: SyncOptions): Operation<'syncNow'> {
  const { database, reconciler, settleFeed } = options;
  return async ({ body }) => {
    const accounts = await readAccounts(database);
    const chosen = accounts.filter(({ id }) => body?.accountId === undefined || id === body.accountId);
    if (body?.accountId !== undefined && chosen.length === 0) throw notFound('account');
    const outcomes = await Promise.all(chosen.map(({ id }) => reconciler.syncNow(id)));
    await settleFeed();
    const errors = outcomes.map(explainUnclosed);
    const failed = chosen.flatMap(({ id }, index) => {
      const error = errors[index];
      return error == null ? [] : [{ accountId: id, error: error.code, message: error.message }];
    });
    const [first] = errors.filter((error) => error !== null);
    if (first !== undefined && failed.length === chosen.length) throw first;
    return { ...(await report(options, body?.accountId)), failed };
  };
}

async function report(options: SyncOptions, accountId: string | undefined): Promise<SyncStatus> {
  const accounts = await reportSync(options, accountId);
  if (accounts === undefined) throw notFound('account');
  const sends = await options.facts.sends();
  const dispatch = (await options.facts.consumers()).find(({ kind }) => kind === 'handler') ?? null;
  return {
    accounts,
    sends: { ...sends, oldestAt: toIsoOrNull(sends.oldestAt) },
    dispatch: dispatch && {
      waiting: dispatch.waiting,
      oldestAt: toIsoOrNull(dispatch.oldestAt),
      deadLetters: dispatch.deadLetters,
    },
  };
}

/** Why an account has not caught up; null if it has. */
function explainUnclosed(outcome: SyncOutcome): ApiError | null {
  switch (outcome.kind) {
    case 'closed':
    case 'idle':
      return null;
    case 'unfinished':
      return new ApiError('sync_unfinished', 'Not everything has been read yet; polling continues.');
    case 'rate_limited':
      return new ApiError(
        'rate_limited',
        'The service asked to wait; see Retry-After.',
        outcome.retryAfterMs,
      );
    case 'stalled':
      return new ApiError(
        'service_refused',
        'The list of messages of the service does not end, or its cursors are rejected, so only the newest messages can be read; polling continues.',
      );
    case 'refused':
      if (outcome.code === 'reauth_required') return consentRequired();
      return new ApiError('service_refused', `The service rejected the poll: ${outcome.code}.`);
    case 'unreachable':
      return new ApiError('service_unreachable', `The service does not respond: ${outcome.code}.`);
  }
}
