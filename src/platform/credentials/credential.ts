import { EVENT_TYPES, type EventType } from '../../contract/service/events.ts';
import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';

/** The caller of one request and what it may reach. It is resolved anew for each request. */
export interface Credential {
  readonly kind: 'api_key' | 'oauth';
  /** The id of the key or of the grant. */
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly scopes: readonly Scope[];
  /** Null: every connection of the workspace. */
  readonly connectionIds: readonly string[] | null;
  /** Null: every address. */
  readonly ipAllowlist: readonly string[] | null;
  /** The owner of the webhook that it configures: the workspace of a key, the app of a grant. */
  readonly subscriptionId: string;
  /** True if it was created before the cut-over: its subscription covers only `message.received`. */
  readonly legacy: boolean;
}

/** Whether a connection of the credential's workspace is in its list. */
export function reaches(credential: Credential, connectionId: string): boolean {
  return credential.connectionIds === null || credential.connectionIds.includes(connectionId);
}

/** The events that the subscription of a credential covers. [choice.oauth.legacy-events] */
export function coveredEvents({ legacy }: Pick<Credential, 'legacy'>): EventType[] {
  return legacy ? ['message.received'] : [...EVENT_TYPES];
}
