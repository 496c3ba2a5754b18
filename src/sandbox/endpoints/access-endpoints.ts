import { NumberTaken } from '../../platform/connections/connections.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { givenFields } from './given-fields.ts';
import { NUMBER_TAKEN } from './pairing-endpoints.ts';

function copyOf<Item>(list: readonly Item[] | null): Item[] | null {
  return list === null ? null : [...list];
}

/** Workspaces, keys, connections made outside the API, and licenses. */
export function accessEndpoints({ workspaces, apiKeys, connections, licenses }: Platform) {
  return {
    async createWorkspace({ body }) {
      const { id } = await workspaces.create(givenFields(body));
      return { workspace: { id, kind: body.kind } };
    },

    createApiKey: ({ param, body = {} }) => apiKeys.create(param('id'), givenFields(body)),

    async changeApiKey({ param, body }) {
      const id = param('id');
      const { scopes, ipAllowlist, connectionIds } = await apiKeys.change(id, givenFields(body));
      return {
        id,
        scopes: [...scopes],
        ipAllowlist: copyOf(ipAllowlist),
        connectionIds: copyOf(connectionIds),
      };
    },

    async revokeApiKey({ param }) {
      await apiKeys.revoke(param('id'));
      return { ok: true as const };
    },

    async tryAddress({ param, body: { address } }) {
      return { ...(await apiKeys.tryAddress(param('id'), address)) };
    },

    async addConnection({ param, body }) {
      const { id } = await connections
        .createPaired(param('id'), givenFields(body))
        .catch((error: unknown) => {
          throw error instanceof NumberTaken ? new SandboxError('wrong_state', NUMBER_TAKEN) : error;
        });
      return { connection: { id } };
    },

    async setLicense({ param, body: { status, expiresAt } }) {
      const change = { status, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) };
      const state = await licenses.set(param('id'), givenFields(change));
      return { status: state.status, expiresAt: state.expiresAt === null ? null : toIso(state.expiresAt) };
    },
  } satisfies Handlers;
}
