import type { CitedMutant } from './find-mutant.ts';

/** Ways to break rules of the specification, each of which must fail a test that cites the rule. */
export const MUTANTS: readonly CitedMutant[] = [
  // Figures.
  { rule: 'limits.text', find: 'textCharacters: 4096,', replace: 'textCharacters: 4097,' },
  {
    rule: 'limits.media',
    find: 'mediaBase64Characters: 16 * 1024 * 1024,',
    replace: 'mediaBase64Characters: 15 * 1024 * 1024,',
  },
  { rule: 'limits.page', find: 'pageSizeMax: 100,', replace: 'pageSizeMax: 101,' },
  { rule: 'messages.list.limit', find: 'pageSizeMin: 1,', replace: 'pageSizeMin: 0,' },
  { rule: 'messages.list.limit-default', find: 'pageSizeDefault: 20,', replace: 'pageSizeDefault: 21,' },
  {
    rule: 'limits.idempotency-key',
    find: 'idempotencyKeyCharacters: 255,',
    replace: 'idempotencyKeyCharacters: 256,',
  },
  {
    rule: 'connections.create.idempotency.lifetime',
    find: 'idempotencyKeyLifetimeMs: 24 * hour,',
    replace: 'idempotencyKeyLifetimeMs: 25 * hour,',
  },
  {
    rule: 'connections.create.idempotency.in-flight-wait',
    find: 'idempotencyInProgressRetryAfterSeconds: 1,',
    replace: 'idempotencyInProgressRetryAfterSeconds: 2,',
  },
  { rule: 'limits.pairing-codes', find: 'pairingCodesPerWindow: 5,', replace: 'pairingCodesPerWindow: 6,' },
  {
    rule: 'connections.pairing-code.cap',
    find: 'pairingCodeWindowMs: 15 * minute,',
    replace: 'pairingCodeWindowMs: 16 * minute,',
  },
  { rule: 'limits.qr-rotation', find: 'qrRotationMs: 20 * second,', replace: 'qrRotationMs: 30 * second,' },
  { rule: 'limits.webhook-retries', find: 'webhookAttempts: 3,', replace: 'webhookAttempts: 2,' },
  {
    rule: 'delivery.attempts',
    find: 'webhookAttemptDelaysMs: [0, 500, 1_000],',
    replace: 'webhookAttemptDelaysMs: [0, 500, 2_000],',
  },
  {
    rule: 'delivery.timeout',
    find: 'webhookAttemptTimeoutMs: 10 * second,',
    replace: 'webhookAttemptTimeoutMs: 11 * second,',
  },
  { rule: 'limits.warmup', find: 'warmupMs: 72 * hour,', replace: 'warmupMs: 73 * hour,' },
  { rule: 'limits.trial', find: 'trialMs: 7 * day,', replace: 'trialMs: 8 * day,' },
  {
    rule: 'limits.tokens',
    find: 'accessTokenLifetimeMs: 15 * minute,',
    replace: 'accessTokenLifetimeMs: 16 * minute,',
  },
  {
    rule: 'limits.disconnect-detection',
    find: 'disconnectDetectionMs: 5 * minute,',
    replace: 'disconnectDetectionMs: 60 * minute,',
  },

  // Credentials.
  {
    rule: 'auth.key.off-list',
    find: 'return { allowed: entry !== null, entry };',
    replace: 'return { allowed: true, entry };',
  },
  {
    rule: 'auth.key.no-allowlist',
    find: 'if (entries === null) return { allowed: true, entry: null };',
    replace: 'if (entries === null) return { allowed: false, entry: null };',
  },
  {
    rule: 'auth.key.revoked',
    find: 'if (row.revokedAt !== null) throw',
    replace: 'if (row.revokedAt === 0) throw',
  },
  { rule: 'scopes.missing', find: 'if (!scopes.includes(scope)) {', replace: 'if (scopes.length === 0) {' },

  // Connections.
  {
    rule: 'connections.create.standalone-only',
    find: 'if (workspaceKind !== onlyFor) {',
    replace: 'if (workspaceKind === undefined) {',
  },
  {
    rule: 'connections.create.idempotency.blank',
    find: "if (key.trim() === '') return null;",
    replace: "if (key === '') return null;",
  },
  {
    rule: 'connections.create.idempotency.too-long',
    find: 'if (length > LIMITS.idempotencyKeyCharacters) {',
    replace: 'if (length > 2 * LIMITS.idempotencyKeyCharacters) {',
  },
  {
    rule: 'connections.create.idempotency.in-flight',
    find: 'if (held?.taken !== true) {',
    replace: 'if (held === undefined) {',
  },
  {
    rule: 'connections.create.idempotency.reuse',
    find: 'if (Buffer.compare(row.bodyHash, bodyHash) !== 0) {',
    replace: 'if (row.bodyHash.length === 0) {',
  },
  {
    rule: 'connections.create.idempotency.canonical',
    find: '.sort(([a], [b]) => (a > b ? -1 : 1))',
    replace: '',
  },
  {
    rule: 'connections.create.idempotency.per-workspace',
    find: '        eq(createKeys.workspaceId, workspaceId),\n        eq(createKeys.keyHash',
    replace: '        eq(createKeys.keyHash',
  },
  {
    rule: 'state.outage.needs-reconnect',
    find: "outage_found: { next: 'disconnected', needsReconnect: true,",
    replace: "outage_found: { next: 'disconnected', needsReconnect: false,",
  },
  {
    rule: 'state.paired.silent',
    find: "mayEmit && (sends === 'connection.disconnected' || reported)",
    replace: 'mayEmit',
  },
  {
    rule: 'choice.logout.silent',
    find: "logged_out: { next: 'disconnected', needsReconnect: true, sends: null },",
    replace: "logged_out: { next: 'disconnected', needsReconnect: true, sends: 'connection.disconnected' },",
  },
  {
    rule: 'connections.detail.status',
    find: "return state === 'live' ? 'connected' : state;",
    replace: "return state === 'live' ? 'open' : state;",
  },
  {
    rule: 'connections.item.name',
    find: '    phone: phoneNumber,\n    name: label,',
    replace: '    phone: phoneNumber,\n    name: phoneNumber,',
  },
  {
    rule: 'connections.detail.license_status',
    find: 'license_status: license.status,\n    license_expires: licenseExpires,',
    replace: "license_status: 'active',\n    license_expires: licenseExpires,",
  },
  {
    rule: 'service.standalone.paid-after',
    find: "if (expiresAt <= now) return { status: 'expired', valid: false, expiresAt };",
    replace: '',
  },
  { rule: 'service.slot.returns', find: 'neverUsed + pooled', replace: 'neverUsed' },
  {
    rule: 'account.connections.connected',
    find: "{state} = 'live')",
    replace: "{state} <> '')",
  },
  {
    rule: 'account.connections.needsReconnect',
    find: '{needsReconnect})`',
    replace: '{needsReconnect} is false)`',
  },

  // Messages.
  {
    rule: 'messages.send.one',
    find: '(body.text === undefined) !== (body.media === undefined), {\n    message: TEXT_OR_MEDIA,',
    replace: 'body.text === undefined || body.media === undefined, {\n    message: TEXT_OR_MEDIA,',
  },
  {
    rule: 'messages.send.both',
    find: "return has('text') && has('media');",
    replace: 'return has(TEXT_OR_MEDIA);',
  },
  {
    rule: 'messages.list.newest-first',
    find: '    .where(and(isListed, lt(position, below)))\n    .orderBy(desc(position))',
    replace: '    .where(and(isListed, lt(position, below)))\n    .orderBy(position)',
  },
  {
    rule: 'messages.list.filter',
    find: 'query.connectionId === undefined || id === query.connectionId',
    replace: "query.connectionId === undefined || id !== ''",
  },
  {
    rule: 'messages.list.cursor',
    find: 'cursors.write(scope, last.position)',
    replace: 'cursors.write(scope, last.position - 1)',
  },
  {
    rule: 'messages.list.answer',
    find: 'const hasMore = rows.length > page.length && last !== undefined;',
    replace: 'const hasMore = last !== undefined;',
  },
  {
    rule: 'choice.cursor.bound',
    find: 'given.length !== SEAL_BYTES || !timingSafeEqual(given, seal(scope, position))',
    replace: 'given.length !== SEAL_BYTES',
  },
  {
    rule: 'messages.read.message-wins',
    find: 'const person = named?.peer ?? phone;',
    replace: 'const person = phone ?? named?.peer ?? null;',
  },
  {
    rule: 'messages.read.incoming',
    find: 'where(and(eq(id, messageId), eq(messages.connectionId, connectionId), isIncoming))',
    replace: 'where(and(eq(id, messageId), eq(messages.connectionId, connectionId)))',
  },
  {
    rule: 'messages.read.cloud-api-phone',
    find: 'isIncoming))\n    .orderBy(desc(position))',
    replace: 'isIncoming))\n    .orderBy(position)',
  },
  {
    rule: 'messages.read.qr-chat',
    find: "if (connection.provider === 'qr') {\n      return markUnread",
    replace: "if (connection.provider === 'qr' && named === null) {\n      return markUnread",
  },
  {
    rule: 'messages.read.idempotent',
    find: "and(which, isIncoming, ne(status, 'read'))",
    replace: 'and(which, isIncoming)',
  },
  {
    rule: 'errors.warmup_limited',
    find: 'if (step !== null && hourRoomAt !== null) {',
    replace: 'if (step !== null && hourRoomAt === 0) {',
  },
  {
    rule: 'limits.abuse',
    find: 'if (minuteRoomAt !== null) refuse(',
    replace: 'if (minuteRoomAt === 0) refuse(',
  },
  {
    rule: 'status.failed-terminal',
    find: "if (current.status === 'failed' || (current.receipts & bit) !== 0) return null;",
    replace: 'if ((current.receipts & bit) !== 0) return null;',
  },
  {
    rule: 'status.failed-not-after-read',
    find: "if (receipt === 'failed') return current.status === 'read' ? null : {",
    replace: "if (receipt === 'failed') return {",
  },
  {
    rule: 'status.read-early',
    find: 'rises ? receipt : current.status',
    replace: 'receipt',
  },

  // Events and their delivery.
  {
    rule: 'events.qr-only',
    find: "return provider === 'qr' && license.expiresAt !== null",
    replace: 'return license.expiresAt !== null',
  },
  {
    rule: 'delivery.unlicensed',
    find: 'license.expiresAt !== null && license.expiresAt > at;',
    replace: 'license.expiresAt !== null;',
  },
  {
    rule: 'events.received.timestamp',
    find: 'timestamp: message.at,',
    replace: 'timestamp: Math.floor(message.at / 1_000),',
  },
  {
    rule: 'events.status.id',
    find: 'message: { id: report.id, wa_id: report.waMessageId,',
    replace: 'message: { id: connection.id, wa_id: report.waMessageId,',
  },
  {
    rule: 'delivery.signature',
    find: "const digest = createHmac('sha256', secret)",
    replace: "const digest = createHmac('sha512', secret)",
  },
  {
    rule: 'delivery.signature-header',
    find: "export const SIGNATURE_PREFIX = 'sha256=';",
    replace: "export const SIGNATURE_PREFIX = 'hmac-sha256=';",
  },
  {
    rule: 'delivery.redirect',
    find: 'status !== undefined && status >= 200 && status < 300',
    replace: 'status !== undefined && status >= 200 && status < 400',
  },
  {
    rule: 'delivery.success',
    find: 'status !== undefined && status >= 200 && status < 300',
    replace: 'status === 200',
  },
  {
    rule: 'webhook.url.https',
    find: "if (url.protocol !== 'https:') return 'it is not https';",
    replace: "if (!/^https?:$/.test(url.protocol)) return 'it is not https';",
  },
  {
    rule: 'webhook.url.private',
    find: "if (isIP(host) !== 0) return isPublicAddress(host) ? null : 'the host is a private address';",
    replace: 'if (isIP(host) !== 0) return null;',
  },
  {
    rule: 'webhook.get.no-secret',
    find: 'return { url: set?.url ?? null, events: [...EVENT_TYPES], secretSet: set !== undefined };',
    replace:
      'return { ...set, url: set?.url ?? null, events: [...EVENT_TYPES], secretSet: set !== undefined };',
  },
  {
    rule: 'webhook.rotate.at-once',
    find: 'await store(subscriptionId, { url: set.url, secret });',
    replace: 'await store(subscriptionId, set);',
  },

  // What a receiver and a client do.
  {
    rule: 'limits.signature-freshness',
    find: 'SIGNATURE_WINDOW_MS = 5 * 60 * 1000;',
    replace: 'SIGNATURE_WINDOW_MS = 6 * 60 * 1000;',
  },
  {
    rule: 'delivery.verify.stale',
    find: "if (request.now - signedAt > SIGNATURE_WINDOW_MS) return refuse('stale_timestamp');",
    replace: '',
  },
  {
    rule: 'delivery.verify.raw-bytes',
    find: '.update(request.body).digest();',
    replace: '.update(JSON.stringify(JSON.parse(Buffer.from(request.body).toString()))).digest();',
  },
  {
    rule: 'status.consumer.duplicates',
    find: "const rises = before !== 'read' && RANK[reported] > RANK[before];",
    replace: "const rises = before !== 'read' && RANK[reported] >= RANK[before];",
  },
  {
    rule: 'status.consumer.never-back',
    find: "const rises = before !== 'read' && RANK[reported] > RANK[before];",
    replace: 'const rises = reported !== before;',
  },
  {
    rule: 'status.failed-not-after-read',
    find: "const rises = before !== 'read' && RANK[reported] > RANK[before];",
    replace: 'const rises = RANK[reported] > RANK[before];',
  },
  {
    rule: 'events.client-ignores',
    find: "if (parser === undefined) return { kind: 'unknown', type: type.slice(0, typeMaxLength) };",
    replace: "if (parser === undefined) return { kind: 'not_an_event' };",
  },
];
