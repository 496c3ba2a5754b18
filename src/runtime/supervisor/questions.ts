import type { Clock } from '../clock/clock.ts';

/** Questions to another process, each with a number that comes back with its answer. */
export interface Questions {
  /** Resolves with the answer to what `send` sends; with undefined when none comes in time. */
  ask(send: (request: number) => void): Promise<string | undefined>;
  /** An answer came. One that is late, or was never asked for, does nothing. */
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
