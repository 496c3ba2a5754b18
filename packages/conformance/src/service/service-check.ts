import { type Check, Skip } from '../../../certify/src/runner/check.ts';
import type { ServiceContext } from './context.ts';
import type { ServiceInputs } from './inputs.ts';

/** What a check requires besides an address and a key. */
export type Need =
  | 'full'
  | 'second-key'
  | 'narrow-key'
  | 'barred-key'
  | 'portal-key'
  | 'lapsed-connection'
  | 'legacy'
  | 'recipient'
  | 'absent-recipient'
  | 'pairing-phone'
  | 'webhook'
  | 'reply'
  | 'auth'
  | 'oauth'
  | 'grant'
  | 'patience';

export interface ServiceCheck extends Check<ServiceContext> {
  /** Absent for a check that only reads, or is rejected without a trace. */
  readonly needs?: readonly Need[];
}

interface NeedDefinition {
  readonly why: string;
  readonly flag: string;
  given(inputs: ServiceInputs): boolean;
}

const NEEDS: Readonly<Record<Need, NeedDefinition>> = {
  full: {
    why: 'would leave traces in the account',
    flag: '--profile full',
    given: ({ profile }) => profile === 'full',
  },
  'second-key': {
    why: 'needs a key of another workspace',
    flag: '--second-api-key',
    given: ({ secondApiKey }) => secondApiKey !== undefined,
  },
  'narrow-key': {
    why: 'needs a key with fewer scopes',
    flag: '--narrow-api-key and --narrow-scopes',
    given: ({ narrowApiKey, narrowScopes }) => narrowApiKey !== undefined && narrowScopes !== undefined,
  },
  'barred-key': {
    why: 'needs a key that must not be used from here',
    flag: '--barred-api-key',
    given: ({ barredApiKey }) => barredApiKey !== undefined,
  },
  'portal-key': {
    why: 'needs a key of a portal-owned workspace',
    flag: '--portal-api-key',
    given: ({ portalApiKey }) => portalApiKey !== undefined,
  },
  'lapsed-connection': {
    why: 'needs a connection without a license',
    flag: '--lapsed-connection',
    given: ({ lapsedConnectionId }) => lapsedConnectionId !== undefined,
  },
  legacy: {
    why: 'needs the legacy address',
    flag: '--legacy-base-url',
    given: ({ legacyBaseUrl }) => legacyBaseUrl !== undefined,
  },
  recipient: {
    why: 'needs a phone number that may be written to',
    flag: '--recipient',
    given: ({ recipient }) => recipient !== undefined,
  },
  'absent-recipient': {
    why: 'needs a number that is not on the network',
    flag: '--absent-recipient',
    given: ({ absentRecipient }) => absentRecipient !== undefined,
  },
  'pairing-phone': {
    why: 'needs a phone number that codes may be requested for',
    flag: '--pairing-phone',
    given: ({ pairingPhone }) => pairingPhone !== undefined,
  },
  webhook: {
    why: 'needs a public URL that forwards to this machine, and replaces the webhook of the account',
    flag: '--webhook-url and --webhook-listen',
    given: ({ webhookUrl }) => webhookUrl !== undefined,
  },
  reply: {
    why: 'needs a reply from the recipient',
    flag: '--await-reply',
    given: ({ awaitReplyMs }) => awaitReplyMs !== undefined,
  },
  auth: {
    why: 'needs the address of OAuth and the tool server',
    flag: '--auth-url',
    given: ({ authUrl }) => authUrl !== undefined,
  },
  oauth: {
    why: 'needs an OAuth app',
    flag: '--auth-url, --oauth-client-id, --oauth-client-secret and --oauth-redirect-uri',
    given: ({ authUrl, oauthApp }) => authUrl !== undefined && oauthApp !== undefined,
  },
  grant: {
    why: 'needs a consent that may be used up',
    flag: '--oauth-refresh-token or --profile full',
    given: ({ oauthRefreshToken, profile }) => oauthRefreshToken !== undefined || profile === 'full',
  },
  patience: {
    why: 'takes half a minute',
    flag: '--patient',
    given: ({ patient }) => patient === true,
  },
};

/** Why a check cannot run with these inputs; undefined if it can. */
export function findLock(check: ServiceCheck, inputs: ServiceInputs): Skip | undefined {
  const missing = (check.needs ?? []).map((need) => NEEDS[need]).filter((need) => !need.given(inputs));
  if (missing.length === 0) return undefined;
  return new Skip(missing.map(({ why }) => why).join('; '), missing.map(({ flag }) => flag).join(', '));
}
