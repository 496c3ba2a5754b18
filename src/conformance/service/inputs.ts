import { type Check, Skip } from '../runner/check.ts';
import type { ServiceContext } from './context.ts';

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
  /** How long to wait for the recipient to write back. */
  readonly awaitReplyMs?: number;
}

/** What a check cannot do without, beside an address and a key. */
export type Need =
  | 'full'
  | 'second-key'
  | 'narrow-key'
  | 'legacy'
  | 'recipient'
  | 'absent-recipient'
  | 'pairing-phone'
  | 'webhook'
  | 'reply';

/** A check of the service. */
export interface ServiceCheck extends Check<ServiceContext> {
  /** None: reads, or is refused without a trace. */
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
  legacy: {
    why: 'needs the legacy address',
    flag: '--legacy-base-url',
    given: ({ legacyBaseUrl }) => legacyBaseUrl !== undefined,
  },
  recipient: {
    why: 'needs a phone that may be written to',
    flag: '--recipient',
    given: ({ recipient }) => recipient !== undefined,
  },
  'absent-recipient': {
    why: 'needs a number that is not on the network',
    flag: '--absent-recipient',
    given: ({ absentRecipient }) => absentRecipient !== undefined,
  },
  'pairing-phone': {
    why: 'needs a phone that codes may be asked for',
    flag: '--pairing-phone',
    given: ({ pairingPhone }) => pairingPhone !== undefined,
  },
  webhook: {
    why: 'needs a public address that leads here, and replaces the webhook of the account',
    flag: '--webhook-url and --webhook-listen',
    given: ({ webhookUrl }) => webhookUrl !== undefined,
  },
  reply: {
    why: 'needs the recipient to write back',
    flag: '--await-reply',
    given: ({ awaitReplyMs }) => awaitReplyMs !== undefined,
  },
};

/** Why a check cannot run with these inputs; undefined when it can. */
export function findLock(check: ServiceCheck, inputs: ServiceInputs): Skip | undefined {
  const missing = (check.needs ?? []).map((need) => NEEDS[need]).filter((need) => !need.given(inputs));
  if (missing.length === 0) return undefined;
  return new Skip(missing.map(({ why }) => why).join('; '), missing.map(({ flag }) => flag).join(', '));
}
