import type { WorkspaceKind } from '../../contract/service/statuses.ts';

/** What a workspace is. */
export interface Workspace {
  readonly id: string;
  readonly kind: WorkspaceKind;
}

/** Workspaces, made outside the API. */
export interface Workspaces {
  /** `slots`: how many numbers may pair with a licence; absent: the assumed default. */
  create(input: { readonly kind: WorkspaceKind; readonly slots?: number }): Promise<Workspace>;
}
