/* What the service sends, as the specification shows it. */

export const received = {
  event: 'message.received',
  connection_id: 'c1',
  message: {
    id: 'm1',
    wa_id: 'wamid.1',
    from: '15551234567',
    text: 'Hello',
    media_url: null,
    media_type: null,
    timestamp: 1_763_700_000_000,
  },
};

export const status = {
  event: 'message.status',
  connection_id: 'c1',
  message: { id: 'm2', wa_id: null, status: 'delivered', timestamp: 1_763_700_000_000 },
};

export const disconnected = {
  event: 'connection.disconnected',
  connection_id: 'c1',
  connection: {
    id: 'c1',
    phone_number: '15551234567',
    label: 'Front desk',
    status: 'disconnected',
    needs_reconnect: true,
    license_status: 'active',
    license_expires: '2026-01-01T00:00:00.000Z',
    reason: 'AUTH_LOST',
  },
  timestamp: 1_763_700_000_000,
};

/** An item of the list of connections, without the aliases. */
export const listed = {
  id: 'c1',
  phoneNumber: '15551234567',
  label: 'Front desk',
  status: 'open',
  isDefault: true,
  provider: 'qr',
  tier: 'basic',
  profilePicUrl: 'https://pics.example/neutral.png',
  licenseValid: true,
  licenseStatus: 'active',
  licenseExpires: '2026-01-01T00:00:00.000Z',
};

/** An item of the list of messages. */
export const stored = {
  id: 'm1',
  waMessageId: null,
  connectionId: 'c1',
  direction: 'outgoing',
  text: 'Hello',
  mediaUrl: null,
  mediaType: null,
  status: 'delivered',
  errorMessage: null,
  createdAt: '2025-11-21T04:40:00.000Z',
};
