import type { PairedConnection } from '../platform/connections/connections.ts';
import type { Platform } from '../platform/platform.ts';
import type { Queryable } from '../runtime/database/database.ts';

/** The expiry of licenses in the seed. It is far in the future, so that the seed keeps working. */
const LASTING_UNTIL = Date.parse('2099-12-31T00:00:00Z');

/** The service and the database that it shares with the sandbox. */
export interface SandboxStore {
  readonly platform: Platform;
  readonly database: Queryable;
}

/** Adds a paired number with an active license that does not expire. */
export async function addLastingNumber(
  { connections, licenses }: Platform,
  workspaceId: string,
  number: PairedConnection,
): Promise<{ readonly id: string }> {
  const { id } = await connections.createPaired(workspaceId, number);
  await licenses.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
  return { id };
}
