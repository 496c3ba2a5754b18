import { section } from './requirement.ts';

/** Heading of what is not in the specification: our readings where it says two things, or nothing. */
export const CHOICES_HEADING = 'Our choice';

/** How we read the specification where it leaves room. Values stand in `src/platform/kernel/assumptions.ts`. */
export const CHOICES = section(CHOICES_HEADING, {
  'choice.limit.refused':
    'A `limit` outside 1 to 100, or no integer, is 400 `invalid_request` with `field: "limit"`.',
  'choice.cursor.refused':
    'A forged, foreign or malformed `cursor` is 400 `invalid_request` with `field: "cursor"`.',
  'choice.cursor.bound': 'A cursor is bound to workspace and filter, not to the key; the last page has none.',
  'choice.content.neither':
    'A send with neither `text` nor `media` is 400 `text_or_media`, as one with both.',
  'choice.to.field':
    'A bad `to` is 400 `invalid_request` with `field: "to"`; `invalid_phone_number` is for `phoneNumber`.',
  'choice.text.code-points': '4096 characters are Unicode code points.',
  'choice.media.characters': '16 MB are 16 × 1024 × 1024 characters of base64.',
  'choice.attempts.from-end': 'The waits of 500 ms and 1 s count from the end of the attempt before.',
  'choice.payload.exact': 'Webhook payloads have exactly the documented keys.',
  'choice.unpaired': 'A connection that never paired is not listed, and counts in `connections.total`.',
  'choice.slot.inherited':
    'The next number that pairs takes the rest of a returned slot; an unused slot starts a trial.',
  'choice.next-expiry':
    '`nextExpiry` is the earliest end of a license still to come, else of one that has passed; null while no number has paired.',
  'choice.account.reach':
    'A key with a list of connections sees the slots of its workspace, and counts the connections that it reaches.',
  'choice.account.portal': 'The add-ons of a portal workspace are its slots, none of them available.',
  'choice.slot.run-out': 'A returned slot whose time is over stays used until it is renewed.',
  'choice.outage.hidden': 'Until it is found a broken connection is shown as connected.',
  'choice.outage.unfound': 'A recovery, or a heal, before an outage was found tells nothing.',
  'choice.outage.messages':
    'What people write during an outage arrives after it, in its order and with the time of arrival.',
  'choice.outage.receipts': 'Receipts of an outage arrive after it, with the time at which they happened.',
  'choice.outage.unlicensed':
    'What happened while the license was expired is never told, and an outage then counts as not reported.',
  'choice.blocked': 'What a blocked person writes never arrives, and the person is not told.',
  'choice.send-key.other-body':
    'An `idempotencyKey` of a send with another connection, recipient or content is 400 `idempotency_key_reuse`.',
  'choice.send-key.reach':
    'An equal send with a known key gets the first answer if its credential reaches the connection, else 404.',
  'choice.send-key.lifetime': 'The key of a send lives 24 hours, per workspace.',
  'choice.send-key.remembers':
    'The key of a send remembers answers 200 alone; an error frees it, and so does a crash.',
  'choice.send.refused':
    'A refused send stores no message; one that fails later is stored and becomes `failed`.',
  'choice.send.sent-event': 'A send tells `sent`, too.',
  'choice.wa-ids':
    'A media send names the network id twice, as `waMessageId` and `wa_message_id`; a text once.',
  'choice.picture.neutral': 'Without a picture `profilePicUrl` is a neutral one that the service serves.',
  'choice.webhook.before-put':
    'Before the first `PUT`, `GET /webhook` has `url: null` and a rotation is 400 `invalid_webhook`.',
  'choice.webhook.same-url': '`PUT /webhook` with the URL that is set issues a new secret.',
  'choice.webhook.unresolved':
    'A host that does not resolve is accepted; one that resolves to a private address is not.',
  'choice.foreign.same':
    'An unknown id, one of another workspace, one outside the key and a deleted one are the same 404.',
  'choice.unknown-route': 'An unknown address is 404 `not_found`.',
  'choice.wrong-method': 'A wrong method is 405 `method_not_allowed` with `Allow`.',
  'choice.host.foreign':
    'On a loopback address a `Host` that is not this machine is 400 `invalid_request` with `field: "Host"`.',
  'choice.body.no-json': 'A body that is no JSON object is 400 `invalid_request` with `field: "body"`.',
  'choice.body.bounded':
    'A body of more than 64 levels, or of more than 64 KiB beside its texts, is 400 `invalid_request` with `field: "body"`.',
  'choice.upload.places':
    'Files of one workspace that come in, or stop, leave room for others; beyond 80 of them a send is 429.',
  'choice.upload.pace':
    'A send whose body stops for 8 s, or comes slower than 32 KB a second, is 400 `invalid_request`.',
  'choice.body.too-large': 'A body that is too large is 413 `payload_too_large`.',
  'choice.no-credential': 'No credential at all is 401 `invalid_key` with a challenge.',
  'choice.forwarded-for': '`X-Forwarded-For` is believed from a configured proxy alone.',
  'choice.order':
    'Checks run in one order: credential, address, scope, workspace kind, body, connection, license, provider, state, rate.',
  'choice.unlicensed.hidden': 'An unlicensed connection is not listed, nor are its messages.',
  'choice.unlicensed.refused': 'Sends and read receipts of an unlicensed connection are 402.',
  'choice.unlicensed.allowed': 'Detail, restart, logout, deletion and pairing work without a license.',
  'choice.license.values': '`licenseStatus` is `trial`, `active`, `expired` or `none`.',
  'choice.license.ends': 'A license becomes `expired` by itself when its time is over.',
  'choice.tier.values': '`tier` is `basic` or `pro`.',
  'choice.qr.absent': 'The detail shows no `qr` while the connection is live.',
  'choice.qr.earlier': 'Pictures shown earlier stay good for their 20 s.',
  'choice.logout.silent': 'A logout tells no `connection.disconnected`: its owner asked for it.',
  'choice.logout.status': 'After a logout the status is `disconnected`.',
  'choice.marked': '`marked` counts what this call turned to read: 0 on a repeat.',
  'choice.marked.unknown': 'A receipt for an outgoing or unknown message is 404.',
  'choice.media-url': '`mediaUrl` is an unguessable address of the service, served as an attachment.',
  'choice.aliases': 'Aliases stand exactly where the tables list them.',
  'choice.oauth.token': 'An expired or malformed access token is 401 `invalid_token`.',
  'choice.oauth.grant': '403 `invalid_grant` is a create whose grant has no connection left.',
  'choice.oauth.webhook': 'The webhook calls of an app act on its own subscription.',
  'choice.oauth.user-code': 'The authorize page shows the user code, and the portal admin enters it.',
  'choice.oauth.developer': 'The signed-in developer is the owner of the workspace that owns the app.',
  'choice.oauth.legacy-events': '`events` of a legacy subscription lists `message.received` alone.',
  'choice.oauth.grant-end': 'A grant that is refreshed all the time ends a year after its consent.',
  'choice.oauth.consents-bounded': 'An app has 1,000 open consent pages at most; one more ends its oldest.',
  'choice.tools.credential':
    'The tool server takes access tokens alone; an API key is 401 `invalid_token` there.',
  'choice.tools.scope':
    'A tool without its scope is 403 with all scopes to ask for, those of the token included.',
  'choice.tools.refusal':
    'A refused tool call is a result that begins with the code of REST, and says what to do.',
  'choice.tools.early':
    'A send through a tool answers after 45 s at the latest that it is in progress, and goes on.',
  'choice.tools.repeat':
    'A send through a tool without a key is made once for ten minutes after the last equal call.',
  'choice.tools.key':
    'The key of a send through a tool stands for one message, whether it was first used by REST or by a tool.',
  'choice.tools.origin': 'Pages may call the tools, but no page on plain HTTP from another host.',
});

