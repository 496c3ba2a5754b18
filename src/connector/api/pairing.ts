import type { Request, RequestHandler, Response, Router } from 'express';
import { accountQuery } from '../../contract/connector/lists.ts';
import type { PairingEvent } from '../../contract/connector/pairing.ts';
import { Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { PairingWatches, WatchedConnection } from '../pairing/pairing-watches.ts';
import { ApiError, notFound, RETRY_AFTER_MS } from './api-error.ts';
import { follow, noteDeleted } from './connection-life.ts';
import type { ApiParts } from './operations.ts';
import { readId, readInput } from './read-input.ts';
import { findTarget } from './service-target.ts';

export interface PairingOptions extends ApiParts {
  readonly watches: PairingWatches;
  /** Passes only requests that are allowed to see QR codes. */
  readonly allow: RequestHandler;
}

/** From the request to the start of the stream, whatever it waits for. */
const BEGIN_MS = 10_000;
/** An `EventSource` reconnects by itself, and each time the service is called. */
const COME_BACK_LATE = 'retry: 5000\n\n';

/**
 * Serves `GET /v1/connections/{id}/pairing`: QR codes as server-sent events until the number is connected. QR
 * codes are not logged: whoever has one can take over the number.
 */
export function routePairing(options: PairingOptions): Router {
  const router = strictRouter();
  router.get('/v1/connections/:id/pairing', options.allow, async (request, response) => {
    const deadline = new Deadline(options.clock, BEGIN_MS, { keepAlive: true });
    try {
      const connection = await deadline.within(findWatched(options, request));
      // A stream without a body would never end.
      if (request.method === 'HEAD') response.type('text/event-stream').end();
      else await streamPairing(options, connection, { response, deadline });
    } finally {
      deadline.done();
    }
  });
  return router;
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

async function streamPairing(
  { watches, clock }: PairingOptions,
  connection: WatchedConnection,
  { response, deadline }: { readonly response: Response; readonly deadline: Deadline },
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const events = holdNewestEvent();
  const leave = watches.watch(connection, (event) => events.put(event));
  if (leave === null) throw unavailable('Too many pairing streams are open; retry after `Retry-After`.');
  try {
    const first = await deadline.within(events.take(gone.signal)).catch((error: unknown) => {
      throw error instanceof DeadlinePassed ? unavailable('The service did not respond within 10 s.') : error;
    });
    deadline.done();
    if (first === null) return;
    const refusal = refuseAtFirst(first);
    if (refusal !== null) throw refusal;
    // Watches end streams with their own event.
    const stream = openEventStream(response, { clock, ending: new AbortController().signal });
    try {
      for (let event: PairingEvent | null = first; event !== null; event = await events.take(stream.over)) {
        const isLast = event.type === 'connected' || event.type === 'ended';
        await stream.write(`${isLast ? COME_BACK_LATE : ''}data: ${JSON.stringify(event)}\n\n`);
        if (isLast) return;
      }
    } finally {
      stream.end();
    }
  } finally {
    leave();
  }
}

function unavailable(message: string): ApiError {
  return new ApiError('unavailable', message, RETRY_AFTER_MS.service);
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

/**
 * Holds what a slow viewer has not received yet: only the newest event, because a QR code replaces the
 * previous one.
 */
function holdNewestEvent() {
  let held: PairingEvent | null = null;
  let wake = (): void => undefined;

  return {
    put(event: PairingEvent): void {
      held = event;
      wake();
    },
    /** The newest event that has not been received yet; waits for one. Null once `over` is aborted. */
    async take(over: AbortSignal): Promise<PairingEvent | null> {
      while (held === null && !over.aborted) {
        await new Promise<void>((resolve) => {
          wake = () => {
            over.removeEventListener('abort', wake);
            resolve();
          };
          over.addEventListener('abort', wake, { once: true });
        });
      }
      const event = held;
      held = null;
      return over.aborted ? null : event;
    },
  };
}
