import { z } from 'zod';
import { dateTime, identifier, phoneDigits } from '../service/fields.ts';
import { accountId, chosenAccount, connectionId, listOf, ofAccount, pageQuery } from './lists.ts';

/** The one word that a dashboard needs of a connection. */
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
    'The one word for a dashboard, made of the fields below. `deleted`: the service knows it no longer. `hidden`: the service lists it no longer, see `visible`. `unlicensed`: it is listed with a licence that does not hold. `connecting`: a session is being paired. `needs_reconnect`: its owner must pair it again. `working`: it sends and receives. `disconnected`: its session is down. `unknown`: no status is known, or one that has no name here.',
  );
export type ConnectionHealth = z.infer<typeof connectionHealth>;

const licenseNotice = z.enum(['ends_soon', 'end_passed']);
export type LicenseNotice = z.infer<typeof licenseNotice>;

/** The mirror of a connection of the service. Null: no source has told it. */
export const connectorConnection = z.object({
  id: identifier.describe('Stable id, as the service gave it.'),
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
      '`qr`: a paired number. `cloud_api`: a number of the business platform; it is never paired and has no webhooks, so all it brings is polled.',
    ),
  tier: z.string().nullable().describe('Tier of the licence, such as `basic` or `pro`. Take any value.'),
  status: z
    .string()
    .nullable()
    .describe(
      'As the service calls it: `connecting`, `disconnected`, and for a live one `open` or `connected`. Take any value, or go by `health`.',
    ),
  health: connectionHealth,
  needsReconnect: z
    .boolean()
    .nullable()
    .describe(
      'Whether its owner must pair it again. It follows events, lists and details, whichever came last.',
    ),
  reason: z
    .string()
    .nullable()
    .describe('Advisory, from the last disconnect, such as `AUTH_LOST`; null while it is connected.'),
  isDefault: z.boolean().nullable().describe('Whether it is the default connection of its workspace.'),
  profilePicUrl: z.string().nullable().describe('Address of its profile picture.'),
  licenseValid: z
    .boolean()
    .nullable()
    .describe(
      'Whether the licence or add-on holds, as the service listed it last. Null: nobody says, since it was never listed or is hidden (`visible` false). Never judged by a date.',
    ),
  licenseStatus: z
    .string()
    .nullable()
    .describe(
      'What the service called the licence last: `trial`, `active`, `expired` or `none`; take any value. A hidden connection keeps the last word, so `trial` beside `visible: false` is a trial that has ended.',
    ),
  licenseExpires: dateTime
    .nullable()
    .describe('End of the licence, as the service told it last; null: none was told.'),
  licenseNotice: licenseNotice
    .nullable()
    .describe(
      'What the date of the licence says. `ends_soon`: it ends within three days. `end_passed`: its end has passed, and the service has listed no connections since, so only the service knows whether it holds. Null: nothing to say, or hidden.',
    ),
  visible: z
    .boolean()
    .describe(
      'Whether the last list of the service held it; true until the first list. False: its licence or add-on has ended, the credential reaches it no longer, or its account was removed here. It neither sends nor receives then; what it missed is read when it is listed again.',
    ),
  lastContactAt: dateTime
    .nullable()
    .describe('When its newest stored message was created, in either direction; null: it has none.'),
  customerRef: z
    .string()
    .nullable()
    .describe('The customer record that `PUT /v1/connections/{id}/customer` mapped it to; null: none.'),
  deletedAt: dateTime
    .nullable()
    .describe('When it was deleted, or the service said that it knows none such; null: it exists.'),
  updatedAt: dateTime.describe('When one of its fields last changed here.'),
});
export type ConnectorConnection = z.infer<typeof connectorConnection>;

/** Query of `GET /v1/connections`. */
export const listConnectorConnectionsQuery = z.strictObject({
  accountId: ofAccount,
  ...pageQuery,
});
export type ListConnectorConnectionsQuery = z.infer<typeof listConnectorConnectionsQuery>;

export const connectorConnectionList = listOf('connections', connectorConnection);
export type ConnectorConnectionList = z.infer<typeof connectorConnectionList>;

/** Body of `PUT /v1/connections/{id}/customer`; null takes the mapping away. */
export const mapCustomerRequest = z.strictObject({
  customerRef: z
    .string()
    .min(1)
    .max(255)
    .nullable()
    .describe("The CRM's own id of the customer; null: none."),
});
export type MapCustomerRequest = z.infer<typeof mapCustomerRequest>;

/** Body of `POST /v1/connections`. */
export const createConnectorConnectionRequest = z.strictObject({
  label: z
    .string()
    .max(255)
    .optional()
    .describe('Name of the connection. Absent: its number, once one has paired.'),
  accountId: chosenAccount,
});
export type CreateConnectorConnectionRequest = z.infer<typeof createConnectorConnectionRequest>;

/** Answer of `POST /v1/connections`. */
export const createdConnectorConnection = z.object({
  connection: z
    .object({
      id: identifier.describe('Stable id, given by the service.'),
      status: z
        .string()
        .nullable()
        .describe('`connecting`, until a number has paired; null when it is not known.'),
      qr: z
        .string()
        .nullable()
        .describe(
          'Data URI of a PNG, stale within some 20 s: open `GET /v1/connections/{id}/pairing` for fresh ones. Null when the service gave none.',
        ),
    })
    .describe('The new connection. It has no number until its owner pairs one.'),
  slotsAvailable: z
    .int()
    .nullable()
    .describe('Free slots before it was created; null when they could not be read.'),
  warning: z
    .string()
    .nullable()
    .describe(
      'A sentence for people when the slots are used up, so that it will have no active licence; else null.',
    ),
});
export type CreatedConnectorConnection = z.infer<typeof createdConnectorConnection>;

/** Body of `POST /v1/connections/{id}/pairing-code`. Passed on as it is: the service checks the number. */
export const connectorPairingCodeRequest = z.strictObject({
  phoneNumber: z
    .string()
    .max(255)
    .describe("The owner's number: international digits, no `+`. The service refuses anything else."),
});

/** Answer of `POST /v1/connections/{id}/pairing-code`. */
export const connectorPairingCode = z.object({ code: z.string().describe('Shown to the owner as it is.') });

/** Body of `POST /v1/read-receipts`. */
export const connectorReadReceiptRequest = z
  .strictObject({
    connectionId: connectionId.describe('The connection that received the messages.'),
    phone: phoneDigits
      .optional()
      .describe(
        'Whose messages were read: international digits, no `+`. A `qr` connection marks the whole chat.',
      ),
    messageId: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('Id of an incoming message; wins over `phone`. One of the two is required.'),
  })
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ConnectorReadReceiptRequest = z.infer<typeof connectorReadReceiptRequest>;
