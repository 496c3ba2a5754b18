import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADERS } from '../../contract/service/headers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';
import { clientAddress } from '../../runtime/http-server/connections.ts';
import { createMemoryBudget, type Share } from '../../runtime/http-server/memory-budget.ts';
import { declaresMore, freeBytes, readRawBody } from '../../runtime/http-server/request-body.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { FIRST_SUBSCRIPTION_ID, type SubscriptionSecrets } from '../accounts/subscription-secrets.ts';
import type { Audit } from '../audit/audit.ts';
import type { Base } from '../db/base.ts';
import type { BatchResult } from '../db/commit-batch.ts';
import type { RawDelivery } from '../db/facts.ts';
import type { AnswerLog } from './answer-log.ts';
import { answerRefusal, answerTaken, REFUSALS, type Refusal } from './answers.ts';
import { assignAccounts, createNewConnections } from './assign-accounts.ts';
import { checkHeaders, checkSignature } from './check-signature.ts';
import { commitDeliveries } from './commit-deliveries.ts';
import { type CommitQueueLimits, createCommitQueue } from './commit-queue.ts';
import { interpretBody } from './interpret-body.ts';
import { createReceiverMetrics } from './receiver-metrics.ts';
import type { ReceiverTally } from './receiver-tally.ts';
import { readWebhookPath } from './webhook-path.ts';

export interface ReceiverLimits extends CommitQueueLimits {
  readonly bodyBytes: number;
  /** Bodies in memory whose signature has not been verified, together; the first `freeBytes` of each are not counted. */
  readonly unverifiedBytes: number;
  readonly freeBytes: number;
  /** Used to find the account of a connection on a shared subscription. */
  readonly assignDeadlineMs: number;
  /**
   * From the headers of a delivery to its response, whatever it waits for. Its sender gives up after 10 s.
   */
  readonly answerMs: number;
}

const MIB = 1024 * 1024;
const OUT_OF_WINDOW: ReadonlySet<Refusal> = new Set(['stale_timestamp', 'future_timestamp']);

/** The default limits of a receiver. */
export const RECEIVER_LIMITS: ReceiverLimits = {
  bodyBytes: MIB,
  unverifiedBytes: 16 * MIB,
  // The longest text of a message has 25,000 bytes if each character is escaped.
  freeBytes: 32 * 1024,
  assignDeadlineMs: 700,
  answerMs: 4_500,
  inFlight: 2,
  overlapItems: 24,
  overlapAfterMs: 50,
  batchItems: 256,
  batchBytes: 4 * MIB,
  waitingItems: 4_096,
  waitingBytes: 64 * MIB,
};

/** What a request counts for whose bytes are still unread. */
const UNREAD_BYTES = 65_536;

/** A request that is being checked. */
interface Visit {
  readonly deadline: Deadline;
  readonly share: Share;
  /** The error that it gets if its deadline passes now. */
  late: Refusal;
  /** Called once it was verified and read. */
  readonly onRead: (delivery: RawDelivery) => void;
}

export interface ReceiverOptions extends Base {
  readonly subscriptions: SubscriptionSecrets;
  readonly metrics: Metrics;
  /** Counts requests, for later diagnosis. */
  readonly tally?: ReceiverTally;
  /** Keeps the newest answers. */
  readonly answers?: AnswerLog;
  /** Called for invalid signatures. */
  readonly audit?: Audit;
  readonly limits?: Partial<ReceiverLimits>;
  /** Called after each commit: notifies the feed. */
  readonly onCommitted?: () => void;
  /**
   * Called after a commit with connection events, or with the first message of a connection whose number is not known:
   * the account should be polled. It may be an
   * `unclaimedAccount`: then any account of its subscription may list the connection.
   */
  readonly onConnectionEvent?: (accountId: string) => void;
}

export type Receiver = ReturnType<typeof createReceiver>;

/**
 * Creates the webhook receiver. It returns 200 once a delivery is committed, whatever the delivery contains;
 * otherwise 404, 413, 401 or 400, in the order of its checks, and 503 if the store does not accept it, at the
 * latest by its deadline. No input causes another 5xx.
 */
