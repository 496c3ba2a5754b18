import { and, eq, isNotNull } from 'drizzle-orm';
import type { PairedConnection } from '../platform/connections/connections.ts';
import { connections, licenses } from '../platform/db/core-tables.ts';
import type { Platform } from '../platform/platform.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { orm } from '../runtime/database/orm.ts';

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

/** The numbers of a workspace that have a trial, expired or not. */
export async function listTrials(database: Queryable, workspaceId: string) {
  const { id, phoneNumber } = connections;
  const isTrial = and(eq(licenses.kind, 'trial'), isNotNull(phoneNumber));
  return await orm(database)
    .select({ id, phoneNumber, expiresAt: licenses.expiresAt })
    .from(connections)
    .innerJoin(licenses, eq(licenses.connectionId, id))
    .where(and(eq(connections.workspaceId, workspaceId), isTrial));
}

/** Replaces the trial of a number with a license that does not expire. */
export async function makeLasting(platform: Platform, { id }: { readonly id: string }): Promise<void> {
  await platform.licenses.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
}
