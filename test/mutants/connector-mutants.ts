import type { ConnectorMutant } from './find-mutant.ts';

/**
 * Ways to break what the connector promises, and what the patterns promise, each with the test
 * that must fail.
 */
export const CONNECTOR_MUTANTS: readonly ConnectorMutant[] = [
  // Signatures.
  {
    rule: 'connector.signature.timestamp-digits',
    test: 'test/patterns/verify-signature.test.ts',
    find: 'const TIMESTAMP = /^\\d{13}$/;',
    replace: 'const TIMESTAMP = /^\\d+$/;',
  },
  {
    rule: 'connector.signature.future',
    test: 'test/patterns/verify-signature.test.ts',
    find: "if (signedAt - request.now > SIGNATURE_WINDOW_MS) return refuse('future_timestamp');",
    replace: '',
  },
  {
    rule: 'connector.signature.empty-secret',
    test: 'test/patterns/verify-signature.test.ts',
    find: 'if (request.secrets.some(isEmpty))',
    replace: 'if (request.now === 0)',
  },
  {
    rule: 'connector.signature.one-value',
    test: 'must not come with two values',
    find: 'if (signatures.length > 1 || ',
    replace: 'if (',
  },
  {
    rule: 'connector.signature.before-content',
    test: 'is checked before the content',
    find: 'if (!signature.valid) return signature.reason;',
    replace: '',
  },
  {
    rule: 'connector.signature.replaced-secret',
    test: 'is good for what was signed before the replacement',
    find: 'const tooNew = check.timestamp > Math.min(',
    replace: 'const tooNew = 0 > Math.min(',
  },

  // Receiving.
  {
    rule: 'connector.receive.size-declared',
    test: 'is refused from the declared length',
    find: "if (declaresMore(request, limits.bodyBytes)) return 'too_large';",
    replace: '',
  },
  {
    rule: 'connector.receive.commit-before-200',
    test: 'while the database refuses connections',
    find: "return (await queue.add(delivery, body.bytes.length, deadline)) ? undefined : 'unavailable';",
    replace: 'return void queue.add(delivery, body.bytes.length, deadline);',
  },
  {
    rule: 'connector.receive.own-outcome',
    test: 'tells each item its own outcome',
    find: "entry.resolve(failed !== 'all' && !failed.has(entry.item))",
    replace: "entry.resolve(failed !== 'all')",
  },
  {
    rule: 'connector.receive.group-commit',
    test: 'gathers what arrives while a commit is under way',
    find: 'if (inFlight === 0 || entries.length >= limits.overlapItems) return true;',
    replace: 'return true;',
  },
  {
    rule: 'connector.receive.deadline',
    test: 'is answered 503 by its deadline',
    find: 'deadline.onPass(() => answer(visit.late));',
    replace: '',
  },
  {
    rule: 'connector.receive.memory-budget',
    test: 'admits what fits, and refuses what does not',
    find: 'if (taken <= maxBytes) return;',
    replace: 'if (taken >= 0) return;',
  },

  // The merge.
  {
    rule: 'connector.merge.status-order',
    test: 'agrees with the status pattern for all pairs',
    find: "AND m.status <> 'read')",
    replace: "AND m.status <> 'sent')",
  },
  {
    rule: 'connector.merge.failed-is-final',
    test: 'test/patterns/message-status.test.ts',
    find: 'read: 3, failed: 4 };\n\nexport interface StatusAfter',
    replace: 'read: 5, failed: 4 };\n\nexport interface StatusAfter',
  },
  {
    rule: 'connector.merge.first-value',
    test: 'keeps the first value that a source has reported',
    find: 'value: `coalesce(m.',
    replace: 'value: `coalesce(excluded.text, m.',
  },
  {
    rule: 'connector.merge.payload-time',
    test: 'orders connection events by their payload time',
    find: '.last_event_rank) > (c.last_event_at, c.last_event_rank)',
    replace: '.last_event_rank) IS NOT NULL',
  },
  {
    rule: 'connector.merge.fence',
    test: 'writes nothing once the lease has another holder',
    find: 'AND fence = ',
    replace: 'AND 0 <> ',
  },

  // Polling.
  {
    rule: 'connector.poll.overlap',
    test: 'test/patterns/reconcile-walk.test.ts',
    find: 'reached === null ? null : reached - options.overlapMs;\n  const known',
    replace: 'reached;\n  const known',
  },
  {
    rule: 'connector.poll.unseen-goes-on',
    test: 'test/patterns/reconcile-walk.test.ts',
    find: 'const whollyBelow = seen && gap.floor',
    replace: 'const whollyBelow = gap.floor',
  },
  {
    rule: 'connector.poll.watermark-last',
    test: 'test/patterns/reconcile-walk.test.ts',
    find: 'return { ...coverage, gaps: [...coverage.gaps, next] };',
    replace: 'return { watermark: later(coverage.watermark, gap.nextTop), gaps: [...coverage.gaps, next] };',
  },
  {
    rule: 'connector.poll.watermark-in-future',
    test: 'test/patterns/reconcile-walk.test.ts',
    find: 'time !== null && time <= latest + overlapMs ? time : null;',
    replace: 'time;',
  },
  {
    rule: 'connector.poll.lost-cursor',
    test: 'test/patterns/reconcile-walk.test.ts',
    find: 'return { ...gap, top: null, cursor: null, restarts: gap.restarts + 1 };',
    replace: 'return { ...gap, top: null, restarts: gap.restarts + 1 };',
  },
  {
    rule: 'connector.poll.gap-row',
    test: 'finally closes the gap',
    find: 'const saved = coverage.gaps.map(',
    replace: 'const saved = coverage.gaps.slice(0, 0).map(',
  },
  {
    rule: 'connector.poll.clock-set-back',
    test: 'hides nothing during a time without polls',
    find: 'return time > createdSince + OVERLAP_MS ? createdSince : time;',
    replace: 'return time;',
  },

  // Sends.
  {
    rule: 'connector.send.attempt-before-call',
    test: 'sends a file at most once',
    find: 'return toWriteResult(await db.query<WriteRow>(BEGIN, params));',
    replace: "db.query(BEGIN, params).catch(() => undefined);\n  return 'done';",
  },
  {
    rule: 'connector.send.same-key',
    test: 'continues with the same key',
    find: 'const head = { connectionId, to, idempotencyKey };',
    replace: 'const head = { connectionId, to, idempotencyKey: idempotencyKey + send.attempts };',
  },
  {
    rule: 'connector.send.23-hours',
    test: 'test/patterns/send-policy.test.ts',
    find: 'LAST_ATTEMPT_AFTER_MS = 23 * hour;',
    replace: 'LAST_ATTEMPT_AFTER_MS = 25 * hour;',
  },
  {
    rule: 'connector.send.lost-file',
    test: 'test/patterns/send-policy.test.ts',
    find: "if (situation.carries === 'media') return { next: 'unknown' };",
    replace: '',
  },
  {
    rule: 'connector.send.doubt-stays',
    test: 'test/patterns/send-policy.test.ts',
    find: "return { next: inDoubt ? 'unknown' : 'rejected' };",
    replace: "return { next: 'rejected' };",
  },
  {
    rule: 'connector.send.shortest-wait',
    test: 'test/patterns/send-policy.test.ts',
    find: 'Math.max(Math.min(askedMs, leftMs * 0.8), shortest)',
    replace: 'Math.min(askedMs, leftMs * 0.8)',
  },
  {
    rule: 'connector.send.order',
    test: 'none overtakes one that waits for a retry',
    find: 'ORDER BY n.position LIMIT 1)`',
    replace: 'ORDER BY n.next_attempt_at LIMIT 1)`',
  },

  // Dispatch.
  {
    rule: 'connector.dispatch.dead-letter',
    test: 'sets a change aside after its attempts',
    find: 'if (item.attempts >= row.attempts && items.length === 1) {',
    replace: 'if (item.attempts > row.attempts) {',
  },
  {
    rule: 'connector.dispatch.failure-holds-queue',
    test: 'is called again with the same key after a wait that grows',
    find: 'if (calling > 0 || (parked !== null && (!due || this.#dirty.has(key)))) return null;',
    replace: 'if (calling > 0) return null;',
  },
  {
    rule: 'connector.dispatch.killer-counts',
    test: 'counts as a failed call each time',
    find: 'this.#suspects = options.died ? SUSPECTS : 0;',
    replace: 'this.#suspects = 0;',
  },
  {
    rule: 'connector.dispatch.key-of-feed',
    test: 'gives each a key of its own',
    find: '(consumer: string, feedId: string, seq: number): string {',
    replace: '(_consumer: string, feedId: string, _seq: number): string {\n  return feedId;',
  },

  // Grants and consents.
  {
    rule: 'connector.grant.refresh-claim',
    test: 'are one on the wire',
    find: 'isNull(g.endedAt), isUnclaimed, isWaitOver(now)',
    replace: 'isNull(g.endedAt), isWaitOver(now)',
  },
  {
    rule: 'connector.grant.lost-answer',
    test: 'if an answer was lost before the server acted',
    find: 'if (!isLostAnswer(error)) throw error;\n    logger.warn',
    replace: 'throw error;\n    logger.warn',
  },
  {
    rule: 'connector.grant.single-flight',
    test: 'is not made for a late call with an old token',
    find: 'return stored.version > refused ? stored : await io.renew(stored);',
    replace: 'return await io.renew(stored);',
  },
  {
    rule: 'connector.consent.once',
    test: 'is finished once',
    find: 'isNull(oauthFlows.usedAt), ',
    replace: '',
  },
  {
    rule: 'connector.consent.browser',
    test: 'in another browser connects nothing',
    find: 'return flow.browser !== null && secret !== null && equalSecrets(digest(secret), flow.browser);',
    replace: 'return flow.browser !== null;',
  },
  {
    rule: 'connector.consent.first-browser',
    test: 'goes to one of two browsers that continue at the same moment',
    find: 'and(isOpen(id, now), isNull(oauthFlows.browser))',
    replace: 'isOpen(id, now)',
  },

  // Connections, leases, and what leaves the process.
  {
    rule: 'connector.create.same-key',
    test: 'is repeated with the same key',
    find: `then \${randomUUID()} else \${idempotencyKey} end`,
    replace: `then \${randomUUID()} else \${randomUUID()} end`,
  },
  {
    rule: 'connector.create.23-hours',
    test: 'is not repeated once its key may have expired',
    find: 'LIMITS.idempotencyKeyLifetimeMs - 60 * 60_000',
    replace: 'LIMITS.idempotencyKeyLifetimeMs + 60 * 60_000',
  },
  {
    rule: 'connector.lease.five-seconds',
    test: 'leaves everything free within five seconds',
    find: 'SILENT_MS = 3_500;',
    replace: 'SILENT_MS = 6_500;',
  },
  {
    rule: 'connector.lease.own-blindness',
    test: 'takes nobody for dead because of the time that it slept',
    find: 'lastBeatAt !== undefined && now - lastBeatAt > BLIND_MS',
    replace: 'lastBeatAt === -1',
  },
  {
    rule: 'connector.pairing.no-picture',
    test: 'stops after three minutes without one',
    find: 'LONGEST_WITHOUT_PICTURE_MS = 180_000;',
    replace: 'LONGEST_WITHOUT_PICTURE_MS = 280_000;',
  },
  {
    rule: 'connector.media.safe-type',
    test: 'test/connector/media/safe-type.test.ts',
    find: "'image/webp': 'webp',",
    replace: "'image/webp': 'webp',\n  'image/svg+xml': 'svg',",
  },
  {
    rule: 'connector.log.allow-list',
    test: 'leaks nothing through',
    find: 'fields: allowFields(merged),',
    replace: 'fields: { ...merged },',
  },
  {
    rule: 'connector.api.rights',
    test: 'test/connector/api/tokens.test.ts',
    find: 'if (!rights.includes(right)) {',
    replace: 'if (rights.length === 0) {',
  },
  {
    rule: 'connector.sealing.place',
    test: 'refuses a value moved to another place',
    find: "if (!equalSecrets(header.context, digest(context))) throw new SealingError('wrong_context');",
    replace: '',
  },
];
