import { z } from 'zod';
import { dateTime, phoneDigits } from '../service/fields.ts';
import {
  CONNECTION_STATUSES,
  LICENSE_STATUSES,
  messageStatus,
  PROVIDERS,
  provider,
} from '../service/statuses.ts';
import { filterQuery } from './filter.ts';
import { entriesOf, sandboxOrder, sandboxPageQuery } from './lists.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces/{id}/connections`: a connection created outside the API, already paired. */
export const addConnectionRequest = z
  .strictObject({
    provider: provider.describe('`qr` or `cloud_api`.'),
    phoneNumber: phoneDigits.describe(
      'International digits, no `+`. Must not be the number of another connection of the workspace.',
    ),
    label: z.string().max(255).optional().describe('Label of the connection; defaults to the number.'),
    addon: z
      .boolean()
      .optional()
      .describe('False creates a connection of a portal workspace without its add-on. Defaults to true.'),
    warmup: z
      .boolean()
      .optional()
      .describe(
        'True gives a `qr` number 72 hours of hourly caps, as after pairing by QR code. Defaults to false.',
      ),
  })
  .refine((body) => body.warmup !== true || body.provider === 'qr', {
    message: 'applies to `qr` connections only; a `cloud_api` number has no warm-up',
    path: ['warmup'],
  });
export type AddConnectionRequest = z.infer<typeof addConnectionRequest>;

export const addedConnection = z.object({
  connection: z.object({ id: id.describe('Id of the connection.') }).describe('The added connection.'),
});
export type AddedConnection = z.infer<typeof addedConnection>;

const licenseStatus = z.enum(LICENSE_STATUSES);

/** Body of `PUT /connections/{id}/licence`. An expiry in the past makes the license lapse by itself. */
export const setLicenseRequest = z.strictObject({
  status: licenseStatus
    .optional()
    .describe('The license status to set; if absent, it follows from the expiry.'),
  expiresAt: dateTime
    .optional()
    .describe('When the license expires, in virtual time. If this is in the past, the license has lapsed.'),
});
export type SetLicenseRequest = z.infer<typeof setLicenseRequest>;

export const license = z.object({
  status: licenseStatus.describe('The license status, as the service returns it.'),
  expiresAt: dateTime
    .nullable()
    .describe('When the license expires, in virtual time; null if there never was one.'),
});
export type License = z.infer<typeof license>;

export const OUTAGE_CAUSES = [
  'session_lost',
  'phone_off',
  'session_ageing',
  'opened_elsewhere',
  'zombie',
] as const;
const outageCause = z.enum(OUTAGE_CAUSES);
export type OutageCause = z.infer<typeof outageCause>;

export const ownerPhone = z.object({
  on: z.boolean().describe('Whether the phone is switched on.'),
  blocked: z.array(z.string()).describe('The numbers that the owner blocks.'),
});
export type OwnerPhone = z.infer<typeof ownerPhone>;

/** What changes the status of a connection. */
export const CONNECTION_CAUSES = [
  'created',
  'paired',
  'outage_found',
  'recovered',
  'restarted',
  'restarted_needs_qr',
  'logged_out',
] as const;
export type ConnectionCause = (typeof CONNECTION_CAUSES)[number];

export const listedConnection = z.object({
  id: id.describe('Id of the connection.'),
  workspaceId: id.describe('The workspace that owns it.'),
  phoneNumber: z.string().nullable().describe('Its phone number; null until one has paired.'),
  label: z.string().describe('Its label.'),
  provider: provider.describe('`qr` or `cloud_api`.'),
  status: z.enum(CONNECTION_STATUSES).describe('As in `GET /connections/{id}` of the service.'),
  licenseStatus: licenseStatus.describe('As in the service.'),
  licenseExpires: dateTime
    .nullable()
    .describe('When its license expires, in virtual time; null if there never was one.'),
  needsReconnect: z.boolean().describe('Whether it waits for its owner to pair again.'),
  outage: outageCause
    .nullable()
    .describe(
      'The cause of an outage that has not ended, also before the service has found it; null if none.',
    ),
});
export type ListedConnection = z.infer<typeof listedConnection>;
export const connectionList = entriesOf(listedConnection);

/** A transition of the session of a connection. */
const connectionTransition = z.object({
  at: dateTime.describe('When it happened, in virtual time.'),
  from: z.enum(CONNECTION_STATUSES).nullable().describe('The status before; null when it was created.'),
  to: z.enum(CONNECTION_STATUSES).describe('The status afterwards.'),
  cause: z
    .enum(CONNECTION_CAUSES)
    .describe('What caused it; `outage_found` and `recovered` are found by the service itself.'),
  reason: z.string().nullable().describe('The `reason` of a break, as `connection.disconnected` reports it.'),
  needsReconnect: z.boolean().describe('Whether it waits for its owner to pair again afterwards.'),
  event: z.string().nullable().describe('The event that reports it; null if none does.'),
});

