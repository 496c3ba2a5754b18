import type { Database } from '../../runtime/database/database.ts';
import { readDeadLetters, removeDeadLetter, replayDeadLetter } from '../dispatch/dead-letters.ts';
import { notFound } from './api-error.ts';
import { cutPage, DEAD_LETTER_KEY, decodeCursor } from './cursors.ts';
import type { Operation } from './operations.ts';

/** `GET /v1/dead-letters`, newest change first. */
export function listDeadLetters(database: Database): Operation<'listDeadLetters'> {
  return async ({ query }) => {
    const [before] = decodeCursor(DEAD_LETTER_KEY, query.cursor) ?? [null];
    const letters = await readDeadLetters(database, before, query.limit + 1);
    const { page, nextCursor, hasMore } = cutPage(letters, query.limit, ({ change }) => [change.seq]);
    return { deadLetters: [...page], nextCursor, hasMore };
  };
}

/** `POST /v1/dead-letters/{id}/replay`: dispatches the change to the handler again, with the same key. */
export function replayLetter(options: {
  readonly database: Database;
  readonly notify: (connectionId: string) => void;
}): Operation<'replayDeadLetter'> {
  return async ({ id }) => {
    const connectionId = await replayDeadLetter(options.database, id);
    if (connectionId === null) throw notFound('dead letter');
    options.notify(connectionId);
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
