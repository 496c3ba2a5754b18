import { MAX_FAULT_RULES } from '../../contract/sandbox/faults.ts';
import type { Platform } from '../../platform/platform.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { checkRule } from '../faults/check-rules.ts';
import type { FaultBoard } from '../faults/fault-board.ts';

/** The rules of what goes wrong. */
export function faultEndpoints(platform: Platform, board: FaultBoard) {
  return {
    getFaults: () => board.read(),
    async putFaults({ body }) {
      for (const [place, rule] of body.rules.entries()) await checkRule(platform, rule, `rules.${place}.`);
      return board.put(body);
    },
    deleteFaults: () => board.clear(),
    async addFault({ body }) {
      await checkRule(platform, body, '');
      const others = board.read().rules.filter(({ id }) => id !== body.id);
      if (others.length === MAX_FAULT_RULES) {
        throw new SandboxError('invalid_request', `There are ${MAX_FAULT_RULES} rules: remove one first.`);
      }
      return board.add(body);
    },
    removeFault({ param }) {
      const left = board.remove(param('id'));
      if (left === null) throw new SandboxError('not_found', 'No fault rule has this id.');
      return left;
    },
  } satisfies Handlers;
}
