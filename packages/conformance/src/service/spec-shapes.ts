import * as shape from './shape.ts';

/*
 * The tables of the specification, written from it and not from the contract: a mistake in shared code would
 * be invisible to both halves of the project.
 */

const provider = shape.oneOf(['qr', 'cloud_api']);
const png = shape.matching('a data URI of a PNG', /^data:image\/png;base64,[A-Za-z0-9+/]+={0,2}$/);

/** Pairs of a field and its older alias, in the list. */
export const LIST_ALIASES = [
  ['phoneNumber', 'phone'],
  ['label', 'name'],
] as const;

/** Pairs of a field and its older alias, in the detail. */
export const DETAIL_ALIASES = [
  ['phoneNumber', 'phone'],
  ['licenseStatus', 'license_status'],
  ['licenseExpires', 'license_expires'],
] as const;

export const listItem = shape.object({
  id: shape.filled,
  phoneNumber: shape.digits,
  label: shape.string,
  status: shape.filled,
  isDefault: shape.flag,
  provider,
  tier: shape.filled,
  profilePicUrl: shape.uri,
  licenseValid: shape.flag,
  licenseStatus: shape.filled,
  licenseExpires: shape.dateTime,
  phone: shape.digits,
  name: shape.string,
});

export const connectionList = shape.object({ connections: shape.listOf(listItem) });

/** The detail of a paired connection. Whether a live one still has a QR code is open. */
export const pairedDetail = shape.object({
  connection: shape.object({
    id: shape.filled,
    status: shape.filled,
    phoneNumber: shape.digits,
    label: shape.string,
    provider,
    licenseStatus: shape.filled,
    licenseExpires: shape.dateTime,
    qr: shape.open(png),
    phone: shape.digits,
    license_status: shape.filled,
    license_expires: shape.dateTime,
  }),
});

/**
 * The detail of a connection that waits for its phone: it has no number yet, and its license has not started.
 */
export const pairingDetail = shape.object({
  connection: shape.object({
    id: shape.filled,
    status: shape.filled,
    phoneNumber: shape.open(shape.digits),
    label: shape.string,
    provider,
    licenseStatus: shape.filled,
    licenseExpires: shape.open(shape.dateTime),
    qr: png,
    phone: shape.open(shape.digits),
    license_status: shape.filled,
    license_expires: shape.open(shape.dateTime),
  }),
});

export const createdConnection = shape.object({
  connection: shape.object({ id: shape.filled, status: shape.oneOf(['connecting']), qr: png }),
});

export const message = shape.object({
  id: shape.filled,
  waMessageId: shape.orNull(shape.string),
  connectionId: shape.filled,
  direction: shape.oneOf(['incoming', 'outgoing']),
  text: shape.orNull(shape.string),
  mediaUrl: shape.orNull(shape.string),
  mediaType: shape.orNull(shape.string),
  status: shape.oneOf(['sent', 'delivered', 'read', 'failed']),
  errorMessage: shape.orNull(shape.string),
  createdAt: shape.dateTime,
});

export const messagePage = shape.object({
  messages: shape.listOf(shape.object({ id: shape.filled })),
  nextCursor: shape.orNull(shape.filled),
  hasMore: shape.flag,
});

export const messages = shape.object({ messages: shape.listOf(message) });

/** `nextExpiry` is open while no number has paired. */
export const account = shape.object({
  slots: shape.object({
    total: shape.count,
    used: shape.count,
    available: shape.count,
    nextExpiry: shape.orNull(shape.dateTime),
  }),
  connections: shape.object({ total: shape.count, connected: shape.count, needsReconnect: shape.count }),
});

/** A `cloud_api` send may lack the network's id; `persisted` and `wa_message_id` are for special cases. */
export const sendAnswer = shape.object({
  messageId: shape.filled,
  waMessageId: shape.orNull(shape.string),
  status: shape.filled,
  persisted: shape.open(shape.flag),
  wa_message_id: shape.open(shape.string),
});

export const readReceipt = shape.object({ ok: shape.yes, marked: shape.count });
export const acknowledgement = shape.object({ ok: shape.yes });
export const restart = shape.object({ ok: shape.flag, recreated: shape.flag });
export const pairingCode = shape.object({
  code: shape.matching('two groups of four characters joined by a hyphen', /^[^\s-]{4}-[^\s-]{4}$/),
});

const events = shape.listOf(shape.filled);

/** The URL is open before the first `PUT`. */
export const webhook = shape.object({
  url: shape.open(shape.uri),
  events,
  secretSet: shape.flag,
});
export const webhookSet = shape.object({ url: shape.uri, events, secret: shape.filled });
export const webhookRotated = shape.object({ secret: shape.filled });

const eventConnection = {
  id: shape.filled,
  phone_number: shape.digits,
  label: shape.string,
  status: shape.filled,
  needs_reconnect: shape.flag,
  license_status: shape.filled,
  license_expires: shape.orNull(shape.dateTime),
  reason: shape.open(shape.string),
};
/** The same fields, each of which may be absent. */
const someOfConnection = shape.object(
  Object.fromEntries(Object.entries(eventConnection).map(([name, field]) => [name, shape.open(field)])),
);

/**
 * The payload of each event. That of `connection.connected` is not specified: what it has in common with
 * `connection.disconnected` has the same types.
 */
export const payloads: Readonly<Record<string, shape.Shape>> = {
  'message.received': shape.object({
    event: shape.oneOf(['message.received']),
    connection_id: shape.filled,
    message: shape.object({
      id: shape.filled,
      wa_id: shape.orNull(shape.string),
      from: shape.digits,
      text: shape.orNull(shape.string),
      media_url: shape.orNull(shape.string),
      media_type: shape.orNull(shape.string),
      timestamp: shape.epochMs,
    }),
  }),
  'message.status': shape.object({
    event: shape.oneOf(['message.status']),
    connection_id: shape.filled,
    message: shape.object({
      id: shape.filled,
      wa_id: shape.orNull(shape.string),
      status: shape.oneOf(['sent', 'delivered', 'read', 'failed']),
      timestamp: shape.epochMs,
    }),
  }),
  'connection.disconnected': shape.object({
    event: shape.oneOf(['connection.disconnected']),
    connection_id: shape.filled,
    connection: shape.object(eventConnection),
    timestamp: shape.epochMs,
  }),
  'connection.connected': shape.object({
    event: shape.oneOf(['connection.connected']),
    connection_id: shape.filled,
    connection: shape.open(someOfConnection),
    timestamp: shape.open(shape.epochMs),
  }),
};
export const EVENT_NAMES = Object.keys(payloads);
