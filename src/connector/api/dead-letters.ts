import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { readDeadLetters, removeDeadLetter, replayDeadLetter } from '../consumers/dead-letters.ts';
import { notFound } from './api-error.ts';
import { cutPage, DEAD_LETTER_KEY, decodeCursor } from './cursors.ts';
import type { Operation } from './operations.ts';

/** `GET /v1/dead-letters`, newest change first. */
export function listDeadLetters(database: Database): Operation<'listDeadLetters'> {
  return async ({ query }) => {
    const [seq, consumer] = decodeCursor(DEAD_LETTER_KEY, query.cursor) ?? [];
    const before = seq === undefined || consumer === undefined ? null : { seq, consumer };
    const letters = await readDeadLetters(database, before, query.limit + 1, query.consumer);
    const { page, nextCursor, hasMore } = cutPage(letters, query.limit, (letter) => [
      letter.change.seq,
      letter.consumer,
    ]);
    return { deadLetters: [...page], nextCursor, hasMore };
  };
}

/** `POST /v1/dead-letters/{id}/replay`: hands the change to its consumer again, with the same key. */
export function replayLetter(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly notify: (consumer: string) => void;
}): Operation<'replayDeadLetter'> {
  return async ({ id }) => {
    const consumer = await replayDeadLetter(options.database, id, options.clock.now());
    if (consumer === null) throw notFound('dead letter');
    options.notify(consumer);
    return { ok: true };
  };
}

/** `DELETE /v1/dead-letters/{id}`. */
export function removeLetter(database: Database): Operation<'removeDeadLetter'> {
  return async ({ id }) => {
    if (!(await removeDeadLetter(database, id))) throw notFound('dead letter');
    return { ok: true };
  };
}
