import { randomUUID } from 'node:crypto';
import type { ReadSend } from '../../contract/service/read-answers.ts';
import { messageStatus } from '../../contract/service/statuses.ts';
import { decideSend, giveUp, ruleFor, type SendOutcome, type SendStep } from '../../patterns/send-policy.ts';
import { readPollState } from '../accounts/poll-state.ts';
import { eachText, type MessageFacts } from '../db/facts.ts';
import type { Lease } from '../db/lease.ts';
import { isUnfinished } from '../db/outbox-tables.ts';
import { retryCommit } from '../db/retry-commit.ts';
import { settleOrigins } from '../db/settle-origins.ts';
import type { SentMessage } from '../service-client/call-service.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { HostedClient, QueueContext } from './queue-context.ts';
import {
  beginAttempt,
  type QueuedSend,
  readFile,
  readFileSize,
  type SendUpdate,
  updateSend,
  type WriteResult,
} from './queue-store.ts';

/** The outcome of an attempt. */
interface Outcome {
  readonly step: SendStep;
  /** Code of the refusal or failure; null after a success. */
  readonly errorCode: string | null;
  /** The message that resulted. */
  readonly message?: MessageFacts | undefined;
  /** The service did not answer: a retry may start as soon as it does. */
  readonly awaitsService?: boolean;
}

/** A held send waits at least this long, so that a refused credential is not tried in a tight loop. */
const HOLD_MS = 15_000;

/**
 * Commits the outcome of an attempt. If the database fails, the commit is retried for some seconds, so that the answer
 * is not lost; after that it counts as lost. Repeating it is safe, because an attempt can end only once.
 */
async function recordOutcome(
  { database, clock, metrics, logger, onCommitted }: QueueContext,
  lease: Lease,
  send: QueuedSend,
  outcome: Outcome,
): Promise<WriteResult> {
  const update = toUpdate(send, outcome, clock.now());
  const result = await retryCommit(
    clock,
    () => updateSend(database, lease, update, clock.now(), outcome.message),
    (err) => logger.warn({ err, outboundId: send.id }, 'the answer of a send could not be stored; retrying'),
  );
  onCommitted();
  if (result === 'done' && !isUnfinished(update.state)) {
    metrics.finished.inc({ state: update.state });
    const settled = await settleOrigins(database, send.connectionId, clock.now()).catch((err: unknown) => {
      logger.warn({ err, outboundId: send.id }, 'the origin of messages stays unknown until the next send');
      return 0;
    });
    if (settled > 0) onCommitted();
  }
  return result;
}

/** Ends a send that will not be attempted again: `rejected`, or `unknown` if an earlier answer was lost. */
export function giveUpSend(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  errorCode: string | null,
): Promise<WriteResult> {
  return recordOutcome(context, lease, send, { step: giveUp(send.inDoubt), errorCode });
}

function toUpdate(
  send: QueuedSend,
  { step, errorCode, message, awaitsService = false }: Outcome,
  now: number,
): SendUpdate {
  const base = {
    outboundId: send.id,
    attemptId: send.attemptId,
    messageId: message?.messageId ?? null,
    lastError: errorCode,
    nextAttemptAt: null,
    awaitsService: false,
    inDoubt: send.inDoubt,
    resetsFirstAttempt: false,
  };
  switch (step.next) {
    case 'sent':
    case 'delivered_not_stored':
      return { ...base, state: step.next, inDoubt: false };
    case 'rejected':
      return { ...base, state: step.next };
    case 'unknown':
      return { ...base, state: step.next, inDoubt: true };
    case 'repeat':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: now + step.waitMs,
        awaitsService,
        inDoubt: step.inDoubt,
      };
    case 'hold':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: now + HOLD_MS,
        inDoubt: step.inDoubt,
        resetsFirstAttempt: !step.inDoubt,
      };
  }
}

/** A file is in memory once until the answer, and about once more while it is read in pieces. */
const MEMORY_PER_FILE_BYTE = 2;

/** Makes one attempt and commits its outcome. Throws what the database throws; the attempt then counts as lost. */
export async function attemptSend(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  client: HostedClient,
  signal: AbortSignal,
): Promise<WriteResult> {
  const { database, calls, fileMemory } = context;
  const callWith = (bytes: Uint8Array | null): Promise<WriteResult> =>
    calls.run(() => attempt(context, lease, send, client, bytes, signal), { group: client.host });
  if (send.mediaFingerprint === null) return await callWith(null);
  const size = await readFileSize(database, send.id);
  if (size === null) return await giveUpSend(context, lease, send, 'file_expired');
  const memory = { group: client.host, amount: size * MEMORY_PER_FILE_BYTE };
  return await fileMemory.run(async () => {
    const bytes = await readFile(database, send.id, size);
    return bytes === null ? await giveUpSend(context, lease, send, 'file_expired') : await callWith(bytes);
  }, memory);
}

