import { z } from 'zod';
import { dateTime, identifier, phoneDigits } from '../service/fields.ts';
import { accountId, chosenAccount, connectionId, listOf, ofAccount, pageQuery } from './lists.ts';

/** The state of a connection in one word, for a dashboard. */
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
const connectionHealth = z
  .enum(CONNECTION_HEALTH)
  .describe(
    'The state in one word, for a dashboard, derived from the fields below. `deleted`: the connection no longer exists at the service. `hidden`: the service no longer lists it; see `visible`. `unlicensed`: it is listed without a valid license. `connecting`: a session is being paired. `needs_reconnect`: its owner must pair it again. `working`: it sends and receives. `disconnected`: its session is down. `unknown`: its status is missing or not recognized.',
  );
export type ConnectionHealth = z.infer<typeof connectionHealth>;

/** The mirror of a connection of the service. A field is null if no source has reported it. */
export const connectorConnection = z.object({
  id: identifier.describe('Stable id, assigned by the service.'),
  accountId,
  phoneNumber: z
    .string()
    .nullable()
    .describe('International digits, no `+`; null until a number has paired.'),
  label: z.string().nullable().describe('Name given by the owner.'),
  provider: z
    .string()
    .nullable()
    .describe(
      '`qr`: a paired number. `cloud_api`: a number of the business platform; it never pairs and sends no webhooks, so its messages are only found by polling.',
    ),
  tier: z.string().nullable().describe('Tier of the license, such as `basic` or `pro`. Accept any value.'),
  status: z
    .string()
    .nullable()
    .describe(
      'Status as reported by the service: `connecting`, `disconnected`, or `open` or `connected` for a live connection. Accept any value, or use `health` instead.',
    ),
  health: connectionHealth,
  needsReconnect: z
    .boolean()
    .nullable()
    .describe(
      'Whether the owner must pair the connection again, according to the most recent event, list or detail.',
    ),
  reason: z
    .string()
    .nullable()
    .describe('Advisory reason of the last disconnect, such as `AUTH_LOST`; null while connected.'),
  isDefault: z.boolean().nullable().describe('Whether it is the default connection of its workspace.'),
  profilePicUrl: z.string().nullable().describe('URL of its profile picture.'),
  licenseValid: z
    .boolean()
    .nullable()
    .describe(
      "Whether the license or add-on is valid, according to the service's last list. Null if the connection was never listed or is hidden (`visible` false). It is never derived from a date.",
    ),
  licenseStatus: z
    .string()
    .nullable()
    .describe(
      'License status last reported by the service: `trial`, `active`, `expired` or `none`; accept any value. A hidden connection keeps its last value, so `trial` with `visible: false` is a trial that has ended.',
    ),
  licenseExpires: dateTime
    .nullable()
    .describe('When the license expires, as last reported by the service; null if never reported.'),
  visible: z
    .boolean()
    .describe(
      "Whether the service's last list contained the connection; true until the first list. False if its license or add-on has ended, the credential can no longer access it, or its account was removed from the connector. A hidden connection does not send or receive; missed messages are read when it is listed again.",
    ),
  lastContactAt: dateTime
    .nullable()
    .describe('When its newest stored message, incoming or outgoing, was created; null if it has none.'),
  customerRef: z
    .string()
    .nullable()
    .describe('The customer record assigned with `PUT /v1/connections/{id}/customer`; null if none.'),
  deletedAt: dateTime
    .nullable()
    .describe(
      'When the connection was deleted, or when the service reported that it does not exist; null if it exists.',
    ),
  updatedAt: dateTime.describe('When the connector last changed one of its fields.'),
});
export type ConnectorConnection = z.infer<typeof connectorConnection>;

/** Query of `GET /v1/connections`. */
export const listConnectorConnectionsQuery = z.strictObject({
  accountId: ofAccount,
  health: connectionHealth
    .optional()
    .describe(
      `Only connections in this state: ${CONNECTION_HEALTH.map((health) => `\`${health}\``).join(', ')}. If absent, all but \`deleted\` ones.`,
    ),
  ...pageQuery,
});
export type ListConnectorConnectionsQuery = z.infer<typeof listConnectorConnectionsQuery>;

export const connectorConnectionList = listOf('connections', connectorConnection);
export type ConnectorConnectionList = z.infer<typeof connectorConnectionList>;

/** Body of `PUT /v1/connections/{id}/customer`; null removes the mapping. */
export const mapCustomerRequest = z.strictObject({
  customerRef: z
    .string()
    .min(1)
    .max(255)
    .nullable()
    .describe("The CRM's own id for the customer; null for none."),
});
export type MapCustomerRequest = z.infer<typeof mapCustomerRequest>;

/** Body of `POST /v1/connections`. */
export const createConnectorConnectionRequest = z.strictObject({
  label: z
    .string()
    .max(255)
    .optional()
    .describe('Label of the connection. If absent, its number is used once one has paired.'),
  accountId: chosenAccount,
});
export type CreateConnectorConnectionRequest = z.infer<typeof createConnectorConnectionRequest>;

/** Response of `POST /v1/connections`. */
export const createdConnectorConnection = z.object({
  connection: z
    .object({
      id: identifier.describe('Stable id, assigned by the service.'),
      status: z.string().nullable().describe('`connecting` until a number has paired; null if unknown.'),
      qr: z
        .string()
        .nullable()
        .describe(
          'PNG as a data URI, stale within about 20 s: open `GET /v1/connections/{id}/pairing` for fresh ones. Null if the service returned none.',
        ),
    })
    .describe('The new connection. It has no number until its owner pairs one.'),
  slotsAvailable: z
    .int()
    .nullable()
    .describe('Free slots before the connection was created; null if they could not be read.'),
  warning: z
    .string()
    .nullable()
    .describe(
      'A message for people if all slots are used and the connection will have no active license; otherwise null.',
    ),
});
export type CreatedConnectorConnection = z.infer<typeof createdConnectorConnection>;

/**
 * Body of `POST /v1/connections/{id}/pairing-code`. It is passed on unchanged: the service validates the
 * number.
 */
export const connectorPairingCodeRequest = z.strictObject({
  phoneNumber: z
    .string()
    .max(255)
    .describe("The owner's number: international digits, no `+`. The service rejects anything else."),
});

/** Response of `POST /v1/connections/{id}/pairing-code`. */
export const connectorPairingCode = z.object({
  code: z.string().describe('Show it to the owner exactly as returned.'),
});

/** Body of `POST /v1/read-receipts`. */
export const connectorReadReceiptRequest = z
  .strictObject({
    connectionId: connectionId.describe('The connection that received the messages.'),
    phone: phoneDigits
      .optional()
      .describe(
        'The contact whose messages were read: international digits, no `+`. On a `qr` connection the whole chat is marked.',
      ),
    messageId: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe(
        'Id of an incoming message; takes precedence over `phone`. At least one of the two is required.',
      ),
  })
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ConnectorReadReceiptRequest = z.infer<typeof connectorReadReceiptRequest>;
