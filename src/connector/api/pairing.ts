import type { Request, RequestHandler, Router } from 'express';
import { accountQuery } from '../../contract/connector/lists.ts';
import type { PairingEvent } from '../../contract/connector/pairing.ts';
import { createPairingRouter } from '../pairing/pairing-router.ts';
import type { PairingWatches, WatchedConnection } from '../pairing/pairing-watches.ts';
import { ApiError, notFound, RETRY_AFTER_MS } from './api-error.ts';
import { type ConnectionLifeOptions, follow, noteDeleted } from './connection-life.ts';
import { readId, readInput } from './read-input.ts';
import { findTarget } from './service-target.ts';

export interface PairingOptions extends ConnectionLifeOptions {
  readonly watches: PairingWatches;
  /** Passes only requests that are allowed to see QR codes. */
  readonly allow: RequestHandler;
}

/** `GET /v1/connections/{id}/pairing`. */
export function routePairing(options: PairingOptions): Router {
  return createPairingRouter({
    watches: options.watches,
    clock: options.clock,
    allow: options.allow,
    find: (request) => findWatched(options, request),
    refusals: {
      tooMany: () =>
        new ApiError(
          'unavailable',
          'Too many pairing streams are open; retry after `Retry-After`.',
          RETRY_AFTER_MS.service,
        ),
      late: () =>
        new ApiError('unavailable', 'The service did not respond within 10 s.', RETRY_AFTER_MS.service),
      first: refuseAtFirst,
    },
  });
}

async function findWatched(options: PairingOptions, request: Request): Promise<WatchedConnection> {
  const id = readId(request.params['id']);
  const query = readInput(accountQuery, request.query, 'query') as { readonly accountId?: string };
  const { accountId, client } = await findTarget(options, id, query.accountId);
  return {
    id,
    read: (signal) => client.getConnection(id, signal),
    async onEnd(result) {
      const how = result.next === 'stop' ? result.reason : result.next;
      if (how === 'not_found') await noteDeleted(options, accountId, id);
      // All other fields are in the mirror.
      if (how === 'connected' || how === 'disconnected') await follow(options, { accountId, client }, id);
    },
  };
}

/** Errors in the first response of the service set the status, before a stream is opened. */
function refuseAtFirst(event: PairingEvent): ApiError | null {
  if (event.type !== 'ended') return null;
  switch (event.reason) {
    case 'not_found':
      return notFound('connection');
    case 'not_supported_for_provider':
      return new ApiError('not_supported_for_provider', event.message);
    case 'refused':
      return new ApiError('service_refused', event.message);
    case 'closing':
      return new ApiError('unavailable', event.message, RETRY_AFTER_MS.service);
    default:
      return null;
  }
}
