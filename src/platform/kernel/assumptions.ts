import type { OutageCause } from '../../contract/sandbox/connections.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { DISCONNECT_REASONS, MessageStatus, Tier } from '../../contract/service/statuses.ts';

/** One choice where the specification is silent or ambiguous. */
export interface Assumption {
  /** What the service does, in a sentence that can be read on its own. */
  readonly rule: string;
  /** Why; absent where the specification suggests the rule itself. */
  readonly because?: string;
  /** What the code reads. Durations are milliseconds of virtual time, under a name that ends in `Ms`. */
  readonly value?: unknown;
  /** Id that tests and source comments cite. A choice with an id must be proven. */
  readonly id?: `choice.${string}`;
}

type Topic = Readonly<Record<string, Assumption>>;

/** How an outage proceeds: the reported reason, whether a heal is tried first, whether the credentials survive. */
interface OutageRules {
  readonly reason: (typeof DISCONNECT_REASONS)[number];
  readonly healTried: boolean;
  readonly keepsCredentials: boolean;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const LICENSES = {
  slotsPerWorkspace: {
    rule: 'A new standalone workspace has this many slots unless the sandbox sets another number.',
    because: 'Plans and slot counts are not specified; ten is enough for most set-ups.',
    value: 10,
  },
  paidLicenseMs: {
    rule: 'A paid license or add-on is valid for this long.',
    because: 'Billing periods are not specified; a month is common.',
    value: 30 * day,
  },
  licenseValues: {
    id: 'choice.license.values',
    rule: '`licenseStatus` is `trial`, `active`, `expired` or `none`.',
  },
  licenseEnds: {
    id: 'choice.license.ends',
    rule: 'A license becomes `expired` as soon as its time is over.',
  },
  tierValues: { id: 'choice.tier.values', rule: '`tier` is `basic` or `pro`.' },
  tierByProvider: {
    rule: 'The provider determines the tier.',
    because: 'Only `basic` appears in the specification; the business platform is the larger offer.',
    value: { qr: 'basic', cloud_api: 'pro' } as Readonly<Record<'qr' | 'cloud_api', Tier>>,
  },
  // [errors.addon_required] [errors.license_inactive]
  licenseCode: {
    rule: 'The 402 code depends on the kind of workspace.',
    because:
      'The specification gives two codes for one status; portal connections need an add-on, standalone connections a license.',
    value: { crm_portal: 'addon_required', standalone: 'license_inactive' },
  },
  unlicensedHidden: {
    id: 'choice.unlicensed.hidden',
    rule: 'An unlicensed connection and its messages do not appear in lists.',
  },
  unlicensedRefused: {
    id: 'choice.unlicensed.refused',
    rule: 'A send or read receipt through an unlicensed connection returns 402.',
  },
  unlicensedAllowed: {
    id: 'choice.unlicensed.allowed',
    rule: 'An unlicensed connection can still be read by id, restarted, logged out, deleted and paired.',
  },
  slotInherited: {
    id: 'choice.slot.inherited',
    rule: 'A number that pairs takes a returned slot with its remaining time; if there is none, an unused slot starts a trial.',
  },
  slotRunOut: {
    id: 'choice.slot.run-out',
    rule: 'A returned slot without remaining time is neither used nor available until it is renewed.',
    because: 'Otherwise the same slot could start a second trial.',
  },
  nextExpiry: {
    id: 'choice.next-expiry',
    rule: '`nextExpiry` is the next license expiry; if all are past, the earliest one; null before any number has paired.',
    because: 'It is the date by which to renew: an expiry in the past must not hide the next one.',
  },
  accountReach: {
    id: 'choice.account.reach',
    rule: 'A key with a connection list sees all slots of its workspace, but counts only the connections on its list.',
    because: 'Capacity is shared; other connections are not disclosed.',
  },
  accountOfPortal: {
    id: 'choice.account.portal',
    rule: 'In a portal workspace, add-ons count as slots, and none is available.',
    because: 'Slots are specified without the kind of workspace, and a portal creates no connections by API.',
    value: { available: 0 },
  },
} as const satisfies Topic;

const CONNECTIONS = {
  liveStatusInList: {
    rule: 'The list shows a live connection with this status; the detail shows `connected`.',
    because: 'The specification uses both words for the same state.',
    value: 'open',
  },
  unpaired: {
    id: 'choice.unpaired',
    rule: 'A connection that has never paired does not appear in the list, but counts in `connections.total`.',
  },
  labelDefault: {
    rule: 'Without a label, `label` is empty until a number pairs, and then that number.',
    because: 'The label is optional in the request and a string in the response.',
  },
  createFieldsUnknown: {
    rule: 'Unknown fields of a create request are ignored, but count in the comparison of bodies for an `Idempotency-Key`.',
    because:
      'The specification mentions other fields without naming them; sending one must not prevent a create.',
  },
  makerReaches: {
    rule: 'A connection created by a key with a connection list is added to that list.',
    because: 'Otherwise the key could not read the QR code.',
  },
  aliases: { id: 'choice.aliases', rule: 'An alias appears only in the objects whose table lists it.' },
  pictureNeutral: {
    id: 'choice.picture.neutral',
    rule: 'Without a profile picture, `profilePicUrl` is a neutral picture that the service hosts.',
  },
  idempotencyKeyCharacters: {
    rule: 'The length of an `Idempotency-Key` is counted in Unicode code points; bytes that are not UTF-8 count one each.',
    because: 'Texts are counted in the same way.',
  },
  idempotencyKeyTwice: {
    rule: 'A request with several `Idempotency-Key` headers returns 400 `invalid_request`.',
    because: 'The headers may name different keys, and none takes precedence.',
  },
  replayOfDeleted: {
    rule: 'Repeating a create whose connection was deleted returns 404 `not_found`.',
    because: 'A late retry must not recreate a deleted connection.',
  },
  replayOfPaired: {
    rule: 'Repeating a create whose connection has paired returns no `qr`.',
    because: 'As in the detail, there is nothing left to scan.',
  },
  qrAbsent: { id: 'choice.qr.absent', rule: 'The detail has no `qr` while the connection is live.' },
  qrEarlier: {
    id: 'choice.qr.earlier',
    rule: 'Reading a new QR code does not shorten the 20 s of earlier ones.',
  },
  pictureShown: {
    rule: 'The detail has a `qr` whenever a `qr` connection is not live, so also after an outage or a logout.',
    because: 'A broken connection is paired again with the QR code of its detail.',
  },
  pairingCodeLifetimeMs: {
    rule: 'A pairing code is valid for this long.',
    because: 'Not specified; long enough to find the menu on a phone and type the code.',
    value: 3 * minute,
  },
  pairingCodeOnOffer: {
    rule: 'A new pairing code invalidates the previous one.',
    because: 'Each call returns a new code, and a client shows only the latest.',
  },
  pairingCodeCap: {
    rule: 'The cap on pairing codes is a sliding window, and declined requests count.',
    because:
      'A fixed window would allow ten requests around its edge; a declined request also reaches the engine.',
  },
  pairingCodeDeclined: {
    rule: 'The engine declines a pairing code for a number without an account on the network.',
    because: 'Reasons are not specified; a number that cannot pair is the simplest one.',
  },
  otherNumber: {
    rule: 'A connection cannot be paired with a number other than its first.',
    because: "Its messages would then mix with another number's.",
  },
  sameNumberTwice: {
    rule: 'Two connections of one workspace cannot have the same number, whether the owner pairs it or an admin adds it. Connections of different workspaces can.',
    because: 'Each message would appear twice; what other customers have paired is not disclosed.',
  },
  qrOnlyOperations: {
    rule: 'Pairing codes and logout are for `qr` connections only. A restart of a `cloud_api` connection changes nothing.',
    because: 'A `cloud_api` number is never paired, so no call could reconnect it after a logout.',
  },
  logoutStatus: { id: 'choice.logout.status', rule: 'After a logout, the status is `disconnected`.' },
  logoutSilent: {
    id: 'choice.logout.silent',
    rule: 'A logout sends no `connection.disconnected`.',
    because: 'The client asked for it.',
  },
  needsReconnectAfterLogout: {
    rule: 'A connection that was logged out has `needs_reconnect` set; one that has never paired does not.',
    because: 'A logged-out number waits for a new scan.',
  },
  messagesOfDeleted: {
    rule: 'Deleting a connection deletes its messages.',
    because: 'The specification says that the connection is removed permanently.',
  },
} as const satisfies Topic;

const OUTAGES = {
  outageCauses: {
    rule: 'The cause of an outage determines its `reason`, whether a heal is tried first, and whether the session credentials survive.',
    because:
      'Causes, reasons and healing are specified, but not how they combine; a heal makes sense for a session that has aged, not for one that is gone.',
    value: {
      // [state.outage.session-lost]
      session_lost: { reason: 'AUTH_LOST', healTried: false, keepsCredentials: false },
      // [state.outage.phone-off]
      phone_off: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      // [state.outage.session-ageing]
      session_ageing: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: false },
      // [state.outage.opened-elsewhere]
      opened_elsewhere: { reason: 'NEEDS_RECONNECT', healTried: false, keepsCredentials: true },
      zombie: { reason: 'HEAL_GIVEUP', healTried: true, keepsCredentials: true },
    } as Readonly<Record<OutageCause, OutageRules>>,
  },
  outageFoundAfterMs: {
    rule: 'An outage is detected after `least` or later. A heal that succeeds takes from `healedLeast` to `healedMost`.',
    because:
      'Only the upper bounds are specified; a successful heal ends before the outage would be reported.',
    value: { least: 30 * second, healedLeast: minute, healedMost: 10 * minute },
  },
  ownerPhoneOff: {
    rule: 'Switching the phone off starts an outage with this cause, and switching it on ends it.',
    because: 'The specification names a switched-off phone as a cause.',
    value: 'phone_off' as OutageCause,
  },
  outageHidden: {
    id: 'choice.outage.hidden',
    rule: 'A broken connection is shown as connected until the outage is detected.',
  },
  outageUnfound: {
    id: 'choice.outage.unfound',
    rule: 'An outage that ends before it is detected sends no events, whether the connection recovered or healed.',
  },
  restartFindsOutage: {
    rule: 'A restart that cannot resume the dead session of a connection that is shown as live reports the outage, once.',
    because: 'The restart detects it before the status probe does.',
  },
  deadSessionCode: {
    rule: 'A send through a dead session returns this code.',
    because:
      'The specification has no code for it; this one means that the recipient is not the reason, and that a retry may work.',
    value: 'send_failed',
  },
  outageMessages: {
    id: 'choice.outage.messages',
    rule: 'Messages written during an outage arrive after it, in their order; `createdAt` is the time of arrival.',
    because:
      'The network keeps messages for a number that is offline. With the time of writing, a client would not see them on the pages it has read.',
  },
  outageReceipts: {
    id: 'choice.outage.receipts',
    rule: 'Delivery and read updates of an outage arrive after it, with the time at which they happened.',
  },
  outageUnlicensed: {
    id: 'choice.outage.unlicensed',
    rule: 'Events that occur while the license is expired are never sent, and an outage then counts as not reported.',
    because: 'Clients see the changes by polling.',
  },
  // [service.qr.self-heal] [messages.send.latency-heal]
  sendHeal: {
    rule: 'A send waits for a broken session that can heal, for `min` plus up to `draw`. If the outage has the cause `triedFor` and does not heal, the send fails after `giveUp`; for any other cause it fails immediately.',
    because: 'Only the bound of about 2.5 minutes is specified, and it includes typing.',
    value: {
      minMs: 20 * second,
      drawMs: 100 * second,
      giveUpMs: LIMITS.sendSelfHealMaxMs - LIMITS.sendLongTextMaxMs,
      triedFor: 'session_ageing',
    },
  },
} as const satisfies Topic;

