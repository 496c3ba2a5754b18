import type { Database } from '../../runtime/database/database.ts';
import { TRACE_KEY } from '../trace/place.ts';
import { traceMessage } from '../trace/trace-message.ts';
import { notFound } from './api-error.ts';
import { decodeCursor, encodeCursor } from './cursors.ts';
import type { Operation } from './operations.ts';

/** `GET /v1/messages/{id}/trace`: what touched a message, oldest first. */
export function getMessageTrace(database: Database): Operation<'getMessageTrace'> {
  return async ({ id, query }) => {
    const after = decodeCursor(TRACE_KEY, query.cursor);
    const page = await traceMessage(database, { messageId: id, limit: query.limit, after });
    if (page === null) throw notFound('message');
    const { last, ...trace } = page;
    return { ...trace, nextCursor: last === null ? null : encodeCursor(last) };
  };
}
