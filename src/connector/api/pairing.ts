import type { Request, RequestHandler, Router } from 'express';
import { accountQuery } from '../../contract/connector/lists.ts';
import type { PairingEvent } from '../../contract/connector/pairing.ts';
import { createPairingRouter } from '../pairing/pairing-router.ts';
import type { PairingWatches, WatchedConnection } from '../pairing/pairing-watches.ts';
import { ApiError, notFound } from './api-error.ts';
import { type ConnectionLifeOptions, follow, noteDeleted } from './connection-life.ts';
import { readId, readInput } from './read-input.ts';
import { findTarget } from './service-target.ts';

const RETRY_AFTER_MS = 5_000;

export interface PairingOptions extends ConnectionLifeOptions {
  readonly watches: PairingWatches;
  /** Lets only those pass who may see pictures. */
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
      tooMany: () => new ApiError('unavailable', 'Too many pairings are looked at.', RETRY_AFTER_MS),
      late: () => new ApiError('unavailable', 'The service did not answer within 10 s.', RETRY_AFTER_MS),
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
      // The others say nothing that the mirror does not know.
      if (how === 'connected' || how === 'disconnected') await follow(options, { accountId, client }, id);
    },
  };
}

/** What is clear from the first answer of the service is told by the status, before a stream is opened. */
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
      return new ApiError('unavailable', event.message, RETRY_AFTER_MS);
    default:
      return null;
  }
}