const NETWORK = {
  unknownNumber: {
    rule: 'A number that the sandbox has not described has an account, receives and reads each message after these delays, and does not reply.',
    because: 'The most common behavior is the default.',
    value: {
      onNetwork: true,
      deliverAfterMs: 400,
      readAfterMs: 2 * second,
      failAfterMs: null,
      autoReply: null,
    },
  },
  autoReplyAfterMs: {
    rule: 'An automatic reply is written this long after the message was read, or delivered if it is never read.',
    because: 'The delay is not specified; other people are simulated.',
    value: second,
  },
  // [status.read-early]
  readOvertakes: {
    rule: '`read` arrives before `delivered` with this probability; `delivered` then follows `lag` later.',
    because: 'The specification says that it may happen, but not how often.',
    value: { chance: 0.05, lagMs: 700 },
  },
  catchUpAfterMs: {
    rule: 'The network delivers the messages that it kept this long after the session works again.',
    because: 'Not specified.',
    value: second,
  },
  replacedText: {
    rule: 'In incoming texts, NUL and unpaired surrogates are replaced by this character.',
    because: 'They cannot be stored, and an incoming message must not be lost.',
    value: '\uFFFD',
  },
  incomingStatus: {
    rule: 'Incoming messages have this status.',
    because: 'The status ladder describes outgoing messages; an incoming one has been delivered.',
    value: 'delivered' as MessageStatus,
  },
  failureMessage: {
    rule: 'A failed message has this `errorMessage`.',
    because: 'Values of `errorMessage` are not specified.',
    value: 'The network could not deliver the message.',
  },
  blocked: {
    id: 'choice.blocked',
    rule: 'Messages from a blocked person never arrive, and the person is not notified. The owner can still write to them.',
    because: 'The specification does not mention blocking.',
  },
} as const satisfies Topic;

