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
    '`nextExpiry` is the earliest end of a licence still to come, else of one that has passed; null while no number has paired.',
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
    'What happened while the licence was expired is never told, and an outage then counts as not reported.',
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
    'Checks run in one order: credential, address, scope, workspace kind, body, connection, licence, provider, state, rate.',
  'choice.unlicensed.hidden': 'An unlicensed connection is not listed, nor are its messages.',
  'choice.unlicensed.refused': 'Sends and read receipts of an unlicensed connection are 402.',
  'choice.unlicensed.allowed': 'Detail, restart, logout, deletion and pairing work without a licence.',
  'choice.licence.values': '`licenseStatus` is `trial`, `active`, `expired` or `none`.',
  'choice.licence.ends': 'A licence becomes `expired` by itself when its time is over.',
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
