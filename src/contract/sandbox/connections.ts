import { z } from 'zod';
import { dateTime, phoneDigits } from '../service/fields.ts';
import { LICENSE_STATUSES, messageStatus, provider } from '../service/statuses.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces/{id}/connections`: one made outside the API, paired already. */
export const addConnectionRequest = z
  .strictObject({
    provider: provider.describe('`qr` or `cloud_api`.'),
    phoneNumber: phoneDigits.describe(
      'International digits, no `+`. A number may be added twice: a contact writes to the connection that is named.',
    ),
    label: z.string().max(255).optional().describe('Name of the connection; the number unless told.'),
    addon: z
      .boolean()
      .optional()
      .describe('False: a connection of a portal workspace without its add-on. True unless told.'),
    warmup: z
      .boolean()
      .optional()
      .describe(
        'True: a new `qr` number with 72 hours of hourly caps, as one that was paired by QR code. False unless told.',
      ),
  })
  .refine((body) => body.warmup !== true || body.provider === 'qr', {
    message: 'is for `qr` connections; a `cloud_api` number has no warm-up',
    path: ['warmup'],
  });
export type AddConnectionRequest = z.infer<typeof addConnectionRequest>;

export const addedConnection = z.object({
  connection: z.object({ id: id.describe('Id of the connection.') }).describe('What was added.'),
});
export type AddedConnection = z.infer<typeof addedConnection>;

const licenseStatus = z.enum(LICENSE_STATUSES);

/** Body of `PUT /connections/{id}/licence`; an end in the past lapses the licence by itself. */
export const setLicenceRequest = z.strictObject({
  status: licenseStatus.optional().describe('The status to set; absent: as it follows from the end.'),
  expiresAt: dateTime.optional().describe('The end, virtual time. In the past: the licence has lapsed.'),
});
export type SetLicenceRequest = z.infer<typeof setLicenceRequest>;

export const licence = z.object({
  status: licenseStatus.describe('As the service shows it.'),
  expiresAt: dateTime.nullable().describe('The end, virtual time; null: there has been none.'),
});
export type Licence = z.infer<typeof licence>;

/** Body of `POST /connections/{id}/scan`; the picture is really decoded. */
export const scanRequest = z.strictObject({
  qr: z
    .string()
    .startsWith('data:image/png;base64,', 'must be a PNG as a data URI, as the service shows it')
    .max(1_048_576)
    .describe('The picture as the service shows it, a data URI. It is really decoded.'),
  phoneNumber: phoneDigits
    .optional()
    .describe("The owner's number; absent: the one that the connection has, or an invented one."),
});
export type ScanRequest = z.infer<typeof scanRequest>;

/** Body of `POST /connections/{id}/enter-code`. */
export const enterCodeRequest = z.strictObject({
  code: z.string().min(1).max(64).describe('The pairing code as the service gave it.'),
});
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
export const outageRequest = z.strictObject({
  cause: outageCause.describe('What happens to the session; it decides the `reason` of the event.'),
  heals: z
    .boolean()
    .optional()
    .describe('True: the automatic heal, where the cause has one, succeeds. False unless told.'),
});
export type OutageRequest = z.infer<typeof outageRequest>;

/** Body of `POST /connections/{id}/phone`; what is absent stays. */
export const ownerPhoneRequest = z.strictObject({
  on: z.boolean().optional().describe('False switches the phone off, which is an outage; true ends it.'),
  blocked: z
    .array(phoneDigits)
    .optional()
    .describe('The numbers that the owner blocks, in place of the list before.'),
});
export type OwnerPhoneRequest = z.infer<typeof ownerPhoneRequest>;

export const ownerPhone = z.object({
  on: z.boolean().describe('Whether the phone is on.'),
  blocked: z.array(z.string()).describe('The numbers that the owner blocks.'),
});
export type OwnerPhone = z.infer<typeof ownerPhone>;

/** Body of `POST /messages/{id}/status`. */
export const moveStatusRequest = z.strictObject({ status: messageStatus.describe('The status to move to.') });
export type MoveStatusRequest = z.infer<typeof moveStatusRequest>;

/** `changed` is false when the move told nothing new. */
export const movedStatus = z.object({
  changed: z.boolean().describe('False: the message had been told of this status already.'),
  status: messageStatus.describe('The status of the message now.'),
});
export type MovedStatus = z.infer<typeof movedStatus>;