const SENDS = {
  contentNeither: {
    id: 'choice.content.neither',
    rule: 'A send with neither `text` nor `media` returns 400 `text_or_media`, like a send with both.',
  },
  toField: {
    id: 'choice.to.field',
    rule: 'An invalid `to` returns 400 `invalid_request` with `field: "to"`; `invalid_phone_number` is for `phoneNumber`.',
  },
  textCodePoints: {
    id: 'choice.text.code-points',
    rule: 'The 4096 characters of a text are Unicode code points.',
  },
  refusedText: {
    rule: 'A send whose text contains NUL or an unpaired surrogate returns this code.',
    because: 'Such a text cannot be stored unchanged.',
    value: 'invalid_request',
  },
  sendRefused: {
    id: 'choice.send.refused',
    rule: 'A rejected send stores no message; a send that fails later is stored and becomes `failed`.',
  },
  sendSentEvent: {
    id: 'choice.send.sent-event',
    rule: 'A successful send also triggers a `message.status` event with `sent`.',
  },
  waIds: {
    id: 'choice.wa-ids',
    rule: 'A media send returns the network id as `waMessageId` and as `wa_message_id`; a text send only as `waMessageId`.',
  },
  // [limits.send-humanization] [messages.send.latency-qr] [messages.send.latency-long]
  // [messages.send.latency-cloud-api]
  send: {
    rule: 'A `qr` send takes `qrBase`, plus up to `qrDraw`, plus `qrMsPerCharacter` for each character, but at most `qrLongest`. A `cloud_api` send takes `cloudApiLeast` plus up to `cloudApiDraw`.',
    because: 'Only ranges are specified: 1 to 7 s, about 20 s for long texts, about 1 s for `cloud_api`.',
    value: {
      qrBaseMs: LIMITS.sendHumanizedMinMs,
      qrDrawMs: 2 * second,
      qrMsPerCharacter: 30,
      qrLongestMs: LIMITS.sendLongTextMaxMs,
      cloudApiLeastMs: LIMITS.cloudApiSendMs - 200,
      cloudApiDrawMs: 400,
    },
  },
  // [limits.warmup-figures]
  warmupCaps: {
    rule: 'During warm-up a number may send this often in any 60 minutes, until this long after the warm-up began.',
    because: 'Hourly caps for 72 hours are specified, but not their figures.',
    value: [
      { untilMs: day, perHour: 30 },
      { untilMs: 2 * day, perHour: 60 },
      { untilMs: 3 * day, perHour: 120 },
    ],
  },
  // [limits.abuse]
  sendsPerMinute: {
    rule: 'The abuse limiter allows this many sends per minute and connection.',
    because: 'The threshold is not specified; this is far above what anyone types.',
    value: 3_000,
  },
  sendKeyLifetimeMs: {
    id: 'choice.send-key.lifetime',
    rule: 'The `idempotencyKey` of a send expires 24 hours after its first use. Keys are separate for each workspace.',
    because: 'Specified for creates only.',
    value: day,
  },
  sendKeyRemembers: {
    id: 'choice.send-key.remembers',
    rule: 'The key of a send is kept only if the send returns 200; an error or a crash frees it.',
  },
  sendKeyOtherBody: {
    id: 'choice.send-key.other-body',
    rule: 'A used `idempotencyKey` with a different connection, recipient or content returns 400 `idempotency_key_reuse`.',
    because:
      "The same as for creates. Returning the first response would claim that this message was sent, and could disclose another app's message.",
  },
  sendKeyReach: {
    id: 'choice.send-key.reach',
    rule: 'Repeating a send returns its first response if the credential has access to the connection, otherwise 404.',
  },
  placeOfSendKey: {
    rule: 'The key of a send is checked after the connection and before the license.',
    because: 'A retry of a message that was sent gets its response even if the license has lapsed since.',
  },
  sendInProgressRetryAfterSeconds: {
    rule: '409 `in_progress` has `Retry-After` with this many seconds.',
    because:
      'Most sends end within a second. The specification does not promise the header, so clients must not depend on it.',
    value: 1,
  },
} as const satisfies Topic;