/**
 * What was chosen where no value steers the service: the code itself is the choice. Those with a value stand in
 * `src/platform/kernel/assumptions.ts`; together with `CHOICES` they are all that we chose.
 */
export const TOLD: Readonly<Record<string, { readonly choice: string; readonly because: string }>> = {
  sendKeyOfAnotherMessage: {
    choice: 'idempotency_key_reuse',
    because:
      'As for creates: the answer of another message would say that this one was sent, and show it to an app that may not read it.',
  },
  otherMethods: {
    choice: 'method_not_allowed',
    because:
      'HEAD and OPTIONS are not in the table; the service is called by servers, which preflight nothing.',
  },
  unknownInput: {
    choice: 'ignored',
    because:
      'Keys and query parameters that no table lists, a body of an endpoint without one, a charset: no rule refuses them.',
  },
  oversizedHeaders: {
    choice: '431',
    because:
      'A URL with headers over 16 KiB never reaches the API: its server answers without a body and hangs up.',
  },
  unsentCredential: {
    choice: 'invalid_key',
    because:
      'No code names a missing or repeated credential; a bad token in three parts is `invalid_token`, as of an app.',
  },
  accountOfListedKey: {
    choice: 'slots workspace; connections reachable',
    because:
      'What a key with a connection list sees is not shown; capacity is shared, other connections are not told.',
  },
  runOutSlot: {
    choice: 'used until renewed',
    because: 'A slot returns with its remaining time; one with none left would else start a second trial.',
  },
  deadSessionMeanwhile: {
    choice: 'sends refused; incoming kept; receipts kept',
    because:
      'What passes through a broken session is not shown; a network keeps messages for a number and hands them over late.',
  },
  keptMessage: {
    choice: 'createdAt arrival',
    because:
      'A late message bears the time it arrived: with the time it was written it would lie below pages already read.',
  },
  blockedContact: {
    choice: 'incoming vanishes; toldToWriter no; sends pass',
    because: 'Blocking is not shown; the one who is blocked is not told, and the owner may still write.',
  },
  silentWhileExpired: {
    choice: 'never told',
    because:
      'No events while the license is expired; what happened then is seen by polling, and counts as not reported.',
  },
  pairingCodeOnOffer: {
    choice: 'the newest',
    because: 'Each call gives a new code; two good ones at once help nobody.',
  },
  pairingCodeCap: {
    choice: 'sliding, declined requests included',
    because: 'A window that slides never lets ten through at its edge; the engine was asked either way.',
  },
  pairingCodeDeclined: {
    choice: 'numbers without an account on the network',
    because: 'Why the engine declines is not shown; a number that cannot pair is the plainest reason.',
  },
  pictureShown: {
    choice: 'whenever a qr connection is not live',
    because:
      'A broken connection is paired by the picture of its detail, so one is shown after an outage and a logout too.',
  },
  needsReconnectAfterLogout: {
    choice: 'yes',
    because:
      'A number that is logged out waits for a scan to come back; one that never paired waits for nobody.',
  },
  qrOnlyOperations: {
    choice: 'pairing-code, logout',
    because:
      'A number of the business platform never pairs: logged out, no call could bring it back. A restart changes nothing.',
  },
  restartFindsOutage: {
    choice: 'yes',
    because:
      'A restart of a connection shown live whose session is dead is told as the outage that it is, once.',
  },
  otherNumber: {
    choice: 'refused',
    because: "A connection keeps its number: with another one its messages would be a stranger's.",
  },
  sameNumberTwice: {
    choice: 'refused in a workspace that has it, as it pairs and by the hand of an admin; allowed in another',
    because:
      "Two connections of a number would show each message twice; other customers are nobody's business.",
  },
  labelDefault: {
    choice: 'the number, once it has paired',
    because: 'A label may be left out and the list shows a string; until then it is empty.',
  },
  createFieldsUnknown: {
    choice: 'ignored, and part of the body that a key is bound to',
    because: 'Other create fields are not shown; a client that sends one must still get its connection.',
  },
  idempotencyKeyCharacters: {
    choice: 'Unicode code points of UTF-8',
    because: 'Characters are counted as in texts; the bytes of a header that are no UTF-8 count each.',
  },
  idempotencyKeyTwice: {
    choice: 'invalid_request',
    because: 'Several headers name several keys, and none is the right one.',
  },
  replayOfDeleted: {
    choice: 'not_found',
    because: 'A late repeat must not make a second connection of one that its owner deleted.',
  },
  replayOfPaired: {
    choice: 'without qr',
    because: 'As in the detail: there is nothing left to scan.',
  },
  makerReaches: {
    choice: 'yes',
    because:
      'A key with a list of connections gets what it creates onto the list, or it could never show the picture.',
  },
  messagesOfDeleted: {
    choice: 'deleted',
    because: 'Removed permanently means the messages too.',
  },
  mediaWithoutCredential: {
    choice: 'yes',
    because:
      'A `media_url` is publicly fetchable: whoever has it reads the file. It cannot be guessed, nor listed.',
  },
  mediaText: {
    choice: 'caption',
    because:
      'Where a caption shows is not told; it is the `text` of the message, null for a file without one.',
  },
  captionCharacters: {
    choice: '4,096',
    because: 'No bound is shown for captions; they are texts, so that of a text holds.',
  },
  mediaKey: {
    choice: 'as for text',
    because:
      'The key is documented for text sends; a client that relies on it for a file must not send it twice.',
  },
  mediaNames: {
    choice: 'controlCharacters refused; folders left out when served',
    because: 'Only the names of voice notes are shown; a name must be able to stand in a header.',
  },
  receiptThroughDeadSession: {
    choice: 'marked',
    because:
      'No refusal is listed for receipts but the common ones; the service knows what was read, the phone hears later.',
  },
  webhookNotation: {
    choice: 'plainlyWritten yes; cloudHosts refused',
    because:
      'Localhost and private ranges are refused; so is a host in a notation that hides where it leads.',
  },
  placeOfSendKey: {
    choice: 'after the connection, before the license',
    because:
      'No order is shown; a repeat gets its first answer though the license lapsed since: the phone has the message.',
  },
  nextExpiry: {
    choice: 'the next end to come',
    because:
      'Renew before this date: one that has passed is shown only where no other is to come, or it would hide them.',
  },
  oauthConnectionsLeftOut: {
    choice: 'all of the workspace',
    because:
      'Without a list the one who approves chooses; where nobody is asked, the app gets what is there.',
  },
  oauthScopeLeftOut: {
    choice: 'all of the app',
    because: 'A request without scopes is not mentioned; RFC 6749 asks for a default or a refusal.',
  },
  oauthAccessToken: {
    choice: 'algorithm ES256; subject the workspace; audience REST and tools, unless resource names one',
    because: 'Only JWT and 15 minutes are shown; the rest follows RFC 9068.',
  },
  oauthUserCodeEntry: {
    choice: 'the page shows it, the admin enters it in the portal, the page goes on',
    because:
      'The admin approves in the portal; the sandbox is that hand, and without a code takes the one page that waits.',
  },
  oauthPortalConsent: {
    choice: 'all that was asked for, over all connections of the portal',
    because: 'A portal admin approves with a code alone; what else there may be to choose is not shown.',
  },
  oauthConsentWithoutScript: {
    choice: 'yes',
    because: 'The pages are not shown; they must work wherever a person opens them.',
  },
  oauthReuse: {
    choice: 'ends the grant',
    because:
      'What a second use of a code or refresh token does is not shown; one of its two users is a thief.',
  },
  oauthRevocation: {
    choice: 'ends the grant, by either token',
    because: 'RFC 7009 leaves open what else ends; an access token is only a proof of its grant.',
  },
  oauthRedirects: {
    choice: 'HTTPS, loopback HTTP or a private-use scheme; compared character by character, ports included',
    because:
      'Which addresses may be registered is not shown; a code must not travel in the clear, nor to a neighbour.',
  },
  oauthNarrowing: {
    choice: 'in the portal, from the next call on; more needs another consent',
    because:
      'Keys are narrowed live; what somebody has consented to can be taken back in part, and never grows unasked.',
  },
  toolCredential: {
    choice: 'access tokens alone',
    because: 'The tool server authenticates with OAuth 2.0; an API key is for automating its own account.',
  },
  toolShapes: {
    choice: 'the fields of REST, without aliases and network ids',
    because:
      'Inputs and outputs are not shown; strict inputs catch what a model makes up, outputs may gain fields.',
  },
  toolFiles: {
    choice: 'no',
    because: 'A model has no file to send; texts go by the rules of `POST /messages`.',
  },
  toolRefusals: {
    choice: 'in the result, as code: what to do',
    because:
      'A model reads results, not HTTP statuses; 401 and 403 stay on HTTP, where clients look for them.',
  },
  toolBatches: {
    choice: 'refused',
    because: 'Revisions since 2025-06-18 have none: a call has one answer and one record.',
  },
  toolOrigins: {
    choice: 'any but plain HTTP from elsewhere',
    because:
      'A token never comes by itself, so pages may call; only a page on plain HTTP can be a rebound name.',
  },
};
