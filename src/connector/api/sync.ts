import type { SyncStatus } from '../../contract/connector/sync.ts';
import { toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { readAccounts } from '../accounts/account-store.ts';
import type { SyncOutcome } from '../reconcile/reconciler.ts';
import { reportSync } from '../state/sync-report.ts';
import { ApiError, notFound } from './api-error.ts';
import type { ApiParts, Operations } from './operations.ts';
import { consentRequired } from './service-failure.ts';

/** `GET` and `POST /v1/sync`. */
export function operateSync(parts: ApiParts) {
  const { database, reconciler, feed } = parts;
  return {
    getSync: ({ query }) => report(parts, query.accountId),
    /** Responds when everything has been read and the changes are in the feed. */
    async syncNow({ body }) {
      const accounts = await readAccounts(database);
      const chosen = accounts.filter(({ id }) => body?.accountId === undefined || id === body.accountId);
      if (body?.accountId !== undefined && chosen.length === 0) throw notFound('account');
      const outcomes = await Promise.all(chosen.map(({ id }) => reconciler.syncNow(id)));
      await feed.settle();
      const errors = outcomes.map(explainUnclosed);
      const failed = chosen.flatMap(({ id }, index) => {
        const error = errors[index];
        return error == null ? [] : [{ accountId: id, error: error.code, message: error.message }];
      });
      const [first] = errors.filter((error) => error !== null);
      if (first !== undefined && failed.length === chosen.length) throw first;
      return { ...(await report(parts, body?.accountId)), failed };
    },
  } satisfies Operations;
}

async function report(parts: ApiParts, accountId: string | undefined): Promise<SyncStatus> {
  const accounts = await reportSync(parts, accountId);
  if (accounts === undefined) throw notFound('account');
  const sends = await parts.facts.sends();
  const dispatch = (await parts.facts.consumers()).find(({ kind }) => kind === 'handler') ?? null;
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
