import { z } from 'zod';
import type { SandboxStore } from './lasting-numbers.ts';
import { storeValue } from './state-store.ts';

/** API keys with all scopes that the sandbox calls the service with, one for each workspace. */
export interface ServiceKeys {
  /** The key of a workspace, which is created for the first call. Throws `not_found` for an unknown workspace. */
  find(workspaceId: string): Promise<string>;
  /** Forgets all keys, after the service was emptied. */
  forget(): Promise<void>;
}

/** The keys are kept: each is shown only once. */
export function createServiceKeys({ platform, database }: SandboxStore): ServiceKeys {
  const stored = storeValue(database, 'service_keys', z.record(z.string(), z.string()));
  /** Calls at the same time create one key. */
  let turn: Promise<unknown> = Promise.resolve();

  const findOrCreate = async (workspaceId: string): Promise<string> => {
    const keys = (await stored.load()) ?? {};
    const known = Object.hasOwn(keys, workspaceId) ? keys[workspaceId] : undefined;
    if (known !== undefined) return known;
    const { key } = await platform.apiKeys.create(workspaceId);
    await stored.save({ ...keys, [workspaceId]: key });
    return key;
  };

  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const acted = turn.then(act);
    turn = acted.catch(() => undefined);
    return acted;
  };

  return {
    find: (workspaceId) => inTurn(() => findOrCreate(workspaceId)),
    forget: () => inTurn(() => stored.forget()),
  };
}
