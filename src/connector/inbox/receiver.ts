import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADERS } from '../../contract/service/headers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { FIRST_SUBSCRIPTION_ID } from '../accounts/account-store.ts';
import type { Audit } from '../audit.ts';
import type { BatchResult, RawDelivery } from '../db/batch.ts';
import { answerRefusal, answerTaken } from './answers.ts';
import { assignAccounts, claimingSubscription } from './assign-accounts.ts';
import { checkSignature } from './check-signature.ts';
import { commitDeliveries } from './commit-deliveries.ts';
import { type CommitQueueLimits, createCommitQueue } from './commit-queue.ts';
import { interpretBody } from './interpret-body.ts';
import { readRawBody } from './read-raw-body.ts';
import { createReceiverMetrics } from './receiver-metrics.ts';
import { type ReceiverTally, SLOW_MS } from './receiver-tally.ts';
import { REFUSALS, type Refusal } from './refusals.ts';
import type { SubscriptionSecrets } from './subscription-secrets.ts';
import { readWebhookPath } from './webhook-path.ts';

export interface ReceiverLimits extends CommitQueueLimits {
  readonly bodyBytes: number;
  /** For the look at whose connections a shared subscription tells. */
  readonly assignDeadlineMs: number;
  /** For one statement; two, the look and the wait before them must end before the sender gives up after 10 s. */
  readonly commitDeadlineMs: number;
}

const MIB = 1024 * 1024;
const OUT_OF_WINDOW: ReadonlySet<Refusal> = new Set(['stale_timestamp', 'future_timestamp']);

/** The limits a receiver has unless told otherwise. */
export const RECEIVER_LIMITS: ReceiverLimits = {
  bodyBytes: MIB,
  assignDeadlineMs: 700,
  commitDeadlineMs: 2_500,
  inFlight: 2,
  overlapItems: 24,
  overlapAfterMs: 50,
  batchItems: 256,
  batchBytes: 4 * MIB,
  waitingItems: 4_096,
  waitingBytes: 64 * MIB,
  maxWaitMs: 4_000,
};

export interface ReceiverOptions {
  readonly database: Database;
  readonly subscriptions: SubscriptionSecrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Counts what comes, for people who look for a cause afterwards. */
  readonly tally?: ReceiverTally;
  /** Told of wrong signatures. */
  readonly audit?: Audit;
  readonly limits?: Partial<ReceiverLimits>;
  /** Told after each commit: the feed's nudge. */
  readonly onCommitted?: () => void;
  /**
   * Told after a commit with connection events: time for a poll of that account. It may be an `unclaimedAccount`: then
   * any account of its subscription may list the connection.
   */
  readonly onConnectionEvent?: (accountId: string) => void;
}

export interface Receiver {
  /**
   * Serves `POST /webhooks/messaging` and `POST /webhooks/messaging/{subscriptionId}` and passes on everything
   * else. An express handler that needs nothing of express. Mount it before anything that reads bodies.
   */
  readonly router: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  /** Resolves when every delivery that was read is answered. */
  settle(): Promise<void>;
  /** Takes no more, and settles. */
  close(): Promise<void>;
}

