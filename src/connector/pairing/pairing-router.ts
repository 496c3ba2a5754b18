import type { Request, RequestHandler, Response, Router } from 'express';
import type { PairingEvent } from '../../contract/connector/pairing.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { PairingWatches, WatchedConnection } from './pairing-watches.ts';

export interface PairingRouterOptions {
  readonly watches: PairingWatches;
  readonly clock: Clock;
  /** Passes only requests that are allowed to see QR codes. */
  readonly allow: RequestHandler;
  /** Finds the connection of a request. Throws what the error handler turns into a response. */
  readonly find: (request: Request) => Promise<WatchedConnection>;
  /**
   * The errors to throw instead of starting a stream: there are too many, its first event is late, or there
   * is nothing to see.
   */
  readonly refusals: {
    readonly tooMany: () => Error;
    /** The service did not respond in time. */
    readonly late: () => Error;
    /** Null if the event is sent in the stream. */
    readonly first: (event: PairingEvent) => Error | null;
  };
}

/** From the request to the start of the stream, whatever it waits for. */
const BEGIN_MS = 10_000;
/** An `EventSource` reconnects by itself, and each time the service is called. */
const COME_BACK_LATE = 'retry: 5000\n\n';

/**
 * Serves `GET /v1/connections/{id}/pairing`: QR codes as server-sent events until the number is connected. QR
 * codes are not logged: whoever has one can take over the number.
 */
export function createPairingRouter(options: PairingRouterOptions): Router {
  const router = strictRouter();
  router.get('/v1/connections/:id/pairing', options.allow, async (request, response) => {
    const deadline = new Deadline(options.clock, BEGIN_MS, { keepAlive: true });
    try {
      const connection = await deadline.within(options.find(request));
      // A stream without a body would never end.
      if (request.method === 'HEAD') response.type('text/event-stream').end();
      else await streamPairing(options, connection, { response, deadline });
    } finally {
      deadline.done();
    }
  });
  return router;
}

async function streamPairing(
  { watches, clock, refusals }: PairingRouterOptions,
  connection: WatchedConnection,
  { response, deadline }: { readonly response: Response; readonly deadline: Deadline },
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // The reader may already have disconnected.
  if (response.destroyed) return;
  const events = holdNewestEvent();
  const leave = watches.watch(connection, (event) => events.put(event));
  if (leave === null) throw refusals.tooMany();
  try {
    const first = await deadline.within(events.take(gone.signal)).catch((error: unknown) => {
      throw error instanceof DeadlinePassed ? refusals.late() : error;
    });
    deadline.done();
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
}

/**
 * Holds what a slow viewer has not received yet: only the newest event, because a QR code replaces the
 * previous one.
 */
interface NewestEvent {
  put(event: PairingEvent): void;
  /** The newest event that has not been received yet; waits for one. Null once `over` is aborted. */
  take(over: AbortSignal): Promise<PairingEvent | null>;
}

function holdNewestEvent(): NewestEvent {
  let held: PairingEvent | null = null;
  let wake = (): void => undefined;

  return {
    put(event) {
      held = event;
      wake();
    },
    async take(over) {
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
