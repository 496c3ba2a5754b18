import { z } from 'zod';
import { createTurns } from '../runtime/turns/turns.ts';
import type { SandboxStore } from './lasting-numbers.ts';
import { storeValue } from './state-store.ts';

/**
 * API keys with all scopes that the sandbox calls the service with, one for each workspace. They are kept: each is
 * shown only once.
 */
export function createServiceKeys({ platform, database }: SandboxStore) {
  const stored = storeValue(database, 'service_keys', z.record(z.string(), z.string()));
  /** Calls at the same time create one key. */
  const turns = createTurns(1);

  const findOrCreate = async (workspaceId: string): Promise<string> => {
    const keys = (await stored.load()) ?? {};
    const known = Object.hasOwn(keys, workspaceId) ? keys[workspaceId] : undefined;
    if (known !== undefined) return known;
    const { key } = await platform.apiKeys.create(workspaceId);
    await stored.save({ ...keys, [workspaceId]: key });
    return key;
  };

  return {
    /** The key of a workspace, which is created for the first call. Throws `not_found` for an unknown workspace. */
    find: (workspaceId: string) => turns.run(() => findOrCreate(workspaceId)),
    /** Forgets all keys, after the service was emptied. */
    forget: () => turns.run(() => stored.forget()),
  };
}