/** Response of `GET /connections/{id}`. */
export const connectionDetail = z.object({
  ...listedConnection.shape,
  license: license.describe('Its license.'),
  hasSlot: z.boolean().describe('Whether it occupies a slot of its workspace.'),
  warmup: z
    .object({
      endsAt: dateTime.describe('When the warm-up ends, in virtual time.'),
      perHour: z.int().min(0).describe('How many messages it may send in an hour.'),
      stepEndsAt: dateTime.describe('Until when that limit applies, in virtual time.'),
      sentLastHour: z.int().min(0).describe('How many messages it has sent in the last hour.'),
    })
    .nullable()
    .describe('The warm-up of a new number; null if there is none, or it is over.'),
  phone: ownerPhone.nullable().describe("The owner's phone; null for `cloud_api`, which has none."),
  transitions: z
    .array(connectionTransition)
    .describe('Every change of its status, newest first; the latest 50 are kept.'),
});

export type ShownConnection = z.infer<typeof connectionDetail>;

/** What connections can be filtered by. */
export const CONNECTION_KEYS = {
  status: { description: 'the status', values: ['connecting', 'connected', 'disconnected'] },
  license: { description: 'the license status', values: LICENSE_STATUSES },
  ending: { description: 'whether its license expires within three days', values: ['yes', 'no'] },
  reconnect: { description: 'whether it waits for its owner to pair again', values: ['yes', 'no'] },
  outage: { description: 'the cause of an outage that has not ended', values: OUTAGE_CAUSES },
  provider: { description: 'the provider', values: PROVIDERS },
  workspace: { description: 'the workspace' },
  connection: { description: 'the id of the connection' },
  phone: { description: 'the phone number' },
} as const;
export type ConnectionKey = keyof typeof CONNECTION_KEYS;

/** Query of `GET /connections`. */
export const listConnectionsQuery = z.strictObject({
  q: filterQuery(CONNECTION_KEYS),
  workspaceId: id.optional().describe('Only connections of this workspace.'),
  phoneNumber: phoneDigits.optional().describe('Only connections with this phone number.'),
  order: sandboxOrder,
  ...sandboxPageQuery,
});

/** Body of `POST /connections/{id}/scan`. The image is actually decoded. */
export const scanRequest = z.strictObject({
  qr: z
    .string()
    .startsWith('data:image/png;base64,', 'must be a PNG as a data URI, as returned by the service')
    .max(1_048_576)
    .optional()
    .describe(
      'The QR code as returned by the service, a data URI. It is actually decoded. If absent, the QR code that the service would return now.',
    ),
  phoneNumber: phoneDigits
    .optional()
    .describe(
      "The owner's number. If absent, the number that the connection already has, or a generated one.",
    ),
});
export type ScanRequest = z.infer<typeof scanRequest>;

/** Body of `POST /connections/{id}/enter-code`. */
export const enterCodeRequest = z.strictObject({
  code: z.string().min(1).max(64).describe('The pairing code as returned by the service.'),
});
export type EnterCodeRequest = z.infer<typeof enterCodeRequest>;

/** Body of `POST /connections/{id}/outage`. With `heals`, the automatic heal is tried first and succeeds. */
export const outageRequest = z.strictObject({
  cause: outageCause.describe('What happens to the session; it determines the `reason` of the event.'),
  heals: z
    .boolean()
    .optional()
    .describe('True makes an automatic heal succeed, whatever the cause. Defaults to false.'),
});
export type OutageRequest = z.infer<typeof outageRequest>;

/** Body of `POST /connections/{id}/phone`. Absent fields stay unchanged. */
export const ownerPhoneRequest = z.strictObject({
  on: z
    .boolean()
    .optional()
    .describe('False switches the phone off, which is an outage; true switches it on and ends the outage.'),
  blocked: z
    .array(phoneDigits)
    .optional()
    .describe('The numbers that the owner blocks; replaces the previous list.'),
});
export type OwnerPhoneRequest = z.infer<typeof ownerPhoneRequest>;

/** Body of `POST /messages/{id}/status`. */
export const moveStatusRequest = z.strictObject({ status: messageStatus.describe('The status to set.') });
export type MoveStatusRequest = z.infer<typeof moveStatusRequest>;

/** `changed` is false if the message had already been reported with this status. */
export const movedStatus = z.object({
  changed: z.boolean().describe('False if the message had already been reported with this status.'),
  status: messageStatus.describe('The current status of the message.'),
});
export type MovedStatus = z.infer<typeof movedStatus>;
