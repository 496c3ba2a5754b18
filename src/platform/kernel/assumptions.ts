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
 * Every value and behaviour of the service that is our choice. Where a client may meet more than one reading,
 * the one that a careful client survives either way is taken. Durations are milliseconds of virtual time.
 */
export const ASSUMPTIONS = {
  slotsPerWorkspace: assume(
    10,
    'Slot counts and plans are not shown; ten let most set-ups pair without thought.',
  ),
  paidLicenceMs: assume(30 * day, 'Billing periods are not shown; a month is the usual one.'),
  tierByProvider: assume<Readonly<Record<'qr' | 'cloud_api', Tier>>>(
    { qr: 'basic', cloud_api: 'pro' },
    'Only `basic` is shown; the business platform is the larger offer.',
  ),
  liveStatusInList: assume(
    'open',
    'The list names `open`, the detail `connected`, for the same live session.',
  ),
  licenceCode: assume(
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
  sendKeyLifetimeMs: assume(day, 'Shown for creates alone; sends follow the same 24 hours.'),
  sendKeyOfAnotherMessage: assume(
    'idempotency_key_reuse',
    'As for creates: the answer of another message would say that this one was sent, and show it to an app that may not read it.',
  ),
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
  bodyStructure: assume(
    { plainBytes: 64 * 1024, depth: 64 },
    'Nor is how deep a body may nest, or how much of it may be no text; what means something is far below.',
  ),
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
  uploadPace: assume(
    { graceMs: 8 * second, leastBytesPerSecond: 32 * 1024 },
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
  otherMethods: assume(
    'method_not_allowed',
    'HEAD and OPTIONS are not in the table; the service is called by servers, which preflight nothing.',
  ),
  unknownInput: assume(
    'ignored',
    'Keys and query parameters that no table lists, a body of an endpoint without one, a charset: no rule refuses them.',
  ),
  foreignHost: assume(
    'invalid_request',
    'Hosts are not mentioned; on loopback a foreign one is a web page whose name was made to lead here.',
  ),
  oversizedHeaders: assume(
    431,
    'A URL with headers over 16 KiB never reaches the API: its server answers without a body and hangs up.',
  ),
  unsentCredential: assume(
    'invalid_key',
    'No code names a missing or repeated credential; a bad token in three parts is `invalid_token`, as of an app.',
  ),
  accountOfPortal: assume(
    { available: 0 },
    'Slots are shown without the kind of workspace; add-ons are its slots, and nothing can be created there.',
  ),
  accountOfListedKey: assume(
    { slots: 'workspace', connections: 'reachable' },
    'What a key with a connection list sees is not shown; capacity is shared, other connections are not told.',
  ),
  runOutSlot: assume(
    'used until renewed',
    'A slot returns with its remaining time; one with none left would else start a second trial.',
  ),
  outageCauses: assume<Readonly<Record<OutageCause, OutageRules>>>(
    {
      session_lost: { reason: 'AUTH_LOST', healTried: false, keepsCredentials: false },
      phone_off: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      session_ageing: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: false },
      opened_elsewhere: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      zombie: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: true },
    },
    'Causes, reasons and a heal are shown, not which go together; a heal helps where the session is worn, not gone.',
  ),
  outageFoundAfterMs: assume(
    { least: 30 * second, healedLeast: 60 * second, healedMost: 600 * second },
    'Only bounds are shown: within 5 minutes, or 15 to 20 with a heal; one that helps is over before those.',
  ),
  deadSessionMeanwhile: assume(
    { sends: 'refused', incoming: 'kept', receipts: 'kept' },
    'What passes through a broken session is not shown; a network keeps messages for a number and hands them over late.',
  ),
  keptMessage: assume(
    { createdAt: 'arrival' },
    'A late message bears the time it arrived: with the time it was written it would lie below pages already read.',
  ),
  blockedContact: assume(
    { incoming: 'vanishes', toldToWriter: false, sends: 'pass' },
    'Blocking is not shown; the one who is blocked is not told, and the owner may still write.',
  ),
  ownerPhoneOff: assume<OutageCause>(
    'phone_off',
    'A phone that is switched off is an outage of that cause; switching it on ends it.',
  ),
  silentWhileExpired: assume(
    'never told',
    'No events while the licence is expired; what happened then is seen by polling, and counts as not reported.',
  ),
  pairingCodeLifetimeMs: assume(
    3 * 60 * second,
    'How long a pairing code is good for is not shown; long enough to find the menu on a phone and type it.',
  ),
  pairingCodeOnOffer: assume('the newest', 'Each call gives a new code; two good ones at once help nobody.'),
  pairingCodeCap: assume(
    'sliding, declined requests included',
    'A window that slides never lets ten through at its edge; the engine was asked either way.',
  ),
  pairingCodeDeclined: assume(
    'numbers without an account on the network',
    'Why the engine declines is not shown; a number that cannot pair is the plainest reason.',
  ),
  pictureShown: assume(
    'whenever a `qr` connection is not live',
    'A broken connection is paired by the picture of its detail, so one is shown after an outage and a logout too.',
  ),
  needsReconnectAfterLogout: assume(
    true,
    'A number that is logged out waits for a scan to come back; one that never paired waits for nobody.',
  ),
  qrOnlyOperations: assume(
    ['pairing-code', 'logout'],
    'A number of the business platform never pairs: logged out, no call could bring it back. A restart changes nothing.',
  ),
  restartFindsOutage: assume(
    true,
    'A restart of a connection shown live whose session is dead is told as the outage that it is, once.',
  ),
  otherNumber: assume(
    'refused',
    "A connection keeps its number: with another one its messages would be a stranger's.",
  ),
  sameNumberTwice: assume(
    'refused in a workspace that has it, as it pairs and by the hand of an admin; allowed in another',
    "Two connections of a number would show each message twice; other customers are nobody's business.",
  ),
  labelDefault: assume(
    'the number, once it has paired',
    'A label may be left out and the list shows a string; until then it is empty.',
  ),
  createFieldsUnknown: assume(
    'ignored, and part of the body that a key is bound to',
    'Other create fields are not shown; a client that sends one must still get its connection.',
  ),
  idempotencyKeyCharacters: assume(
    'Unicode code points of UTF-8',
    'Characters are counted as in texts; the bytes of a header that are no UTF-8 count each.',
  ),
  idempotencyKeyTwice: assume(
    'invalid_request',
    'Several headers name several keys, and none is the right one.',
  ),
  replayOfDeleted: assume(
    'not_found',
    'A late repeat must not make a second connection of one that its owner deleted.',
  ),
  replayOfPaired: assume('without `qr`', 'As in the detail: there is nothing left to scan.'),
  makerReaches: assume(
    true,
    'A key with a list of connections gets what it creates onto the list, or it could never show the picture.',
  ),
  messagesOfDeleted: assume('deleted', 'Removed permanently means the messages too.'),
  mediaLifetimeMs: assume(
    30 * day,
    'How long files can be fetched is not shown; afterwards `mediaUrl` is null and the type stays.',
  ),
  mediaWithoutCredential: assume(
    true,
    'A `media_url` is publicly fetchable: whoever has it reads the file. It cannot be guessed, nor listed.',
  ),
  mediaText: assume(
    'caption',
    'Where a caption shows is not told; it is the `text` of the message, null for a file without one.',
  ),
  captionCharacters: assume(
    4_096,
    'No bound is shown for captions; they are texts, so that of a text holds.',
  ),
  mediaKey: assume(
    'as for text',
    'The key is documented for text sends; a client that relies on it for a file must not send it twice.',
  ),
  mediaNames: assume(
    { controlCharacters: 'refused', folders: 'left out when served' },
    'Only the names of voice notes are shown; a name must be able to stand in a header.',
  ),
  sendHeal: assume(
    { leastMs: 20 * second, drawMs: 100 * second, giveUpMs: 130 * second, triedFor: 'session_ageing' },
    'Only the bound of about 2.5 minutes is shown, typing included; a worn session heals, or is given up by then.',
  ),
  warmupCaps: assume(
    [
      { untilMs: day, perHour: 30 },
      { untilMs: 2 * day, perHour: 60 },
      { untilMs: 3 * day, perHour: 120 },
    ],
    'Hourly caps for 72 hours are shown without figures; any hour counts, and the caps rise by the day.',
  ),
  sendsPerMinute: assume(
    3_000,
    'The threshold of the abuse limiter is not shown; per connection, and far above what anybody types.',
  ),
  receiptThroughDeadSession: assume(
    'marked',
    'No refusal is listed for receipts but the common ones; the service knows what was read, the phone hears later.',
  ),
  webhookNotation: assume(
    { plainlyWritten: true, cloudHosts: 'refused' },
    'Localhost and private ranges are refused; so is a host in a notation that hides where it leads.',
  ),
  placeOfSendKey: assume(
    'after the connection, before the licence',
    'No order is shown; a repeat gets its first answer though the licence lapsed since: the phone has the message.',
  ),
  nextExpiry: assume(
    'the next end to come',
    'Renew before this date: one that has passed is shown only where no other is to come, or it would hide them.',
  ),
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
  oauthConnectionsLeftOut: assume(
    'all of the workspace',
    'Without a list the one who approves chooses; where nobody is asked, the app gets what is there.',
  ),
  oauthScopeLeftOut: assume(
    'all of the app',
    'A request without scopes is not mentioned; RFC 6749 asks for a default or a refusal.',
  ),
  oauthAccessToken: assume(
    { algorithm: 'ES256', subject: 'the workspace', audience: 'REST and tools, unless `resource` names one' },
    'Only JWT and 15 minutes are shown; the rest follows RFC 9068.',
  ),
  oauthConsentLifetimeMs: assume(
    10 * 60 * second,
    'How long somebody may think about a consent is not shown; a user code lives as long as its page.',
  ),
  oauthConsentsPerApp: assume(
    1_000,
    'How many pages of an app may wait is not shown; with one more its oldest page is over, whatever time it is.',
  ),
  oauthGrantLifetimeMs: assume(
    365 * day,
    'Refresh tokens of 30 days follow one another without an end that is shown; after a year the owner is asked again.',
  ),
  oauthUserCode: assume(
    { letters: 'BCDFGHJKLMNPQRSTVWXZ', length: 8, tries: 5, triesWithinMs: 15 * 60 * second },
    'Its form is not shown; letters that read alike or spell words are left out, and few wrong ones are taken.',
  ),
  oauthUserCodeEntry: assume(
    'the page shows it, the admin enters it in the portal, the page goes on',
    'The admin approves in the portal; the sandbox is that hand, and without a code takes the one page that waits.',
  ),
  oauthPortalConsent: assume(
    'all that was asked for, over all connections of the portal',
    'A portal admin approves with a code alone; what else there may be to choose is not shown.',
  ),
  oauthConsentWithoutScript: assume(
    true,
    'The pages are not shown; they must work wherever a person opens them.',
  ),
  oauthReuse: assume(
    'ends the grant',
    'What a second use of a code or refresh token does is not shown; one of its two users is a thief.',
  ),
  oauthRevocation: assume(
    'ends the grant, by either token',
    'RFC 7009 leaves open what else ends; an access token is only a proof of its grant.',
  ),
  oauthRedirects: assume(
    'HTTPS, loopback HTTP or a private-use scheme; compared character by character, ports included',
    'Which addresses may be registered is not shown; a code must not travel in the clear, nor to a neighbour.',
  ),
  oauthSigningKeys: assume(
    { signsForMs: 90 * day, shownBeforeMs: day, atRest: 'in the clear' },
    'Rotation is not shown; clients find a new key in the JWKS a day before it signs, and an old one until its last token has ended. A simulator has nothing to seal them with.',
  ),
  oauthNarrowing: assume(
    'in the portal, from the next call on; more needs another consent',
    'Keys are narrowed live; what somebody has consented to can be taken back in part, and never grows unasked.',
  ),
  oauthKeptMs: assume(
    30 * day,
    'How long ended grants are shown is not told. A used code is known as long as its grant, a used refresh token for the 30 days that it was good for: a second use within ends the grant.',
  ),
  oauthClearUpEveryMs: assume(
    60 * 60 * second,
    'Not shown. What has ended is refused before it is removed, so nobody sees when that happens.',
  ),
  toolCredential: assume(
    'access tokens alone',
    'The tool server authenticates with OAuth 2.0; an API key is for automating its own account.',
  ),
  toolScopes: assume(
    ['messaging.read', 'messaging.send'],
    'What the tools need, and what their metadata asks for; a missing one is 403 with the scopes to ask for.',
  ),
  toolShapes: assume(
    'the fields of REST, without aliases and network ids',
    'Inputs and outputs are not shown; strict inputs catch what a model makes up, outputs may gain fields.',
  ),
  toolFiles: assume(false, 'A model has no file to send; texts go by the rules of `POST /messages`.'),
  toolSend: assume(
    { progressEveryMs: 5 * second, answerWithinMs: 45 * second, sameSendWithinMs: 10 * 60 * second },
    'Clients give up after 60 s and models call again; an equal message without a key is such a repeat for a while.',
  ),
  toolRefusals: assume(
    'in the result, as `code: what to do`',
    'A model reads results, not HTTP statuses; 401 and 403 stay on HTTP, where clients look for them.',
  ),
  toolBatches: assume(
    'refused',
    'Revisions since 2025-06-18 have none: a call has one answer and one record.',
  ),
  toolOrigins: assume(
    'any but plain HTTP from elsewhere',
    'A token never comes by itself, so pages may call; only a page on plain HTTP can be a rebound name.',
  ),
} as const satisfies Readonly<Record<string, Assumption<unknown>>>;