async function attempt(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  client: ServiceClient,
  bytes: Uint8Array | null,
  signal: AbortSignal,
): Promise<WriteResult> {
  const { database, clock, metrics } = context;
  // It may have waited for memory or for its turn.
  if (signal.aborted) return 'lost';
  const attemptId = randomUUID();
  const startedAt = clock.now();
  const begun = await beginAttempt(database, lease, { outboundId: send.id, attemptId, now: startedAt });
  if (begun !== 'done') return begun;
  context.onCommitted();
  const attempted: QueuedSend = {
    ...send,
    attemptId,
    attempts: send.attempts + 1,
    firstAttemptAt: Math.min(send.firstAttemptAt ?? startedAt, startedAt),
    lastAttemptAt: startedAt,
  };
  const before = clock.elapsed();
  const { outcome, errorCode, answer } = await call(client, toRequest(send, bytes), context.aborting);
  noteAnswer(context, send.accountId, outcome);
  metrics.seconds.observe((clock.elapsed() - before) / 1_000);
  metrics.attempts.inc({ outcome: outcome.kind });
  // The service requested the wait, so it applies even if the service answers other calls.
  const isAsked = outcome.kind === 'refused' && outcome.retryAfterMs !== null;
  return await recordOutcome(context, lease, attempted, {
    step: (await isBlocked(context, attempted, outcome)) ? giveUp(true) : decide(context, attempted, outcome),
    errorCode,
    awaitsService: isUnavailable(outcome) && !isAsked,
    ...(answer === null ? {} : { message: toFacts(attempted, answer) }),
  });
}

/** Records an attempt whose process died, so its answer is lost. */
export async function recordAbandoned(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
): Promise<WriteResult> {
  context.metrics.attempts.inc({ outcome: 'abandoned' });
  const step = decide(context, send, { kind: 'lost' });
  return await recordOutcome(context, lease, send, {
    step,
    errorCode: 'abandoned',
    awaitsService: true,
  });
}

/** The waits after lost answers are short for as long, and a service that answers other sends meanwhile is not away. */
const AWAY_MS = 60_000;

/** After attempts without an answer, the first answer shows that the service is back. */
function noteAnswer(
  { clock, unanswered, onServiceBack }: QueueContext,
  accountId: string,
  outcome: SendOutcome,
): void {
  const since = unanswered.get(accountId) ?? clock.elapsed();
  if (outcome.kind === 'not_sent' || outcome.kind === 'lost') unanswered.set(accountId, since);
  else if (!isUnavailable(outcome) && unanswered.delete(accountId) && clock.elapsed() - since >= AWAY_MS)
    onServiceBack(accountId);
}

/** Neither the service nor a proxy in front of it reported the outcome of the attempt. */
function isUnavailable(outcome: SendOutcome): boolean {
  if (outcome.kind === 'refused') return ruleFor(outcome.code, outcome.status).next === 'lost';
  return outcome.kind !== 'accepted';
}

function decide({ clock, random }: QueueContext, send: QueuedSend, outcome: SendOutcome): SendStep {
  const now = clock.now();
  return decideSend(outcome, {
    carries: send.mediaFingerprint === null ? 'text' : 'media',
    attempts: send.attempts,
    firstAttemptAt: send.firstAttemptAt ?? now,
    now,
    inDoubt: send.inDoubt,
    random: random(),
  });
}

const BLOCKED_MS = 60 * 60_000;

/**
 * A firewall in front of the service answers for it, and not because it restarts: for an hour it has refused this send,
 * and let each poll through. It may do so because of the text, so the sends behind this one must not wait for it.
 */
async function isBlocked(
  { database, clock }: QueueContext,
  send: QueuedSend,
  outcome: SendOutcome,
): Promise<boolean> {
  const since = clock.now() - BLOCKED_MS;
  if (outcome.kind !== 'refused' || outcome.status >= 500 || !isUnavailable(outcome)) return false;
  if (send.firstAttemptAt === null || send.firstAttemptAt > since) return false;
  const { lastGoodAt, lastErrorAt } = await readPollState(database, send.accountId);
  return (lastGoodAt ?? 0) > since && (lastErrorAt ?? 0) < since;
}

interface CallResult extends Pick<Outcome, 'errorCode'> {
  readonly outcome: SendOutcome;
  readonly answer: ReadSend | null;
}

async function call(client: ServiceClient, request: SentMessage, signal: AbortSignal): Promise<CallResult> {
  try {
    const answer = await client.sendMessage(request, signal);
    // [messages.send.degraded-no-retry]
    return { outcome: { kind: 'accepted', stored: answer.persisted }, errorCode: null, answer };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { outcome: readOutcome(error), errorCode: error.code, answer: null };
  }
}

function readOutcome(error: ServiceError): SendOutcome {
  if (error instanceof ServiceRefusal) {
    const { status, code, retryAfterMs } = error;
    return { kind: 'refused', status, code, retryAfterMs };
  }
  return { kind: error.mayHaveActed ? 'lost' : 'not_sent' };
}

function toRequest(send: QueuedSend, bytes: Uint8Array | null): SentMessage {
  const { connectionId, to, idempotencyKey, mediaFilename, mediaMimetype, mediaCaption } = send;
  const head = { connectionId, to, idempotencyKey };
  if (bytes === null) return { ...head, text: send.text ?? '' };
  return {
    ...head,
    media: {
      filename: mediaFilename ?? '',
      mimetype: mediaMimetype ?? '',
      data: bytes,
      ...(mediaCaption === null ? {} : { caption: mediaCaption }),
    },
  };
}

/**
 * What a send knows about its message. For a file, fields that the service may show differently are left out.
 * Until a poll reports the service's own time, the time is that of the attempt, so that no event of the message
 * is earlier.
 */
function toFacts(send: QueuedSend, answer: ReadSend): MessageFacts | undefined {
  if (answer.messageId === null || !answer.persisted) return undefined;
  return {
    connectionId: send.connectionId,
    messageId: answer.messageId,
    accountId: send.accountId,
    source: 'send',
    direction: 'outgoing',
    ...eachText(() => null),
    peer: send.to,
    text: send.text,
    reference: send.reference,
    status: messageStatus.safeParse(answer.status).data ?? 'sent',
    waMessageId: answer.waMessageId,
    createdAt: (send.inDoubt ? send.firstAttemptAt : send.lastAttemptAt) ?? 0,
    webhookSeen: 0,
  };
}
