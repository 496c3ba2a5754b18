import { type Request, type Response, Router } from 'express';
import type { PairingEvent } from '../../contract/connector/pairing.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { holdNewestEvent, type NewestEvent } from './newest-event.ts';
import type { PairingWatches, WatchedConnection } from './pairing-watches.ts';

export interface PairingRouterOptions {
  readonly watches: PairingWatches;
  readonly clock: Clock;
  /** Finds the connection that a request is about. Throws what the error handler behind answers. */
  readonly find: (request: Request) => Promise<WatchedConnection>;
  /** What to throw in place of a stream: there are too many, or the first event says that there is nothing to see. */
  readonly refusals: {
    readonly tooMany: () => Error;
    /** Null: the event goes into a stream. */
    readonly first: (event: PairingEvent) => Error | null;
  };
}

/**
 * Serves `GET /v1/connections/{id}/pairing`: pictures as server-sent events until the number is connected. Mount it
 * behind the check of the token. Nothing of a picture is logged: whoever has it can take the number over.
 */
export function createPairingRouter(options: PairingRouterOptions): Router {
  const router = Router();
  router.get('/v1/connections/:id/pairing', async (request, response, next) => {
    // A stream without its body would never end.
    if (request.method !== 'GET') return next();
    await streamPairing(options, request, response);
  });
  return router;
}

async function streamPairing(
  { watches, clock, find, refusals }: PairingRouterOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const connection = await find(request);
  const events = holdNewestEvent();
  const leave = watches.look(connection, (event) => events.put(event));
  if (leave === null) throw refusals.tooMany();
  try {
    const first = await events.take(gone.signal);
    if (first === null) return;
    const refusal = refusals.first(first);
    if (refusal !== null) throw refusal;
    await write(response, clock, first, events);
  } finally {
    leave();
  }
}

async function write(
  response: Response,
  clock: Clock,
  first: PairingEvent,
  events: NewestEvent,
): Promise<void> {
  // Watches end streams with an event of their own.
  const stream = openEventStream(response, { clock, ending: new AbortController().signal });
  try {
    for (let event: PairingEvent | null = first; event !== null; event = await events.take(stream.over)) {
      await stream.write(`data: ${JSON.stringify(event)}\n\n`);
      if (event.type === 'connected' || event.type === 'ended') return;
    }
  } finally {
    stream.end();
  }
}