const MEDIA = {
  mediaCharacters: {
    id: 'choice.media.characters',
    rule: 'The 16 MB of a file are 16 × 1024 × 1024 characters of base64.',
  },
  captionCharacters: {
    rule: 'A caption has at most 4096 characters.',
    because: 'No limit is specified; captions are texts.',
  },
  mediaText: {
    rule: 'The caption of a file is the `text` of its message; `text` is null without a caption.',
    because: 'The specification has no other field for it.',
  },
  mediaKey: {
    rule: 'The `idempotencyKey` of a media send works as for texts.',
    because: 'It is documented for text sends only, but a client that uses it must not send a file twice.',
  },
  mediaNames: {
    rule: 'A file name with control characters is rejected. Folders in a file name are removed when the file is served.',
    because: 'The name is sent in a header.',
  },
  mediaUrl: {
    id: 'choice.media-url',
    rule: '`mediaUrl` is an unguessable address of the service, which serves the file as an attachment.',
  },
  mediaWithoutCredential: {
    rule: 'Fetching a `mediaUrl` needs no credential.',
    because:
      'The specification calls the file publicly fetchable. Its address can be neither guessed nor listed.',
  },
  mediaLifetimeMs: {
    rule: 'A file can be fetched for this long. After that, `mediaUrl` is null and `mediaType` remains.',
    because: 'Not specified.',
    value: 30 * day,
  },
} as const satisfies Topic;

