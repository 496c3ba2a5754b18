import { givenFields } from '../../contract/schema/given-fields.ts';
import type { Platform } from '../../platform/platform.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

const done = { ok: true } as const;

/** What happens to sessions behind the back of the service, and the phones of the owners. */
export function outageEndpoints({ outages }: Platform) {
  return {
    async causeOutage({ param, body }) {
      if (await outages.begin(param('id'), givenFields(body))) return done;
      throw new SandboxError('wrong_state', 'The connection has no working session to interrupt.');
    },

    async recover({ param }) {
      if (await outages.recover(param('id'))) return done;
      throw new SandboxError('wrong_state', 'The connection has no outage to end.');
    },

    async setOwnerPhone({ param, body }) {
      const { on, blocked } = await outages.setPhone(param('id'), givenFields(body));
      return { on, blocked: [...blocked] };
    },
  } satisfies Handlers;
}
