/** What may be asked of the service: reading and what must be refused, or also what leaves traces. */
export const PROFILES = ['read-only', 'full'] as const;
export type Profile = (typeof PROFILES)[number];

/** What the suite is given. Whatever is absent locks the checks that need it. */
export interface ServiceInputs {
  /** With the version prefix, without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly profile: Profile;
  /** A key of another workspace. */
  readonly secondApiKey?: string;
  /** A key of the same workspace with fewer scopes, and which ones it has. */
  readonly narrowApiKey?: string;
  readonly narrowScopes?: readonly string[];
  /** A key whose address list leaves out the address that this runs at. */
  readonly barredApiKey?: string;
  /** A key of a portal-owned workspace. */
  readonly portalApiKey?: string;
  /** A connection of this workspace whose licence or add-on has lapsed. */
  readonly lapsedConnectionId?: string;
  readonly legacyBaseUrl?: string;
  /** The connection to send from; the first live one unless told. */
  readonly connectionId?: string;
  /** Digits of the one phone that messages go to. */
  readonly recipient?: string;
  /** Digits of a phone that is not on the network. */
  readonly absentRecipient?: string;
  /** Digits of the phone that pairing codes are asked for; it may be told of them. */
  readonly pairingPhone?: string;
  /** Public HTTPS address that leads to the listener. */
  readonly webhookUrl?: string;
  /** True: also what takes half a minute each. */
  readonly patient?: boolean;
  /** How long to wait for the recipient to write back. */
  readonly awaitReplyMs?: number;
}