const READING = {
  limitRefused: {
    id: 'choice.limit.refused',
    rule: 'A `limit` that is not an integer from 1 to 100 returns 400 `invalid_request` with `field: "limit"`.',
  },
  cursorRefused: {
    id: 'choice.cursor.refused',
    rule: 'A forged, foreign or malformed `cursor` returns 400 `invalid_request` with `field: "cursor"`.',
  },
  cursorBound: {
    id: 'choice.cursor.bound',
    rule: 'A cursor is bound to its workspace and filter, not to the key. The last page has none.',
  },
  marked: {
    id: 'choice.marked',
    rule: '`marked` counts the messages that this call marked as read; a repeat returns 0.',
  },
  markedUnknown: {
    id: 'choice.marked.unknown',
    rule: 'A read receipt for an outgoing or unknown message returns 404.',
  },
  receiptThroughDeadSession: {
    rule: 'A read receipt through a dead session marks the messages as read.',
    because: 'The specification lists only the common errors for receipts; the phone is updated later.',
  },
} as const satisfies Topic;

const REQUESTS = {
  order: {
    id: 'choice.order',
    rule: 'Checks run in this order: credential, address, scope, workspace kind, body, connection, license, provider, state, rate.',
  },
  foreignSame: {
    id: 'choice.foreign.same',
    rule: 'Unknown ids, deleted ids, ids of other workspaces and ids the credential has no access to return the same 404.',
  },
  unknownRoute: { id: 'choice.unknown-route', rule: 'An unknown path returns 404 `not_found`.' },
  wrongMethod: {
    id: 'choice.wrong-method',
    rule: 'Any other method on a known path returns 405 `method_not_allowed` with `Allow`, including `HEAD` and `OPTIONS`.',
    because: 'The API is called by servers, which send no preflight requests.',
  },
  unknownInput: {
    rule: 'Unknown fields and query parameters, a body where none is expected, and a charset are ignored.',
    because: 'No rule rejects them.',
  },
  bodyNoJson: {
    id: 'choice.body.no-json',
    rule: 'A body that is not a JSON object returns 400 `invalid_request` with `field: "body"`.',
  },
  bodyTooLarge: {
    id: 'choice.body.too-large',
    rule: 'A body that is too large returns 413 `payload_too_large`.',
  },
  bodyBytes: {
    rule: 'A body has at most this many bytes.',
    because: 'Not specified; a send must hold 16 MB of base64 and its other fields.',
    value: { send: 17 * 1024 * 1024, other: 256 * 1024 },
  },
  encodedBody: {
    rule: 'A body with a `Content-Encoding` returns this code.',
    because: 'The specification does not mention it, and decompressing a body of unknown size is a risk.',
    value: 'invalid_request',
  },
  foreignHost: {
    id: 'choice.host.foreign',
    rule: 'On loopback, or with `PLATFORM_ALLOWED_HOSTS`, a `Host` that is neither this machine nor listed returns 400 with `field: "Host"`.',
    because: 'It comes from a web page whose domain was rebound to this machine.',
    value: 'invalid_request',
  },
} as const satisfies Topic;

