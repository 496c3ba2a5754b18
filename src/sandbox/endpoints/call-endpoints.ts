import { CALL_KEYS } from '../../contract/sandbox/calls.ts';
import { exactly, type FilterTerm } from '../../contract/sandbox/filter.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import type { CallBoard } from '../calls/call-board.ts';
import { readCursor } from '../control/page-cursor.ts';
import { readFilter } from '../control/read-filter.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

/** `path`, which may end in `*`, as a condition. */
function pathTerm(path: string): FilterTerm<'path'> {
  const prefix = path.endsWith('*');
  return { key: 'path', value: prefix ? path.slice(0, -1) : path, prefix, negated: false };
}

/** Calls to the service, and the reason for each answer. */
export function callEndpoints(board: CallBoard) {
  return {
    listCalls({ query: { limit, cursor, q, code, path, workspaceId } }, within = '') {
      const before = cursor === undefined ? undefined : readCursor(cursor);
      const filters = [...readFilter(CALL_KEYS, q), ...readFilter(CALL_KEYS, within)];
      const where = [...filters, ...exactly({ code, workspace: workspaceId })];
      if (path !== undefined) where.push([pathTerm(path)]);
      return board.list({ limit, where, ...givenFields({ before }) });
    },

    readCall({ param }) {
      const found = board.find(Number(param('id')));
      if (found !== undefined) return found;
      throw new SandboxError(
        'not_found',
        'No call has this id. Only the latest calls are kept, at most 5,000.',
      );
    },
  } satisfies Handlers;
}
