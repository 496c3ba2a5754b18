import type { z } from 'zod';
import type { listedApiKey } from '../../contract/sandbox/access.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import { NumberTaken } from '../../platform/connections/connections.ts';
import type { ListedApiKey } from '../../platform/credentials/api-keys.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageAfter, readCursor } from '../control/page-cursor.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { NUMBER_TAKEN } from './pairing-endpoints.ts';

function copyOf<Item>(list: readonly Item[] | null): Item[] | null {
  return list === null ? null : [...list];
}

function presentKey(key: ListedApiKey): z.output<typeof listedApiKey> {
  const { id, hint, scopes, ipAllowlist, connectionIds, createdAt, revokedAt } = key;
  return {
    id,
    hint,
    scopes: [...scopes],
    ipAllowlist: copyOf(ipAllowlist),
    connectionIds: copyOf(connectionIds),
    createdAt: toIso(createdAt),
    revokedAt: revokedAt === null ? null : toIso(revokedAt),
  };
}

/** Workspaces, keys, connections made outside the API, and licenses. */
export function accessEndpoints({ workspaces, apiKeys, connections, licenses }: Platform) {
  return {
    async createWorkspace({ body }) {
      const { id } = await workspaces.create(givenFields(body));
      return { workspace: { id, kind: body.kind } };
    },

    async listWorkspaces({ query: { limit, cursor } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const found = await workspaces.list({ skip, limit: limit + 1 });
      const ids = found.map(({ id }) => id);
      const keys = Map.groupBy(await apiKeys.list(ids), ({ workspaceId }) => workspaceId);
      const slots = await licenses.slots(ids);
      return pageAfter(skip, found, limit, ({ id, kind, createdAt }) => ({
        id,
        kind,
        createdAt: toIso(createdAt),
        slots: slots.get(id) ?? { total: 0, used: 0, available: 0, nextExpiry: null },
        apiKeys: (keys.get(id) ?? []).map(presentKey),
      }));
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
