import type { Provider } from '../../contract/service/statuses.ts';

/** A connection made outside the API, by embedded signup or a portal admin: already paired and live. */
export interface PairedConnection {
  readonly provider: Provider;
  /** International digits, no `+`. */
  readonly phoneNumber: string;
  readonly label?: string;
  /** False leaves a connection of a portal workspace without its API add-on. */
  readonly addon?: boolean;
}

/** Connections, as people outside the API move them. */
export interface Connections {
  /** Throws `not_found` for an unknown workspace. */
  createPaired(workspaceId: string, input: PairedConnection): Promise<{ id: string }>;
}
