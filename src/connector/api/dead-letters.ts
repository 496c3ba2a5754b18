import { readDeadLetters, removeDeadLetter, replayDeadLetter } from '../consumers/dead-letters.ts';
import { notFound } from './api-error.ts';
import { cutPage, DEAD_LETTER_KEY, decodeCursor } from './cursors.ts';
import type { ApiParts, Operations } from './operations.ts';

/** The operations of dead letters. */
export function operateDeadLetters({ database, clock, consumers }: ApiParts) {
  return {
    /** Newest change first. */
    async listDeadLetters({ query }) {
      const [seq, consumer] = decodeCursor(DEAD_LETTER_KEY, query.cursor) ?? [];
      const before = seq === undefined || consumer === undefined ? null : { seq, consumer };
      const letters = await readDeadLetters(database, before, query.limit + 1, query.consumer);
      const { page, nextCursor, hasMore } = cutPage(letters, query.limit, (letter) => [
        letter.change.seq,
        letter.consumer,
      ]);
      return { deadLetters: [...page], nextCursor, hasMore };
    },
    /** Hands the change to its consumer again, with the same key. */
    async replayDeadLetter({ id }) {
      const consumer = await replayDeadLetter(database, id, clock.now());
      if (consumer === null) throw notFound('dead letter');
      consumers.notify(consumer);
      return { ok: true };
    },
    async removeDeadLetter({ id }) {
      if (!(await removeDeadLetter(database, id))) throw notFound('dead letter');
      return { ok: true };
    },
  } satisfies Operations;
}