const TOOLS = {
  toolCredential: {
    id: 'choice.tools.credential',
    rule: 'The tool server accepts only access tokens; an API key returns 401 `invalid_token`.',
    because: 'The specification says that it authenticates with OAuth 2.0.',
  },
  toolScopes: {
    rule: 'The metadata of the tool server lists these scopes.',
    because: 'The tools need no others.',
    value: ['messaging.read', 'messaging.send'],
  },
  toolsScope: {
    id: 'choice.tools.scope',
    rule: 'A tool without its scope returns 403. The challenge lists the missing scope and those that the token has.',
    because: 'A client that asked only for the missing scope would lose the others.',
  },
  toolShapes: {
    rule: 'Inputs and outputs of the tools have the fields of the REST API, without aliases and network ids. Unknown inputs are rejected.',
    because: 'Shapes are not specified; strict inputs catch fields that a model makes up.',
  },
  toolFiles: {
    rule: 'Tools send texts only, by the rules of `POST /messages`.',
    because: 'A model has no file to send.',
  },
  toolRefusal: {
    id: 'choice.tools.refusal',
    rule: 'A rejected tool call returns a result that begins with the error code of REST and says what to do.',
    because: 'Models read results, not HTTP statuses. Clients expect 401 and 403 in HTTP.',
  },
  toolBatches: {
    rule: 'The tool server rejects JSON-RPC batches.',
    because: 'The protocol has none since revision 2025-06-18.',
  },
  toolOrigin: {
    id: 'choice.tools.origin',
    rule: 'Web pages can call the tools, except pages on plain HTTP that are not on loopback.',
    because:
      'Browsers never send the token on their own; only a page on plain HTTP can have a rebound domain.',
  },
  toolSend: {
    rule: 'A tool call answers when its send has ended, as `POST /messages` does. Without a key, each call is a new send.',
    because: 'Neither an earlier answer nor another rule for repeated calls is specified.',
  },
  toolKey: {
    id: 'choice.tools.key',
    rule: 'REST and tools share the keys of sends: one key identifies one message.',
  },
} as const satisfies Topic;

const CREDENTIALS = {
  noCredential: {
    id: 'choice.no-credential',
    rule: 'A missing or repeated credential returns 401 `invalid_key` with a challenge.',
    because: 'The specification has no code for it.',
  },
  oauthToken: {
    id: 'choice.oauth.token',
    rule: 'An expired or malformed access token returns 401 `invalid_token`.',
    because: 'A token of three parts, separated by dots, counts as an access token.',
  },
  forwardedFor: {
    id: 'choice.forwarded-for',
    rule: '`X-Forwarded-For` is trusted only from a configured proxy.',
  },
  challengeOfAddress: {
    rule: 'The challenge of 403 `ip_not_allowed` has this `error` parameter.',
    because: 'Authentication errors carry one, and no registered value fits.',
    value: 'ip_not_allowed',
  },
} as const satisfies Topic;

