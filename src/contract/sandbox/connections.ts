import { z } from 'zod';
import { dateTime, phoneDigits } from '../service/fields.ts';
import { LICENSE_STATUSES, messageStatus, provider } from '../service/statuses.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces/{id}/connections`: one made outside the API, paired already. */
export const addConnectionRequest = z.strictObject({
  provider,
  phoneNumber: phoneDigits,
  label: z.string().max(255).optional(),
  addon: z.boolean().optional().describe('False: a portal connection without its add-on.'),
});
export type AddConnectionRequest = z.infer<typeof addConnectionRequest>;

export const addedConnection = z.object({ connection: z.object({ id }) });
export type AddedConnection = z.infer<typeof addedConnection>;

const licenseStatus = z.enum(LICENSE_STATUSES);

/** Body of `PUT /connections/{id}/licence`; an end in the past lapses the licence by itself. */
export const setLicenceRequest = z.strictObject({
  status: licenseStatus.optional(),
  expiresAt: dateTime.optional().describe('Virtual time.'),
});
export type SetLicenceRequest = z.infer<typeof setLicenceRequest>;

export const licence = z.object({ status: licenseStatus, expiresAt: dateTime.nullable() });
export type Licence = z.infer<typeof licence>;

/** Body of `POST /connections/{id}/scan`; the picture is really decoded. */
export const scanRequest = z.strictObject({
  qr: z.string().startsWith('data:image/png;base64,').max(1_048_576),
  phoneNumber: phoneDigits.optional(),
});
export type ScanRequest = z.infer<typeof scanRequest>;

/** Body of `POST /connections/{id}/enter-code`. */
export const enterCodeRequest = z.strictObject({ code: z.string().min(1).max(64) });
export type EnterCodeRequest = z.infer<typeof enterCodeRequest>;

export const OUTAGE_CAUSES = [
  'session_lost',
  'phone_off',
  'session_ageing',
  'opened_elsewhere',
  'zombie',
] as const;
const outageCause = z.enum(OUTAGE_CAUSES);
export type OutageCause = z.infer<typeof outageCause>;

/** Body of `POST /connections/{id}/outage`; `heals`: the automatic heal, tried first, succeeds. */
export const outageRequest = z.strictObject({ cause: outageCause, heals: z.boolean().optional() });
export type OutageRequest = z.infer<typeof outageRequest>;

/** Body of `POST /connections/{id}/phone`; what is absent stays. */
export const ownerPhoneRequest = z.strictObject({
  on: z.boolean().optional(),
  blocked: z.array(phoneDigits).optional(),
});
export type OwnerPhoneRequest = z.infer<typeof ownerPhoneRequest>;

export const ownerPhone = z.object({ on: z.boolean(), blocked: z.array(z.string()) });
export type OwnerPhone = z.infer<typeof ownerPhone>;

/** Body of `POST /messages/{id}/status`. */
export const moveStatusRequest = z.strictObject({ status: messageStatus });
export type MoveStatusRequest = z.infer<typeof moveStatusRequest>;

/** `changed` is false when the move told nothing new. */
export const movedStatus = z.object({ changed: z.boolean(), status: messageStatus });
export type MovedStatus = z.infer<typeof movedStatus>;
