import { z } from 'zod';
import { dateTime, identifier, phoneDigits } from '../service/fields.ts';
import { accountId, listOf, pageQuery } from './lists.ts';

/**
 * The one word that a dashboard needs of a connection:
 * `working`, `connecting`, `needs_reconnect` (its owner must pair it), `disconnected`, `unlicensed` (the
 * licence lapsed), `hidden` (the service lists it no longer), `deleted` (the service knows it no longer), `unknown` (known
 * by events alone).
 */
export const CONNECTION_HEALTH = [
  'working',
  'connecting',
  'needs_reconnect',
  'disconnected',
  'unlicensed',
  'hidden',
  'deleted',
  'unknown',
] as const;
const connectionHealth = z.enum(CONNECTION_HEALTH);
export type ConnectionHealth = z.infer<typeof connectionHealth>;

/**
 * What the date of a licence says: `ends_soon` (within three days), or `end_passed` (the end that the service last
 * told is over, and it has listed no connections since; whether the licence holds only the service can say).
 */
const licenseNotice = z.enum(['ends_soon', 'end_passed']);
export type LicenseNotice = z.infer<typeof licenseNotice>;

/** The mirror of a connection of the service. Null: no source has told it. */
export const connectorConnection = z.object({
  id: identifier,
  accountId,
  phoneNumber: z.string().nullable(),
  label: z.string().nullable(),
  provider: z.string().nullable(),
  tier: z.string().nullable(),
  status: z.string().nullable().describe('As the service calls it.'),
  health: connectionHealth,
  needsReconnect: z.boolean().nullable(),
  reason: z.string().nullable().describe('Advisory, from the last disconnect.'),
  isDefault: z.boolean().nullable(),
  profilePicUrl: z.string().nullable(),
  licenseValid: z.boolean().nullable(),
  licenseStatus: z.string().nullable(),
  licenseExpires: dateTime.nullable(),
  licenseNotice: licenseNotice
    .nullable()
    .describe('`ends_soon`: within three days. `end_passed`: so it seems, the service was not heard since.'),
  visible: z.boolean().describe('Whether the last poll listed it.'),
  lastContactAt: dateTime.nullable().describe('When its newest message was created.'),
  customerRef: z.string().nullable(),
  deletedAt: dateTime
    .nullable()
    .describe('When it was deleted, or the service said that it knows none such.'),
  updatedAt: dateTime,
});
export type ConnectorConnection = z.infer<typeof connectorConnection>;

/** Query of `GET /v1/connections`. */
export const listConnectorConnectionsQuery = z.strictObject({
  accountId: accountId.optional(),
  ...pageQuery,
});
export type ListConnectorConnectionsQuery = z.infer<typeof listConnectorConnectionsQuery>;

export const connectorConnectionList = listOf('connections', connectorConnection);
export type ConnectorConnectionList = z.infer<typeof connectorConnectionList>;

/** Body of `PUT /v1/connections/{id}/customer`; null takes the mapping away. */
export const mapCustomerRequest = z.strictObject({ customerRef: z.string().min(1).max(255).nullable() });
export type MapCustomerRequest = z.infer<typeof mapCustomerRequest>;

/** Body of `POST /v1/connections`. */
export const createConnectorConnectionRequest = z.strictObject({
  label: z.string().max(255).optional(),
  accountId: accountId.optional(),
});
export type CreateConnectorConnectionRequest = z.infer<typeof createConnectorConnectionRequest>;

/** Answer of `POST /v1/connections`. */
export const createdConnectorConnection = z.object({
  connection: z.object({
    id: identifier,
    status: z.string().nullable(),
    qr: z.string().nullable().describe('Stale within seconds: open the stream of pictures.'),
  }),
  slotsAvailable: z.int().nullable().describe('Before it was created; null when it could not be read.'),
  warning: z.string().nullable().describe('For people, when it will have no active licence.'),
});
export type CreatedConnectorConnection = z.infer<typeof createdConnectorConnection>;

/** Body of `POST /v1/connections/{id}/pairing-code`. Passed on as it is: the service checks the number. */
export const connectorPairingCodeRequest = z.strictObject({
  phoneNumber: z.string().max(255).describe('International digits, no `+`.'),
});

/** Answer of `POST /v1/connections/{id}/pairing-code`. */
export const connectorPairingCode = z.object({ code: z.string().describe('Shown to the owner as it is.') });

/** Body of `POST /v1/read-receipts`. */
export const connectorReadReceiptRequest = z
  .strictObject({
    connectionId: z.string().min(1).max(255),
    phone: phoneDigits.optional(),
    messageId: z.string().min(1).max(255).optional(),
  })
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ConnectorReadReceiptRequest = z.infer<typeof connectorReadReceiptRequest>;
