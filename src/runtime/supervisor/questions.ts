import type { Clock } from '../clock/clock.ts';

/** Requests to another process, each with a number that comes back in its reply. */
export interface Questions {
  /** Resolves with the reply to what `send` sends, or with undefined if none arrives in time. */
  ask(send: (request: number) => void): Promise<string | undefined>;
  /** A reply has arrived. A late or unknown reply is ignored. */
  answer(request: number, text: string): void;
}

export function createQuestions(clock: Clock, deadlineMs: number): Questions {
  const open = new Map<number, (text: string) => void>();
  let requests = 0;
  return {
    async ask(send) {
      requests += 1;
      const request = requests;
      const answered = Promise.withResolvers<string | undefined>();
      const cancel = clock.after(deadlineMs, () => answered.resolve(undefined));
      open.set(request, answered.resolve);
      send(request);
      try {
        return await answered.promise;
      } finally {
        cancel();
        open.delete(request);
      }
    },
    answer: (request, text) => open.get(request)?.(text),
  };
}
