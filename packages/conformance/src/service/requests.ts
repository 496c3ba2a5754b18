/** An id that no service has assigned. */
export const UNKNOWN_ID = 'cnobodyhasthisid000000000';
/** A number that no message may reach: every request with it must be rejected. */
export const NO_PHONE = '10000000000';
/** Longer than any valid key. */
export const LONG_KEY = 'k'.repeat(256);

/** A request to an endpoint that changes nothing, whatever the credential. */
export interface HarmlessRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly scope: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if it is harmless only because the credential is rejected. */
  readonly onlyIfRefused?: boolean;
}

/** All 14 endpoints, each with a request for something that does not exist or is not allowed. */
export const HARMLESS: readonly HarmlessRequest[] = [
  { method: 'GET', path: '/connections', scope: 'messaging.read' },
  {
    method: 'POST',
    path: '/connections',
    scope: 'messaging.manage',
    headers: { 'idempotency-key': LONG_KEY },
  },
  { method: 'GET', path: `/connections/${UNKNOWN_ID}`, scope: 'messaging.manage' },
  { method: 'DELETE', path: `/connections/${UNKNOWN_ID}`, scope: 'messaging.manage' },
  { method: 'POST', path: `/connections/${UNKNOWN_ID}/restart`, scope: 'messaging.manage' },
  { method: 'POST', path: `/connections/${UNKNOWN_ID}/logout`, scope: 'messaging.manage' },
  {
    method: 'POST',
    path: `/connections/${UNKNOWN_ID}/pairing-code`,
    scope: 'messaging.manage',
    body: { phoneNumber: NO_PHONE },
  },
  { method: 'GET', path: '/account', scope: 'messaging.read' },
  { method: 'GET', path: '/messages?limit=1', scope: 'messaging.read' },
  {
    method: 'POST',
    path: '/messages',
    scope: 'messaging.send',
    body: { connectionId: UNKNOWN_ID, to: NO_PHONE, text: 'Conformance check' },
  },
  {
    method: 'POST',
    path: '/messages/read',
    scope: 'messaging.send',
    body: { connectionId: UNKNOWN_ID, phone: NO_PHONE },
  },
  { method: 'GET', path: '/webhook', scope: 'messaging.events' },
  { method: 'PUT', path: '/webhook', scope: 'messaging.events', body: { url: 'http://127.0.0.1/' } },
  { method: 'POST', path: '/webhook/rotate', scope: 'messaging.events', onlyIfRefused: true },
];

/** The four scopes. */
export const SCOPES = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'];
