import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';

/** Requests to another process, each with a number that comes back in its reply. */
export function createProcessRequests(clock: Clock, deadlineMs: number) {
  const open = new Map<number, (text: string) => void>();
  let last = 0;
  return {
    /** Resolves with the reply to what `transmit` sends, or with undefined if none arrives in time. */
    async send(transmit: (request: number) => void): Promise<string | undefined> {
      last += 1;
      const request = last;
      const answered = Promise.withResolvers<string>();
      open.set(request, answered.resolve);
      transmit(request);
      const reply = await within(clock, deadlineMs, answered.promise).catch(() => undefined);
      open.delete(request);
      return reply;
    },
    /** A reply has arrived. A late or unknown reply is ignored. */
    resolve: (request: number, text: string) => open.get(request)?.(text),
  };
}
