import type { FaultBoard } from '../faults/fault-board.ts';
import type { Handlers } from '../serve-endpoint.ts';

/** The rules of what goes wrong. */
export function faultEndpoints(board: FaultBoard) {
  return {
    getFaults: () => board.read(),
    putFaults: ({ body }) => board.put(body),
    deleteFaults: () => board.clear(),
  } satisfies Handlers;
}