export function createReceiver(options: ReceiverOptions) {
  const { database, subscriptions, clock, logger } = options;
  const limits = { ...RECEIVER_LIMITS, ...options.limits };
  const metrics = createReceiverMetrics(options.metrics, () => queue.waiting);
  const budget = createMemoryBudget(limits.unverifiedBytes, limits.freeBytes);
  const idle: (() => void)[] = [];
  let open = 0;

  const queue = createCommitQueue<RawDelivery>({
    limits,
    clock,
    commit: async (batch, deadline) => {
      const finished = metrics.commitStarted();
      const failed = await commitAssigned(batch, deadline);
      finished();
      return failed;
    },
  });

  /** Resolves with the deliveries of the batch that were not stored. */
  async function commitAssigned(
    batch: readonly RawDelivery[],
    deadline: Deadline,
  ): Promise<ReadonlySet<RawDelivery>> {
    const assignWithinMs = Math.min(limits.assignDeadlineMs, deadline.leftMs);
    const assigned = await assignAccounts(database, batch, assignWithinMs).catch((err: unknown) => {
      logger.error({ err, count: batch.length }, 'the accounts of deliveries could not be read');
      return null;
    });
    if (assigned === null) return new Set(batch);
    const failed = await commitDeliveries(
      {
        database,
        clock,
        logger,
        deadline,
        onCommitted: announce,
        onFailed: metrics.commitFailed,
      },
      assigned,
    );
    return new Set(batch.filter((_, index) => isIn(failed, assigned[index])));
  }

  const findNew = createNewConnections(database);

  function announce(result: BatchResult, deliveries: readonly RawDelivery[]): void {
    metrics.committed(result, deliveries);
    options.onCommitted?.();
    if (options.onConnectionEvent === undefined) return;
    const report = (accountIds: Iterable<string>): void => {
      for (const accountId of new Set(accountIds)) options.onConnectionEvent?.(accountId);
    };
    report(deliveries.flatMap(({ accountId, connection }) => (connection === undefined ? [] : [accountId])));
    // If it fails, the next poll finds the number.
    void findNew(deliveries).then(report, () => undefined);
  }

  /** Runs the checks in order, then the commit. Undefined if the delivery was committed. */
  async function receive(
    request: IncomingMessage,
    path: { readonly subscriptionId?: string },
    visit: Visit,
  ): Promise<Refusal | undefined> {
    const { deadline, share } = visit;
    const known = subscriptions.isKnown(path.subscriptionId, deadline);
    if (known !== true) {
      // The stream is not being read, so bytes that have arrived are already in it.
      share.grow(UNREAD_BYTES);
      if (!(await known)) return 'unknown_subscription';
    }
    if (declaresMore(request, limits.bodyBytes)) return 'too_large';
    const unsigned = checkHeaders(request, clock.now());
    if (unsigned !== undefined) return unsigned;
    visit.late = 'too_slow';
    const body = await readRawBody(request, { limit: limits.bodyBytes, deadline, onBytes: share.grow });
    if (body.kind !== 'read') return body.kind;
    visit.late = 'undecided';
    open += 1;
    let isSigned = false;
    try {
      // Read again, because a body may take its time and a secret may be replaced in the meantime.
      const subscription = await subscriptions.find(path.subscriptionId, deadline);
      if (subscription === null) return 'unknown_subscription';
      const { subscriptionId, accountId } = subscription;
      const signature = await checkSignature(request, body.bytes, subscription, subscriptions, {
        now: () => clock.now(),
        deadline,
      });
      if (!signature.valid) return signature.reason;
      visit.late = 'unavailable';
      share.leave();
      isSigned = true;
      const { timestamp: signedAt, secretVersion } = signature;
      const receivedAt = clock.now();
      metrics.signedAgo(receivedAt - signedAt);
      options.tally?.note(subscriptionId, 'age', receivedAt - signedAt);
      const interpreted = interpretBody(body.bytes, { accountId, signedAt });
      if (interpreted.kind === 'not_an_event') return 'not_an_event';
      const { kind, ...content } = interpreted;
      if (content.reason !== undefined)
        options.tally?.note(subscriptionId, kind === 'kept' ? 'invalid' : 'unread');
      const verified = secretVersion === undefined ? {} : { secretVersion };
      const delivery = {
        subscriptionId,
        accountId,
        receivedAt,
        signedAt,
        ...verified,
        body: body.bytes,
        ...content,
      };
      visit.onRead(delivery);
      return (await queue.add(delivery, body.bytes.length, deadline)) ? undefined : 'unavailable';
    } finally {
      if (!isSigned) freeBytes(body.bytes);
      open -= 1;
      if (open === 0) for (const done of idle.splice(0)) done();
    }
  }

  /**
   * Serves `POST /webhooks/messaging` and `POST /webhooks/messaging/{subscriptionId}` and passes everything
   * else on. An express handler that does not depend on express. Mount it before anything that reads bodies.
   */
  const router = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const path = readWebhookPath(request.url ?? '');
    if (path === undefined) {
      next();
      return;
    }
    const begun = clock.elapsed();
    // If a path was rejected as unknown, anybody may have made it up.
    const idOf = (refusal?: Refusal): string =>
      refusal === 'unknown_subscription' ? '' : (path?.subscriptionId ?? FIRST_SUBSCRIPTION_ID);
    let answered = false;
    let content: RawDelivery | undefined;
    const answer = (refusal: Refusal | undefined): void => {
      if (answered) return;
      answered = true;
      const ms = clock.elapsed() - begun;
      options.answers?.note({ subscriptionId: idOf(refusal), refusal: refusal ?? null, ms }, content);
      if (refusal === undefined) {
        answerTaken(response);
        metrics.answeredIn(ms);
        options.tally?.note(idOf(), 'accepted', ms);
        return;
      }
      metrics.refused(refusal);
      options.tally?.note(idOf(refusal), refusal, OUT_OF_WINDOW.has(refusal) ? ageOf(request, clock) : 0);
      logger.debug({ reason: refusal }, 'a request to the webhook receiver was refused');
      if (REFUSALS[refusal].code === 'invalid_signature') {
        const address = clientAddress(request);
        options.audit?.note('webhook.signature_refused', { id: idOf(refusal), result: refusal, address });
      }
      answerRefusal(response, refusal);
    };
    if (request.method !== 'POST') return answer('method');
    if (path === null) return answer('unknown_subscription');
    const deadline = new Deadline(clock, limits.answerMs);
    const crowdOut = (): void => {
      visit.late = 'crowded_out';
      deadline.pass();
    };
    const share = budget.enter(crowdOut);
    const onRead = (delivery: RawDelivery): void => {
      content = delivery;
    };
    const visit: Visit = { deadline, share, late: 'undecided', onRead };
    // Whatever it waits for: a database that does not respond must not determine when the sender gets its response.
    deadline.onPass(() => answer(visit.late));
    receive(request, path, visit)
      .then(answer, (err: unknown) => {
        if (!isConnectionFailure(err)) logger.error({ err }, 'a delivery could not be accepted');
        answer(visit.late);
      })
      .finally(() => {
        share.leave();
        deadline.done();
      });
  };

  /** Resolves when every delivery that was read has been answered. */
  async function settle(): Promise<void> {
    if (open > 0) await new Promise<void>((resolve) => idle.push(resolve));
    await queue.settle();
  }

  return {
    router,
    settle,
    /** Accepts no more requests, and drains. */
    async close(): Promise<void> {
      await queue.close();
      await settle();
    },
  };
}

function isIn(failed: ReadonlySet<RawDelivery>, delivery: RawDelivery | undefined): boolean {
  return delivery !== undefined && failed.has(delivery);
}

/** How long ago a request claims to have been signed, in milliseconds. The claim is not verified. */
function ageOf(request: IncomingMessage, clock: Clock): number {
  const [timestamp] = request.headersDistinct[HEADERS.timestamp.toLowerCase()] ?? [];
  return clock.now() - Number(timestamp);
}
