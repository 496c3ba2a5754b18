import type { LicenseStatus } from '../../contract/service/statuses.ts';
import type { LicenceKind } from '../db/core-tables.ts';

/** What is stored of a licence. */
export interface Licence {
  readonly kind: LicenceKind;
  /** Virtual epoch ms; from then on it has expired. */
  readonly expiresAt: number;
}

/** How a licence stands at a moment. */
export interface LicenceState {
  readonly status: LicenseStatus;
  readonly valid: boolean;
  readonly expiresAt: number | null;
}

/** Reads a licence against the domain clock: no timer ends it, so none can be late. [choice.licence.ends] */
export function licenceState(licence: Licence | null, now: number): LicenceState {
  if (licence === null) return { status: 'none', valid: false, expiresAt: null };
  const { kind, expiresAt } = licence;
  // [service.standalone.paid-after]
  if (expiresAt <= now) return { status: 'expired', valid: false, expiresAt };
  return { status: kind === 'trial' ? 'trial' : 'active', valid: true, expiresAt };
}