/**
 * Makes the webhook receiver. It answers 200 once a delivery is committed, whatever the delivery tells; else
 * 404, 413, 401, 400 in the order of its checks, and 503 when the store cannot take it. No input makes a 5xx.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { database, subscriptions, clock, logger } = options;
  const limits = { ...RECEIVER_LIMITS, ...options.limits };
  const metrics = createReceiverMetrics(options.metrics, () => queue.waiting);
  const idle: (() => void)[] = [];
  let open = 0;

  const queue = createCommitQueue<RawDelivery>({
    limits,
    clock,
    commit: async (batch) => {
      const finished = metrics.commitStarted();
      const failed = await commitAssigned(batch);
      finished();
      return failed;
    },
  });

  /** Resolves with the deliveries of the batch that were not stored. */
  async function commitAssigned(batch: readonly RawDelivery[]): Promise<ReadonlySet<RawDelivery>> {
    const assigned = await assignAccounts(database, batch, limits.assignDeadlineMs).catch((err: unknown) => {
      logger.error({ err, count: batch.length }, 'the accounts of deliveries could not be read');
      return null;
    });
    if (assigned === null) return new Set(batch);
    const failed = await commitDeliveries(
      {
        database,
        clock,
        logger,
        deadlineMs: limits.commitDeadlineMs,
        onCommitted: announce,
        onFailed: metrics.commitFailed,
      },
      assigned,
    );
    return new Set(batch.filter((_, index) => isIn(failed, assigned[index])));
  }

  function announce(result: BatchResult, deliveries: readonly RawDelivery[]): void {
    metrics.committed(result, deliveries);
    options.onCommitted?.();
    if (options.onConnectionEvent === undefined) return;
    // A connection that no account has claimed is told of by a message alone, too: a listing will show whose it is.
    const told = deliveries.filter(
      ({ accountId, message, connection }) =>
        connection !== undefined || (message !== undefined && claimingSubscription(accountId) !== null),
    );
    for (const accountId of new Set(told.map((delivery) => delivery.accountId))) {
      options.onConnectionEvent(accountId);
    }
  }

  /** The checks in their order, then the commit. Undefined: it is committed. */
  async function receive(
    request: IncomingMessage,
    path: { readonly subscriptionId?: string },
  ): Promise<Refusal | undefined> {
    if ((await subscriptions.find(path.subscriptionId)) === null) return 'unknown_subscription';
    const body = await readRawBody(request, limits.bodyBytes);
    if (body.kind !== 'read') return body.kind;
    open += 1;
    try {
      // Asked again, since a body may take its time and a secret may be replaced meanwhile.
      const subscription = await subscriptions.find(path.subscriptionId);
      if (subscription === null) return 'unknown_subscription';
      const { subscriptionId, accountId } = subscription;
      const signature = await checkSignature(request, body.bytes, subscription, subscriptions, () =>
        clock.now(),
      );
      if (!signature.valid) return signature.reason;
      const { timestamp: signedAt, secretVersion } = signature;
      const receivedAt = clock.now();
      metrics.signedAgo(receivedAt - signedAt);
      options.tally?.note(subscriptionId, 'age', receivedAt - signedAt);
      const told = interpretBody(body.bytes, { accountId, signedAt });
      if (told.kind === 'not_an_event') return 'not_an_event';
      const { kind, ...content } = told;
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
      return (await queue.add(delivery, body.bytes.length)) ? undefined : 'unavailable';
    } finally {
      open -= 1;
      if (open === 0) for (const done of idle.splice(0)) done();
    }
  }

  const router: Receiver['router'] = (request, response, next) => {
    const path = readWebhookPath(request.url ?? '');
    if (path === undefined) {
      next();
      return;
    }
    const begun = clock.elapsed();
    const refuse = (refusal: Refusal, subscriptionId = ''): void => {
      metrics.refused(refusal);
      options.tally?.note(subscriptionId, refusal, OUT_OF_WINDOW.has(refusal) ? ageOf(request, clock) : 0);
      logger.debug({ reason: refusal }, 'a request to the webhook receiver was refused');
      const { code, message } = REFUSALS[refusal];
      if (code === 'invalid_signature') {
        const { remoteAddress: address } = request.socket;
        options.audit?.note('webhook.signature_refused', { id: subscriptionId, result: refusal, address });
      }
      answerRefusal(response, code, message);
    };
    if (request.method !== 'POST') refuse('method');
    else if (path === null) refuse('unknown_subscription');
    else {
      // Where a path was refused as unknown, anybody may have made it up.
      const idOf = (refusal?: Refusal): string =>
        refusal === 'unknown_subscription' ? '' : (path.subscriptionId ?? FIRST_SUBSCRIPTION_ID);
      receive(request, path).then(
        (refusal) => {
          if (refusal !== undefined) return refuse(refusal, idOf(refusal));
          answerTaken(response);
          const ms = clock.elapsed() - begun;
          metrics.answeredIn(ms);
          options.tally?.note(idOf(), 'taken', ms);
          if (ms > SLOW_MS) options.tally?.note(idOf(), 'slow', ms);
        },
        (err: unknown) => {
          logger.error({ err }, 'a delivery could not be taken');
          refuse('unavailable');
        },
      );
    }
  };

  async function settle(): Promise<void> {
    if (open > 0) await new Promise<void>((resolve) => idle.push(resolve));
    await queue.settle();
  }

  return {
    router,
    settle,
    async close() {
      await queue.close();
      await settle();
    },
  };
}

function isIn(failed: ReadonlySet<RawDelivery>, delivery: RawDelivery | undefined): boolean {
  return delivery !== undefined && failed.has(delivery);
}

/** How long ago a request claims to have been signed, in milliseconds. Nothing vouches for it. */
function ageOf(request: IncomingMessage, clock: Clock): number {
  const [timestamp] = request.headersDistinct[HEADERS.timestamp.toLowerCase()] ?? [];
  return clock.now() - Number(timestamp);
}
