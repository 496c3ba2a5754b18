import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';

/** Who calls, and what that may reach, as it stands at this request. Nothing of it is kept for the next. */
export interface Credential {
  readonly kind: 'api_key';
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly scopes: readonly Scope[];
  /** Null: every connection of the workspace. */
  readonly connectionIds: readonly string[] | null;
  /** Null: every address. */
  readonly ipAllowlist: readonly string[] | null;
}

/** Whether a connection of its own workspace is within the credential's list. */
export function reaches(credential: Credential, connectionId: string): boolean {
  return credential.connectionIds === null || credential.connectionIds.includes(connectionId);
}
