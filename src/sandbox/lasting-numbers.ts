import { and, eq, isNotNull } from 'drizzle-orm';
import type { PairedConnection } from '../platform/connections/connections.ts';
import { connections, licenses } from '../platform/db/core-tables.ts';
import type { Platform } from '../platform/platform.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { orm } from '../runtime/database/orm.ts';

/** Later than any sandbox runs: nothing that the sandbox begins with stops working by itself. */
const LASTING_UNTIL = Date.parse('2099-12-31T00:00:00Z');

/** The service, and the database that it and the sandbox share. */
export interface SandboxStore {
  readonly platform: Platform;
  readonly database: Queryable;
}

/** Adds a number that is paired, with an active license that does not end. */
export async function addLastingNumber(
  { connections, licenses }: Platform,
  workspaceId: string,
  number: PairedConnection,
): Promise<{ readonly id: string }> {
  const { id } = await connections.createPaired(workspaceId, number);
  await licenses.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
  return { id };
}

/** The numbers of a workspace whose license is a trial, over or not. */
export async function listTrials(database: Queryable, workspaceId: string) {
  const { id, phoneNumber } = connections;
  const isTrial = and(eq(licenses.kind, 'trial'), isNotNull(phoneNumber));
  return await orm(database)
    .select({ id, phoneNumber, expiresAt: licenses.expiresAt })
    .from(connections)
    .innerJoin(licenses, eq(licenses.connectionId, id))
    .where(and(eq(connections.workspaceId, workspaceId), isTrial));
}

/** Turns the trial of a number into a license that does not end. */
export async function makeLasting(platform: Platform, { id }: { readonly id: string }): Promise<void> {
  await platform.licenses.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
}
