import { type IncomingMessage, request as openRequest } from 'node:http';
import { createEventParser } from '../../src/runtime/http-server/event-parser.ts';

/** A reader of server-sent events. */
export interface EventReader<Event> {
  readonly answer: IncomingMessage;
  /** All events so far, in order. */
  readonly events: readonly Event[];
  /** Resolves with the first matching event, past or future. Rejects if the stream ends before. */
  find(fits: (event: Event, place: number) => boolean): Promise<Event>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  /** Reads no more bytes until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens a stream; `read` parses the data of an event. Heartbeats are left out. */
export async function readEvents<Event>(
  url: string,
  read: (data: unknown) => Event,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventReader<Event>> {
  const request = openRequest(url, { headers: { ...headers, accept: 'text/event-stream' } });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject).end();
  });
  const events: Event[] = [];
  let waiters: (() => void)[] = [];
  let over = false;
  const parse = createEventParser();

  const notifyWaiters = (): void => {
    const notified = waiters;
    waiters = [];
    for (const waiter of notified) waiter();
  };
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    for (const { data } of parse(chunk)) {
      if (data !== undefined) events.push(read(JSON.parse(data)));
    }
    notifyWaiters();
  });
  const ended = new Promise<void>((resolve) => {
    answer.once('close', () => {
      over = true;
      notifyWaiters();
      resolve();
    });
  });
  answer.on('error', () => undefined);

  return {
    answer,
    events,
    ended,
    async find(fits) {
      for (let seen = 0; ; ) {
        for (; seen < events.length; seen += 1) {
          const event = events[seen];
          if (event !== undefined && fits(event, seen)) return event;
        }
        if (over) throw new Error('the stream ended without the event');
        await new Promise<void>((resolve) => waiters.push(resolve));
      }
    },
    pause: () => void answer.pause(),
    resume: () => void answer.resume(),
    close: () => void request.destroy(),
  };
}