const OAUTH = {
  // [oauth.paths]
  oauthPaths: {
    rule: 'The OAuth endpoints have these paths.',
    because: 'Not specified; clients read them from the discovery document.',
    value: {
      authorize: '/oauth/authorize',
      token: '/oauth/token',
      revoke: '/oauth/revoke',
      jwks: '/oauth/jwks',
      consent: '/oauth/consent',
    },
  },
  oauthRedirects: {
    rule: 'A redirect URI uses HTTPS, loopback HTTP or a private-use scheme, and must match exactly, including the port.',
    because: 'A code must not travel unencrypted or reach another application.',
  },
  oauthConnectionsParameter: {
    rule: 'An authorize request lists connection ids in this parameter, separated by spaces.',
    because: 'The specification mentions the list but not its parameter.',
    value: 'connection_ids',
  },
  oauthConnectionsLeftOut: {
    rule: 'Without a connection list, the person who approves chooses; if approval is automatic, the app gets all connections.',
    because: 'The specification rejects an empty list but does not mention a missing one.',
  },
  oauthScopeLeftOut: {
    rule: 'An authorize request without scopes asks for all scopes of the app.',
    because: 'RFC 6749 requires a default or a rejection.',
  },
  oauthUserCodeEntry: {
    id: 'choice.oauth.user-code',
    rule: 'The authorize page shows the user code, the portal admin enters it in the portal, and the page continues.',
    because: 'The sandbox acts as the admin; without a code, it approves the only waiting page.',
  },
  oauthUserCode: {
    rule: 'A user code has `length` of these letters.',
    because: 'Not specified; letters that look alike or form words are left out.',
    value: { letters: 'BCDFGHJKLMNPQRSTVWXZ', length: 8 },
  },
  oauthPortalConsent: {
    rule: 'A portal admin approves everything that was asked for; without a list, that is all connections of the portal.',
    because: 'The admin enters only a code.',
  },
  oauthDeveloper: {
    id: 'choice.oauth.developer',
    rule: 'The signed-in developer is the owner of the workspace that owns the app.',
  },
  oauthConsentLifetimeMs: {
    rule: 'A consent page and its user code are valid for this long.',
    because: 'Not specified.',
    value: 10 * minute,
  },
  oauthConsentWithoutScript: {
    rule: 'The consent pages work without JavaScript.',
    because: 'They must work wherever a person opens them.',
  },
  oauthCodeLifetimeMs: {
    rule: 'An authorization code is valid for this long.',
    because: 'Not specified; clients redeem it immediately.',
    value: minute,
  },
  oauthAccessToken: {
    rule: 'Access tokens are signed with ES256. The subject is the workspace; the audience is REST and tools unless `resource` names one.',
    because: 'Only a JWT and 15 minutes are specified; the rest follows RFC 9068.',
  },
  oauthSigningKey: {
    rule: 'One key signs all access tokens. It is stored unencrypted.',
    because: 'Rotation is not specified; a simulator has nothing to encrypt the key with.',
  },
  oauthGrant: {
    id: 'choice.oauth.grant',
    rule: 'A create by a grant that has no connections left returns 403 `invalid_grant`.',
  },
  oauthGrantLifetimeMs: {
    id: 'choice.oauth.grant-end',
    rule: 'A grant ends a year after its consent, even if its tokens are still refreshed.',
    because: 'Refresh tokens of 30 days could otherwise follow one another forever.',
    value: 365 * day,
  },
  oauthReuse: {
    rule: 'A second use of an authorization code or refresh token ends the grant.',
    because: 'One of the two users may have stolen it.',
  },
  oauthRevocation: {
    rule: 'Revoking an access token or a refresh token ends the grant.',
    because: 'RFC 7009 leaves this open.',
  },
  oauthNarrowing: {
    rule: 'A grant can be narrowed in the portal, from the next call on. Widening it needs a new consent.',
    because: 'As for API keys.',
  },
} as const satisfies Topic;

