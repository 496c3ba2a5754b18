import type { OutageCause } from '../../contract/sandbox/connections.ts';
import type { DISCONNECT_REASONS, MessageStatus, Tier } from '../../contract/service/statuses.ts';

/** A value that the specification does not show, and why it is this one. */
interface Assumption<T> {
  readonly value: T;
  readonly because: string;
}

/** What comes of an outage: the reason that is told, whether a heal is tried first, what is left of the session. */
interface OutageRules {
  readonly reason: (typeof DISCONNECT_REASONS)[number];
  readonly healTried: boolean;
  readonly keepsCredentials: boolean;
}

const second = 1_000;
const day = 24 * 60 * 60 * second;

function assume<const T>(value: T, because: string): Assumption<T> {
  return { value, because };
}

/**
 * Every value of the service that is our choice and that its code reads. Where a client may meet more than one reading,
 * the one that a careful client survives either way is taken. Durations are milliseconds of virtual time. Choices
 * without a value are listed in `test/requirements/choices.ts`.
 */
export const ASSUMPTIONS = {
  slotsPerWorkspace: assume(
    10,
    'Slot counts and plans are not shown; ten let most set-ups pair without thought.',
  ),
  paidLicenseMs: assume(30 * day, 'Billing periods are not shown; a month is the usual one.'),
  tierByProvider: assume<Readonly<Record<'qr' | 'cloud_api', Tier>>>(
    { qr: 'basic', cloud_api: 'pro' },
    'Only `basic` is shown; the business platform is the larger offer.',
  ),
  liveStatusInList: assume(
    'open',
    'The list names `open`, the detail `connected`, for the same live session.',
  ),
  // [errors.addon_required] [errors.license_inactive]
  licenseCode: assume(
    { crm_portal: 'addon_required', standalone: 'license_inactive' },
    'Two codes are shown for one 402; a portal connection is licensed by an add-on, a standalone one is not.',
  ),
  deadSessionCode: assume(
    'send_failed',
    'No code names a send through a broken session; this one says: not the recipient, repeat later.',
  ),
  incomingStatus: assume<MessageStatus>(
    'delivered',
    'The ladder is for outgoing messages; one that came in has been delivered.',
  ),
  // [choice.send-key.lifetime]
  sendKeyLifetimeMs: assume(day, 'Shown for creates alone; sends follow the same 24 hours.'),
  sendInProgressRetryAfterSeconds: assume(
    1,
    'Not promised for sends; most sends are over by then, and a client must do without the header too.',
  ),
  refusedText: assume(
    'invalid_request',
    'A text with NUL or half a surrogate pair cannot be stored as it is; refusing beats changing it.',
  ),
  replacedText: assume(
    '\uFFFD',
    'What a person writes arrives: NUL and half surrogate pairs become the replacement character.',
  ),
  // [limits.send-humanization] [messages.send.latency-qr] [messages.send.latency-long]
  // [messages.send.latency-cloud-api]
  send: assume(
    {
      /** Before the first character is typed: least, and what a draw adds at most. */
      qrBaseMs: second,
      qrDrawMs: 2 * second,
      qrMsPerCharacter: 30,
      qrLongestMs: 20 * second,
      cloudApiLeastMs: 800,
      cloudApiDrawMs: 400,
    },
    'Only ranges are shown: 1 to 7 s, about 20 s for long texts, about 1 s on the business platform.',
  ),
  // [status.read-early]
  readOvertakes: assume(
    { chance: 0.05, lagMs: 700 },
    '`read` may arrive before `delivered`; how often and by how much is not shown.',
  ),
  unknownNumber: assume(
    { onNetwork: true, deliverAfterMs: 400, readAfterMs: 2 * second, failAfterMs: null, autoReply: null },
    'A number that nobody described is a person with the network open.',
  ),
  autoReplyAfterMs: assume(second, 'How fast a person answers once a message was delivered or read.'),
  failureMessage: assume(
    'The network could not deliver the message.',
    'Values of `errorMessage` are not shown.',
  ),
  challengeOfAddress: assume(
    'ip_not_allowed',
    'Authentication errors carry an error parameter; no registered one means an address.',
  ),
  bodyBytes: assume(
    { send: 17 * 1024 * 1024, other: 256 * 1024 },
    'Body limits are not shown; the larger holds 16 MB of base64 and the rest of a send.',
  ),
  // [choice.body.bounded]
  bodyStructure: assume(
    { plainBytes: 64 * 1024, depth: 64 },
    'Nor is how deep a body may nest, or how much of it may be no text; what means something is far below.',
  ),
  // [choice.upload.places]
  uploadPlaces: assume(
    {
      inAll: 64,
      perWorkspace: 16,
      waitingPerWorkspace: 64,
      longestWaitMs: 60 * second,
      retryAfterSeconds: 5,
    },
    'How many files may come in at once is not shown; one customer must leave room for the others. Beyond: `rate_limited`.',
  ),
  // [choice.upload.pace]
  uploadPace: assume(
    { graceMs: 8 * second, minBytesPerSecond: 32 * 1024 },
    'A client that stops in the midst of a send must not hold its place; 400 after the grace, ahead of any time-out.',
  ),
  webhookAddress: assume(
    { ports: 'any', characters: 2_048, unresolvedAfterMs: 3 * second },
    'HTTPS on a public host is all that is asked; a name that does not resolve in time counts as unresolved.',
  ),
  webhookSecret: assume(
    { prefix: 'whsec_', bytes: 32 },
    'The form of a secret is not shown; a prefix tells it from other credentials.',
  ),
  webhookContentType: assume('application/json', 'Two headers are shown; the payload is JSON.'),
  webhookAnswerBytes: assume(64 * 1024, 'Only the status of an answer counts; more of its body is not read.'),
  webhookPerAccount: assume(
    {
      attemptsAtOnce: 64,
      /** Begun and not over, those that wait for a retry included. */
      deliveries: 4_096,
      /** Kept with their bytes, then by their ids alone; what is more is dropped. */
      waitingEvents: 5_000,
      waitingBytes: 16 * 1024 * 1024,
      waitingIds: 500_000,
    },
    'How many events are sent at once is not shown; a slow receiver must neither stop others nor fill memory.',
  ),
  catchUpAfterMs: assume(
    second,
    'How soon the network hands over what it kept for a number is not shown; after the session, not with it.',
  ),
  encodedBody: assume(
    'invalid_request',
    'Encoded bodies are not mentioned; inflating one of unknown size is a risk that no client needs.',
  ),
  foreignHost: assume(
    'invalid_request',
    'Hosts are not mentioned; on loopback a foreign one is a web page whose name was made to lead here.',
  ),
  // [choice.account.portal]
  accountOfPortal: assume(
    { available: 0 },
    'Slots are shown without the kind of workspace; add-ons are its slots, and nothing can be created there.',
  ),
  outageCauses: assume<Readonly<Record<OutageCause, OutageRules>>>(
    {
      // [state.outage.session-lost]
      session_lost: { reason: 'AUTH_LOST', healTried: false, keepsCredentials: false },
      // [state.outage.phone-off]
      phone_off: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      // [state.outage.session-ageing]
      session_ageing: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: false },
      // [state.outage.opened-elsewhere]
      opened_elsewhere: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      zombie: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: true },
    },
    'Causes, reasons and a heal are shown, not which go together; a heal helps where the session is worn, not gone.',
  ),
  outageFoundAfterMs: assume(
    { least: 30 * second, healedLeast: 60 * second, healedMost: 600 * second },
    'Only bounds are shown: within 5 minutes, or 15 to 20 with a heal; one that helps is over before those.',
  ),
  ownerPhoneOff: assume<OutageCause>(
    'phone_off',
    'A phone that is switched off is an outage of that cause; switching it on ends it.',
  ),
  pairingCodeLifetimeMs: assume(
    3 * 60 * second,
    'How long a pairing code is good for is not shown; long enough to find the menu on a phone and type it.',
  ),
  mediaLifetimeMs: assume(
    30 * day,
    'How long files can be fetched is not shown; afterwards `mediaUrl` is null and the type stays.',
  ),
  // [service.qr.self-heal] [messages.send.latency-heal]
  sendHeal: assume(
    { minMs: 20 * second, drawMs: 100 * second, giveUpMs: 130 * second, triedFor: 'session_ageing' },
    'Only the bound of about 2.5 minutes is shown, typing included; a worn session heals, or is given up by then.',
  ),
  // [limits.warmup-figures]
  warmupCaps: assume(
    [
      { untilMs: day, perHour: 30 },
      { untilMs: 2 * day, perHour: 60 },
      { untilMs: 3 * day, perHour: 120 },
    ],
    'Hourly caps for 72 hours are shown without figures; any hour counts, and the caps rise by the day.',
  ),
  // [limits.abuse]
  sendsPerMinute: assume(
    3_000,
    'The threshold of the abuse limiter is not shown; per connection, and far above what anybody types.',
  ),
  // [oauth.paths]
  oauthPaths: assume(
    {
      authorize: '/oauth/authorize',
      token: '/oauth/token',
      revoke: '/oauth/revoke',
      jwks: '/oauth/jwks',
      consent: '/oauth/consent',
    },
    'Paths are not shown; clients find them in the discovery document.',
  ),
  oauthCodeLifetimeMs: assume(
    60 * second,
    'How long a code is good for is not shown; a client redeems it at once.',
  ),
  oauthConnectionsParameter: assume(
    'connection_ids',
    'An authorize request may carry a connection list; its parameter is not shown: ids, separated by blanks.',
  ),
  oauthConsentLifetimeMs: assume(
    10 * 60 * second,
    'How long somebody may think about a consent is not shown; a user code lives as long as its page.',
  ),
  // [choice.oauth.consents-bounded]
  oauthConsentsPerApp: assume(
    1_000,
    'How many pages of an app may wait is not shown; with one more its oldest page is over, whatever time it is.',
  ),
  // [choice.oauth.grant-end]
  oauthGrantLifetimeMs: assume(
    365 * day,
    'Refresh tokens of 30 days follow one another without an end that is shown; after a year the owner is asked again.',
  ),
  oauthUserCode: assume(
    { letters: 'BCDFGHJKLMNPQRSTVWXZ', length: 8, tries: 5, triesWithinMs: 15 * 60 * second },
    'Its form is not shown; letters that read alike or spell words are left out, and few wrong ones are taken.',
  ),
  oauthSigningKeys: assume(
    { signsForMs: 90 * day, shownBeforeMs: day, atRest: 'in the clear' },
    'Rotation is not shown; clients find a new key in the JWKS a day before it signs, and an old one until its last token has ended. A simulator has nothing to seal them with.',
  ),
  oauthKeptMs: assume(
    30 * day,
    'How long ended grants are shown is not told. A used code is known as long as its grant, a used refresh token for the 30 days that it was good for: a second use within ends the grant.',
  ),
  oauthClearUpEveryMs: assume(
    60 * 60 * second,
    'Not shown. What has ended is refused before it is removed, so nobody sees when that happens.',
  ),
  toolScopes: assume(
    ['messaging.read', 'messaging.send'],
    'What the tools need, and what their metadata asks for; a missing one is 403 with the scopes to ask for.',
  ),
  // [choice.tools.early] [choice.tools.repeat]
  toolSend: assume(
    { progressEveryMs: 5 * second, answerWithinMs: 45 * second, sameSendWithinMs: 10 * 60 * second },
    'Clients give up after 60 s and models call again; an equal message without a key is such a repeat for a while.',
  ),
} as const satisfies Readonly<Record<string, Assumption<unknown>>>;
