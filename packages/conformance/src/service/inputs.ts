/**
 * What the suite may do to the service: only reads and rejected requests, or also requests that leave traces.
 */
export const PROFILES = ['read-only', 'full'] as const;
export type Profile = (typeof PROFILES)[number];

/** The inputs of the suite. Checks that need an absent input are skipped. */
export interface ServiceInputs {
  /** Including the version prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly profile: Profile;
  /** A key of another workspace. */
  readonly secondApiKey?: string | undefined;
  /** A key of the same workspace with fewer scopes, and its scopes. */
  readonly narrowApiKey?: string | undefined;
  readonly narrowScopes?: readonly string[] | undefined;
  /** A key whose address allowlist excludes the address of this machine. */
  readonly barredApiKey?: string | undefined;
  /** A key of a portal-owned workspace. */
  readonly portalApiKey?: string | undefined;
  /** A connection of this workspace whose license or add-on has lapsed. */
  readonly lapsedConnectionId?: string | undefined;
  readonly legacyBaseUrl?: string | undefined;
  /** The connection to send from; defaults to the first live one. */
  readonly connectionId?: string | undefined;
  /** Digits of the only phone number that messages are sent to. */
  readonly recipient?: string | undefined;
  /** Digits of a phone number that is not on the network. */
  readonly absentRecipient?: string | undefined;
  /** Digits of the phone number to request pairing codes for; its owner may be notified. */
  readonly pairingPhone?: string | undefined;
  /** Public HTTPS URL that forwards to the listener. */
  readonly webhookUrl?: string | undefined;
  /** True also runs checks that take half a minute each. */
  readonly patient?: boolean | undefined;
  /** The host of OAuth, discovery and the tool server, without a trailing slash. */
  readonly authUrl?: string | undefined;
  readonly oauthApp?: OauthApp | undefined;
  /** A refresh token of that app. It is used up: the run rotates it. */
  readonly oauthRefreshToken?: string | undefined;
  /** How long to wait for the recipient to reply. */
  readonly awaitReplyMs?: number | undefined;
}

/** An OAuth app as it is registered with the service. */
export interface OauthApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}
