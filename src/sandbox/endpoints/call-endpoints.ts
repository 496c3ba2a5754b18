import type { CallBoard } from '../calls/call-board.ts';
import { readCursor } from '../page-cursor.ts';
import type { Handlers } from '../serve-endpoint.ts';
import { givenFields } from './given-fields.ts';

/** Calls to the service, and why they were answered so. */
export function callEndpoints(board: CallBoard) {
  return {
    listCalls({ query: { code, path, limit, cursor } }) {
      const before = cursor === undefined ? undefined : readCursor(cursor);
      return board.list({ limit, ...givenFields({ code, path, before }) });
    },
  } satisfies Handlers;
}
