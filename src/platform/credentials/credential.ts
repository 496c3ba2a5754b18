import { EVENT_TYPES, type EventType } from '../../contract/service/events.ts';
import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';

/** Who calls, and what that may reach, as it stands at this request. Nothing of it is kept for the next. */
export interface Credential {
  readonly kind: 'api_key' | 'oauth';
  /** Of the key, or of the grant. */
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly scopes: readonly Scope[];
  /** Null: every connection of the workspace. */
  readonly connectionIds: readonly string[] | null;
  /** Null: every address. */
  readonly ipAllowlist: readonly string[] | null;
  /** Whose webhook it acts on: the workspace's for a key, the app's for a grant. */
  readonly subscriptionId: string;
  /** Made before the cut-over: its subscription covers `message.received` alone. */
  readonly legacy: boolean;
}

/** Whether a connection of its own workspace is within the credential's list. */
export function reaches(credential: Credential, connectionId: string): boolean {
  return credential.connectionIds === null || credential.connectionIds.includes(connectionId);
}

/** The events that the subscription of a credential covers. [choice.oauth.legacy-events] */
export function coveredEvents({ legacy }: Pick<Credential, 'legacy'>): EventType[] {
  return legacy ? ['message.received'] : [...EVENT_TYPES];
}
