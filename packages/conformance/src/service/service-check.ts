import { type Bare, type Check, type Skip, withCommon } from '../../../certify/src/runner/check.ts';
import { findMissing, type Needs } from '../../../certify/src/runner/needs.ts';
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

/** Checks that implement a section and have this in common, unless one of them says otherwise; each is a `must`. */
export const inSection = (
  common: Pick<ServiceCheck, 'section'> & Partial<ServiceCheck>,
  checks: readonly Bare<ServiceCheck>[],
): readonly ServiceCheck[] => withCommon(common, checks);

/** A need that a given input meets. */
const given = (why: string, flag: string, name: keyof ServiceInputs): Needs<'one', ServiceInputs>['one'] => ({
  why,
  flag,
  given: (inputs) => inputs[name] !== undefined,
});

const NEEDS: Needs<Need, ServiceInputs> = {
  full: {
    why: 'would leave traces in the account',
    flag: '--profile full',
    given: ({ profile }) => profile === 'full',
  },
  'second-key': given('needs a key of another workspace', '--second-api-key', 'secondApiKey'),
  'narrow-key': {
    why: 'needs a key with fewer scopes',
    flag: '--narrow-api-key and --narrow-scopes',
    given: ({ narrowApiKey, narrowScopes }) => narrowApiKey !== undefined && narrowScopes !== undefined,
  },
  'barred-key': given('needs a key that must not be used from here', '--barred-api-key', 'barredApiKey'),
  'portal-key': given('needs a key of a portal-owned workspace', '--portal-api-key', 'portalApiKey'),
  'lapsed-connection': given(
    'needs a connection without a license',
    '--lapsed-connection',
    'lapsedConnectionId',
  ),
  legacy: given('needs the legacy address', '--legacy-base-url', 'legacyBaseUrl'),
  recipient: given('needs a phone number that may be written to', '--recipient', 'recipient'),
  'absent-recipient': given(
    'needs a number that is not on the network',
    '--absent-recipient',
    'absentRecipient',
  ),
  'pairing-phone': given(
    'needs a phone number that codes may be requested for',
    '--pairing-phone',
    'pairingPhone',
  ),
  webhook: given(
    'needs a public URL that forwards to this machine, and replaces the webhook of the account',
    '--webhook-url and --webhook-listen',
    'webhookUrl',
  ),
  reply: given('needs a reply from the recipient', '--await-reply', 'awaitReplyMs'),
  auth: given('needs the address of OAuth and the tool server', '--auth-url', 'authUrl'),
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
export function findLock({ needs }: ServiceCheck, inputs: ServiceInputs): Skip | undefined {
  return findMissing(NEEDS, needs, inputs);
}
