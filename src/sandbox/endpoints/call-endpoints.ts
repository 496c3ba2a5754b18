import type { CallBoard } from '../calls/call-board.ts';
import { readCursor } from '../control/page-cursor.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { givenFields } from './given-fields.ts';

/** Calls to the service, and why they were answered so. */
export function callEndpoints(board: CallBoard) {
  return {
    listCalls({ query: { limit, cursor, ...filter } }) {
      const before = cursor === undefined ? undefined : readCursor(cursor);
      return board.list({ limit, ...givenFields({ ...filter, before }) });
    },
  } satisfies Handlers;
}
