import type { Scope } from '../../contract/service/scopes.ts';

/** What a key may do. Null lists mean no limit: every connection, every address. */
export interface KeyAccess {
  readonly scopes: readonly Scope[];
  readonly connectionIds: readonly string[] | null;
  readonly ipAllowlist: readonly string[] | null;
}

/** The developer portal's hand on API keys. Changes act on the next call. */
export interface ApiKeys {
  /** Answers the key itself, once; only its hash is stored. Absent access means all of it. */
  create(workspaceId: string, access?: Partial<KeyAccess>): Promise<{ id: string; key: string }>;
  /** Throws `not_found` for an unknown or revoked key. */
  change(id: string, access: Partial<KeyAccess>): Promise<KeyAccess>;
  /** Throws `not_found` for an unknown key; revoking twice is no error. */
  revoke(id: string): Promise<void>;
}
