import type { Platform } from '../../platform/platform.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { checkRules } from '../faults/check-rules.ts';
import type { FaultBoard } from '../faults/fault-board.ts';

/** The rules of what goes wrong. */
export function faultEndpoints(platform: Platform, board: FaultBoard) {
  return {
    getFaults: () => board.read(),
    async putFaults({ body }) {
      await checkRules(platform, body.rules);
      return board.put(body);
    },
    deleteFaults: () => board.clear(),
  } satisfies Handlers;
}