const WEBHOOKS = {
  webhookBeforePut: {
    id: 'choice.webhook.before-put',
    rule: 'Before the first `PUT`, `GET /webhook` returns `url: null` and a rotation returns 400 `invalid_webhook`.',
  },
  webhookSameUrl: {
    id: 'choice.webhook.same-url',
    rule: '`PUT /webhook` with the current URL issues a new secret.',
  },
  webhookUnresolved: {
    id: 'choice.webhook.unresolved',
    rule: 'A webhook host that does not resolve is accepted; one that resolves to a private address is rejected.',
  },
  webhookAddress: {
    rule: 'A webhook URL may have any port and this many characters. A host that takes longer to look up counts as unresolved.',
    because: 'The specification requires only HTTPS and a public host.',
    value: { characters: 2_048, unresolvedAfterMs: 3 * second },
  },
  webhookNotation: {
    rule: 'A webhook host in an unusual notation is rejected, such as a decimal IP address, and so is a host inside a cloud, such as `metadata.google.internal`.',
    because: 'Such a notation can hide a private address.',
  },
  webhookSecret: {
    rule: 'A webhook secret has this prefix and this many random bytes.',
    because: 'Not specified; the prefix distinguishes it from other credentials.',
    value: { prefix: 'whsec_', bytes: 32 },
  },
  oauthWebhook: {
    id: 'choice.oauth.webhook',
    rule: 'Webhook endpoints called with an access token act on the subscription of the app.',
  },
  oauthLegacyEvents: {
    id: 'choice.oauth.legacy-events',
    rule: '`events` of a subscription from before the cut-over lists only `message.received`.',
  },
  payloadExact: { id: 'choice.payload.exact', rule: 'Webhook payloads have exactly the documented fields.' },
  webhookContentType: {
    rule: 'Webhook deliveries have this `Content-Type`.',
    because: 'Only the two signature headers are specified; the payload is JSON.',
    value: 'application/json',
  },
  attemptsFromEnd: {
    id: 'choice.attempts.from-end',
    rule: 'The waits of 500 ms and 1 s between attempts start when the previous attempt ends.',
  },
  webhookAnswerComplete: {
    rule: 'An attempt succeeds when a 2xx response has arrived completely within its 10 s. A 2xx response whose body is cut off, or has not ended by then, is a failure.',
    because:
      'The timeout applies to the attempt, of which the response is a part. A receiver must survive repeated deliveries in any case.',
  },
  webhookAnswerHead: {
    rule: 'A response with more than 16 KiB of headers is a failure, and so is one that begins with a `100 Continue` that was not asked for. Other interim responses (102, 103) are skipped.',
    because:
      'The specification sets no limit for headers; 16 KiB is common. The HTTP client of this implementation reads no unexpected `100 Continue`, although RFC 9110 (15.2) lets a receiver send one.',
  },
  webhookAttemptsAtOnce: {
    rule: 'An account has this many attempts at once. Further events wait.',
    because: 'A receiver that does not answer must not delay other accounts.',
    value: 64,
  },
} as const satisfies Topic;

/** All choices by topic, in the order of the specification. `docs/appendix/choices.md` lists them. */
export const TOPICS = {
  'Licenses and slots': LICENSES,
  'Connections and pairing': CONNECTIONS,
  Outages: OUTAGES,
  'The simulated network': NETWORK,
  'Sending messages': SENDS,
  Media: MEDIA,
  'Reading messages and read receipts': READING,
  'Requests and errors': REQUESTS,
  'Tool server': TOOLS,
  Credentials: CREDENTIALS,
  'OAuth 2.0': OAUTH,
  Webhooks: WEBHOOKS,
} as const satisfies Readonly<Record<string, Topic>>;

type Topics = typeof TOPICS;
type Choices = { [T in keyof Topics]: (choices: Topics[T]) => void }[keyof Topics];

/**
 * Every choice by its name. Code reads the values only here. Where several readings of the specification are
 * possible, the choice is one that a careful client handles either way.
 */
export const ASSUMPTIONS = Object.assign({}, ...Object.values(TOPICS)) as Choices extends (
  choices: infer All,
) => void
  ? All
  : never;
