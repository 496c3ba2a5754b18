import type { LicenseStatus } from '../../contract/service/statuses.ts';

/** Licences, as billing moves them. */
export interface Licences {
  /**
   * Sets the licence of a connection. `expiresAt` is virtual epoch ms; in the past it lapses the licence by
   * itself. `none` takes the licence away. Throws `not_found` for an unknown connection.
   */
  set(
    connectionId: string,
    licence: { readonly status?: LicenseStatus; readonly expiresAt?: number },
  ): Promise<{ status: LicenseStatus; expiresAt: number | null }>;
}
