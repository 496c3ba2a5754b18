import type { PairedConnection } from '../platform/connections/connections.ts';
import type { Platform } from '../platform/platform.ts';
import type { Queryable } from '../runtime/database/database.ts';

/** Later than any sandbox runs: nothing that the sandbox begins with stops working by itself. */
const LASTING_UNTIL = Date.parse('2099-12-31T00:00:00Z');

/** The service, and the database that it and the sandbox share. */
export interface SandboxStore {
  readonly platform: Platform;
  readonly database: Queryable;
}

/** Adds a number that is paired, with an active licence that does not end. */
export async function addLastingNumber(
  { connections, licences }: Platform,
  workspaceId: string,
  number: PairedConnection,
): Promise<{ readonly id: string }> {
  const { id } = await connections.createPaired(workspaceId, number);
  await licences.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
  return { id };
}

/** A number of a workspace that is on a trial, or was. */
export interface TrialNumber {
  readonly id: string;
  readonly phoneNumber: string;
  /** Virtual epoch ms. */
  readonly expiresAt: number;
}

/** The numbers of a workspace whose licence is a trial, over or not. */
export function listTrials(database: Queryable, workspaceId: string): Promise<TrialNumber[]> {
  return database.query<TrialNumber>(
    `SELECT c.id, c.phone_number AS "phoneNumber", l.expires_at AS "expiresAt"
     FROM platform.connections c JOIN platform.licences l ON l.connection_id = c.id
     WHERE c.workspace_id = $1 AND l.kind = 'trial' AND c.phone_number IS NOT NULL`,
    [workspaceId],
  );
}

/** Turns the trial of a number into a licence that does not end. */
export async function makeLasting({ licences }: Platform, { id }: TrialNumber): Promise<void> {
  await licences.set(id, { status: 'active', expiresAt: LASTING_UNTIL });
}
