import type { LicenseStatus } from '../../contract/service/statuses.ts';
import type { licenses } from '../db/core-tables.ts';

/** A license as it is stored. */
export type License = Pick<typeof licenses.$inferSelect, 'kind' | 'expiresAt'>;

/** The state of a license at a given time. */
export interface LicenseState {
  readonly status: LicenseStatus;
  readonly valid: boolean;
  readonly expiresAt: number | null;
}

/** Computes the state of a license from the domain clock. No timer ends it that could be late. [choice.license.ends] */
export function licenseState(license: License | null, now: number): LicenseState {
  if (license === null) return { status: 'none', valid: false, expiresAt: null };
  const { kind, expiresAt } = license;
  // [service.standalone.paid-after]
  if (expiresAt <= now) return { status: 'expired', valid: false, expiresAt };
  return { status: kind === 'trial' ? 'trial' : 'active', valid: true, expiresAt };
}
