import type { Clock } from '../clock/clock.ts';

/** Requests to another process, each with a number that comes back in its reply. */
export interface ProcessRequests {
  /** Resolves with the reply to what `transmit` sends, or with undefined if none arrives in time. */
  send(transmit: (request: number) => void): Promise<string | undefined>;
  /** A reply has arrived. A late or unknown reply is ignored. */
  resolve(request: number, text: string): void;
}

export function createProcessRequests(clock: Clock, deadlineMs: number): ProcessRequests {
  const open = new Map<number, (text: string) => void>();
  let last = 0;
  return {
    async send(transmit) {
      last += 1;
      const request = last;
      const answered = Promise.withResolvers<string | undefined>();
      const cancel = clock.after(deadlineMs, () => answered.resolve(undefined));
      open.set(request, answered.resolve);
      transmit(request);
      try {
        return await answered.promise;
      } finally {
        cancel();
        open.delete(request);
      }
    },
    resolve: (request, text) => open.get(request)?.(text),
  };
}
