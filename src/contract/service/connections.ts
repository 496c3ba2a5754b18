import { z } from 'zod';
import { dateTime, identifier, phoneDigits, qrDataUri } from './fields.ts';
import { provider } from './statuses.ts';

const phoneNumber = phoneDigits.describe('International digits, no `+`.');
const label = z.string().describe('Label set by the owner.');
const licenseStatus = z.string().describe('License status, for example `active`. Accept any value.');
const licenseExpires = dateTime.nullable().describe('When the license expires; null if there never was one.');

/** Element of `connections` in `GET /connections`. [connections.item.exact] [versioning.camel-case] */
export const connectionListItem = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'), // [connections.item.id]
  phoneNumber, // [connections.item.phoneNumber]
  label, // [connections.item.label]
  // [connections.item.status]
  status: z.string().describe('`open` when the session is live. Accept any value.'),
  // [connections.item.isDefault]
  isDefault: z.boolean().describe('True for the default connection of the workspace.'),
  // [connections.item.provider]
  provider: provider.describe('`qr`: a paired number. `cloud_api`: a number of the business platform.'),
  // [connections.item.tier]
  tier: z.string().describe('Tier of the license, for example `basic`. Accept any value.'),
  // [connections.item.profilePicUrl]
  profilePicUrl: z.url().describe('URL of the profile picture, or of a neutral one.'),
  // [connections.item.licenseValid]
  licenseValid: z.boolean().describe('Whether the license or add-on is active.'),
  licenseStatus, // [connections.item.licenseStatus]
  licenseExpires, // [connections.item.licenseExpires]
  // [versioning.aliases] [choice.aliases] [connections.item.phone]
  phone: phoneNumber.meta({ deprecated: true, description: 'Alias of `phoneNumber`.' }),
  name: label.meta({ deprecated: true, description: 'Alias of `label`.' }), // [connections.item.name]
});
export type ConnectionListItem = z.infer<typeof connectionListItem>;

const unpairedPhoneNumber = phoneNumber.nullable().describe('Digits only; null until a number has paired.');

/** `connection` in `GET /connections/{id}`. [connections.detail.exact] */
export const connectionDetail = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'), // [connections.detail.id]
  // [connections.detail.status]
  status: z.string().describe('`connecting`, `connected` or `disconnected`. Accept any value.'),
  phoneNumber: unpairedPhoneNumber, // [connections.detail.phoneNumber]
  label, // [connections.detail.label]
  provider: provider.describe('`qr` or `cloud_api`.'), // [connections.detail.provider]
  licenseStatus, // [connections.detail.licenseStatus]
  licenseExpires, // [connections.detail.licenseExpires]
  qr: qrDataUri // [connections.detail.qr]
    .optional()
    .describe(
      'PNG as a data URI, with a new pairing code on every read; absent while the connection is live.',
    ),
  // [versioning.aliases] [choice.aliases] [connections.detail.phone]
  phone: unpairedPhoneNumber.meta({ deprecated: true, description: 'Alias of `phoneNumber`.' }),
  // [connections.detail.license_status]
  license_status: licenseStatus.meta({ deprecated: true, description: 'Alias of `licenseStatus`.' }),
  // [connections.detail.license_expires]
  license_expires: licenseExpires.meta({ deprecated: true, description: 'Alias of `licenseExpires`.' }),
});
export type ConnectionDetail = z.infer<typeof connectionDetail>;

/** `connection` in the response of `POST /connections`. [connections.created.exact] */
export const createdConnection = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'), // [connections.created.id]
  status: z.string().describe('`connecting`.'), // [connections.created.status]
  // [connections.created.qr]
  qr: qrDataUri.describe('PNG as a data URI, stale within seconds; poll the detail for the next one.'),
});
export type CreatedConnection = z.infer<typeof createdConnection>;

/**
 * The same in the response to a repeated request: once the number has paired, there is nothing left to scan.
 */
export const replayedConnection = createdConnection.partial({ qr: true }).describe('The current status.');

/** Body of `POST /connections`; the body is optional. [connections.create.body.optional] */
export const createConnectionRequest = z.object({
  label: z // [connections.create.body.label]
    .string()
    .max(255)
    .optional()
    .describe('Label of the connection; defaults to its number once one has paired.'),
});
export type CreateConnectionRequest = z.infer<typeof createConnectionRequest>;

// [connections.list.answer]
export const connectionListAnswer = z.object({
  connections: z
    .array(connectionListItem)
    .describe('Connections with an active license that the credential can access.'),
});
export type ConnectionListAnswer = z.infer<typeof connectionListAnswer>;

// [connections.get.answer]
export const connectionDetailAnswer = z.object({
  connection: connectionDetail.describe('The connection.'),
});
export type ConnectionDetailAnswer = z.infer<typeof connectionDetailAnswer>;

// [connections.create.answer]
export const createdConnectionAnswer = z.object({
  connection: createdConnection.describe('The new connection.'),
});
export type CreatedConnectionAnswer = z.infer<typeof createdConnectionAnswer>;

// [connections.create.replay-answer]
export const replayedConnectionAnswer = z.object({ connection: replayedConnection });
export type ReplayedConnectionAnswer = z.infer<typeof replayedConnectionAnswer>;

/** `{ ok: true }`. [shapes.acknowledgement] */
export const acknowledgement = z.object({ ok: z.literal(true).describe('Done.') });
export type Acknowledgement = z.infer<typeof acknowledgement>;

/** Response of a restart. `recreated` reports whether the session was rebuilt. [shapes.restart] */
export const restartAnswer = z.object({
  ok: z.boolean().describe('Whether the session was restarted.'),
  recreated: z.boolean().describe('Whether the session was rebuilt.'),
});
export type RestartAnswer = z.infer<typeof restartAnswer>;

/**
 * Body of a pairing-code request. It is never cleaned up: a plus sign or a space is rejected.
 * [connections.pairing-code.request]
 */
export const pairingCodeRequest = z.object({
  // [connections.pairing-code.digits] [connections.pairing-code.no-clean-up]
  phoneNumber: phoneDigits.describe(
    'E.164 digits only, no leading `+`. Anything else is rejected, never cleaned up.',
  ),
});
export type PairingCodeRequest = z.infer<typeof pairingCodeRequest>;

/**
 * A pairing code: two groups of four characters joined by a hyphen. [shapes.pairing-code]
 * [connections.pairing-code.answer]
 */
export const pairingCodeAnswer = z.object({
  code: z
    .string()
    .regex(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
    .describe('8 characters in two groups of four, joined by a hyphen.'),
});
export type PairingCodeAnswer = z.infer<typeof pairingCodeAnswer>;
