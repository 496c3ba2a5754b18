import { MAX_FAULT_RULES } from '../../contract/sandbox/faults.ts';
import type { Platform } from '../../platform/platform.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { checkRule } from '../faults/check-rules.ts';
import type { FaultBoard } from '../faults/fault-board.ts';

/** The rules of what goes wrong. An event that happened before they change is subject to them as they were. */
export function faultEndpoints(platform: Platform, board: FaultBoard) {
  return {
    getFaults: () => board.read(),
    async putFaults({ body }) {
      for (const [place, rule] of body.rules.entries()) await checkRule(platform, rule, `rules.${place}.`);
      await platform.delivery.begun();
      return board.put(body);
    },
    async deleteFaults() {
      await platform.delivery.begun();
      return board.clear();
    },
    async addFault({ body }) {
      await checkRule(platform, body, '');
      await platform.delivery.begun();
      const others = board.read().rules.filter(({ id }) => id !== body.id);
      if (others.length === MAX_FAULT_RULES) {
        throw new SandboxError('invalid_request', `There are ${MAX_FAULT_RULES} rules: remove one first.`);
      }
      return board.add(body);
    },
    async removeFault({ param }) {
      await platform.delivery.begun();
      const left = board.remove(param('id'));
      if (left === null) throw new SandboxError('not_found', 'No fault rule has this id.');
      return left;
    },
  } satisfies Handlers;
}
