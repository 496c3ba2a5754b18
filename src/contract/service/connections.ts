import { z } from 'zod';
import { dateTime, identifier, phoneDigits, qrDataUri } from './fields.ts';
import { provider } from './statuses.ts';

const phoneNumber = phoneDigits.describe('International digits, no `+`.');
const label = z.string().describe('Name given by the owner.');
const licenseStatus = z.string().describe('For example `active`. Clients take any value.');
const licenseExpires = dateTime.nullable().describe('End of the licence; null when there has been none.');

/** Element of `connections` in `GET /connections`. Implements `Connection list item`. */
export const connectionListItem = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'),
  phoneNumber,
  label,
  status: z.string().describe('`open` when live. Clients take any value.'),
  isDefault: z.boolean().describe('True for the default connection of the workspace.'),
  provider: provider.describe('`qr`: a paired number. `cloud_api`: a number of the business platform.'),
  tier: z.string().describe('For example `basic`. Clients take any value.'),
  profilePicUrl: z.url().describe('The profile picture; a neutral one without one.'),
  licenseValid: z.boolean().describe('Whether the licence or add-on is active.'),
  licenseStatus,
  licenseExpires,
  phone: phoneNumber.meta({ deprecated: true, description: 'Alias of `phoneNumber`.' }),
  name: label.meta({ deprecated: true, description: 'Alias of `label`.' }),
});
export type ConnectionListItem = z.infer<typeof connectionListItem>;

const unpairedPhoneNumber = phoneNumber.nullable().describe('Digits only; null until a number paired.');

/** `connection` in `GET /connections/{id}`. Implements `Connection detail`. */
export const connectionDetail = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'),
  status: z.string().describe('`connecting`, `connected` or `disconnected`. Clients take any value.'),
  phoneNumber: unpairedPhoneNumber,
  label,
  provider: provider.describe('`qr` or `cloud_api`.'),
  licenseStatus,
  licenseExpires,
  qr: qrDataUri.optional().describe('A new pairing picture on every read; absent once connected.'),
  phone: unpairedPhoneNumber.meta({ deprecated: true, description: 'Alias of `phoneNumber`.' }),
  license_status: licenseStatus.meta({ deprecated: true, description: 'Alias of `licenseStatus`.' }),
  license_expires: licenseExpires.meta({ deprecated: true, description: 'Alias of `licenseExpires`.' }),
});
export type ConnectionDetail = z.infer<typeof connectionDetail>;

/** `connection` in the answer of `POST /connections`. Implements `Created connection`. */
export const createdConnection = z.object({
  id: identifier.describe('Stable cuid, assigned by the service.'),
  status: z.string().describe('`connecting`.'),
  qr: qrDataUri.describe('Stale within seconds; poll the detail for the next one.'),
});
export type CreatedConnection = z.infer<typeof createdConnection>;

/** The same in the answer to a repeated request: nothing is left to scan once the number has paired. */
export const replayedConnection = createdConnection.partial({ qr: true }).describe('As it stands now.');

/** Body of `POST /connections`; the body as a whole is optional. Implements `Create request body`. */
export const createConnectionRequest = z.object({
  label: z
    .string()
    .max(255)
    .optional()
    .describe('Name of the connection; the number, once it has paired, unless told.'),
});
export type CreateConnectionRequest = z.infer<typeof createConnectionRequest>;

export const connectionListAnswer = z.object({
  connections: z
    .array(connectionListItem)
    .describe('Those with an active licence that the credential reaches.'),
});
export type ConnectionListAnswer = z.infer<typeof connectionListAnswer>;

export const connectionDetailAnswer = z.object({
  connection: connectionDetail.describe('The connection.'),
});
export type ConnectionDetailAnswer = z.infer<typeof connectionDetailAnswer>;

export const createdConnectionAnswer = z.object({
  connection: createdConnection.describe('The new connection.'),
});
export type CreatedConnectionAnswer = z.infer<typeof createdConnectionAnswer>;

export const replayedConnectionAnswer = z.object({ connection: replayedConnection });
export type ReplayedConnectionAnswer = z.infer<typeof replayedConnectionAnswer>;

/** `{ ok: true }`. Implements `Other shapes`. */
export const acknowledgement = z.object({ ok: z.literal(true).describe('Done.') });
export type Acknowledgement = z.infer<typeof acknowledgement>;

/** Answer of a restart. `recreated` says whether the session was built anew. */
export const restartAnswer = z.object({
  ok: z.boolean().describe('Whether the session was restarted.'),
  recreated: z.boolean().describe('Whether the session was built anew.'),
});
export type RestartAnswer = z.infer<typeof restartAnswer>;

/** Body of a pairing-code request. Never cleaned up: a plus sign or a space is refused. */
export const pairingCodeRequest = z.object({
  phoneNumber: phoneDigits.describe(
    'E.164 digits only, no leading `+`. Anything else is refused, never cleaned up.',
  ),
});
export type PairingCodeRequest = z.infer<typeof pairingCodeRequest>;

/** A pairing code: two groups of four characters, joined by a hyphen. */
export const pairingCodeAnswer = z.object({
  code: z
    .string()
    .regex(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
    .describe('8 characters in two groups of four, joined by a hyphen.'),
});
export type PairingCodeAnswer = z.infer<typeof pairingCodeAnswer>;
