import type { LicenseStatus } from '../../contract/service/statuses.ts';
import type { LicenseKind } from '../db/core-tables.ts';

/** What is stored of a license. */
export interface License {
  readonly kind: LicenseKind;
  /** Virtual epoch ms; from then on it has expired. */
  readonly expiresAt: number;
}

/** How a license stands at a moment. */
export interface LicenseState {
  readonly status: LicenseStatus;
  readonly valid: boolean;
  readonly expiresAt: number | null;
}

/** Reads a license against the domain clock: no timer ends it, so none can be late. [choice.license.ends] */
export function licenseState(license: License | null, now: number): LicenseState {
  if (license === null) return { status: 'none', valid: false, expiresAt: null };
  const { kind, expiresAt } = license;
  // [service.standalone.paid-after]
  if (expiresAt <= now) return { status: 'expired', valid: false, expiresAt };
  return { status: kind === 'trial' ? 'trial' : 'active', valid: true, expiresAt };
}
