import { LAST_ATTEMPT_AFTER_MS, type SendStep } from '../../patterns/send-policy.ts';
import type { MessageFacts } from '../db/facts.ts';
import type { Lease } from '../db/lease.ts';
import type { PolledMessage } from '../service-client/polled.ts';
import { SEND_DEADLINE_MS, type ServiceClient } from '../service-client/service-client.ts';
import { isUnavailable, ServiceError } from '../service-client/service-errors.ts';
import type { QueueContext } from './queue-context.ts';
import { fingerprintOf } from './queue-send.ts';
import {
  hasSimilarSend,
  type QueuedSend,
  readClaimed,
  scheduleLookUp,
  type WriteResult,
} from './queue-store.ts';
import { recordOutcome } from './record-outcome.ts';

/** How long a file is looked for after its answer was lost. */
const LOOK_UP_MS = 4 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** Whatever the service asks for. */
const LONGEST_PAUSE_MS = 15 * 60_000;
/** How far the clock of the service and ours may differ. */
const CLOCKS_APART_MS = 60_000;
/** If the attempts of two sends are further apart than this, no message can be the result of either. */
const OVERLAP_MS = SEND_DEADLINE_MS + 2 * CLOCKS_APART_MS;
const PAGE_SIZE = 100;
const MAX_PAGES = 5;
/** Memory of a file that is fetched, whose size is not known before: at most 12 MiB, twice while it is joined. */
const LARGEST_FILE_MEMORY = 24 * 1024 * 1024;
/** If more messages than this look alike, none of them is compared further. */
const MAX_FETCHED = 3;

/**
 * Looks up once whether a file was sent although its answer was lost. It was sent if exactly one outgoing
 * message of its connection, created since and not the result of another send, has its type, its caption and
 * its bytes, and no other file in doubt has the same. If there is none after four minutes, the send is
 * `unknown`. A look-up that the service does not answer proves nothing, so it is repeated for as long as a send
 * may take.
 */
export async function lookUpSend(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<WriteResult> {
  const { database, clock, logger } = context;
  const found = await findMessage(context, send, client, signal).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    logger.warn({ err: error, outboundId: send.id }, 'a send could not be looked up; retrying');
    return error;
  });
  if (found !== null && !(found instanceof ServiceError)) {
    return await end(context, lease, send, { next: 'sent' }, toFacts(send, found));
  }
  const now = clock.now();
  const askedMs = found?.retryAfterMs ?? null;
  const awaitsService = found !== null && isUnavailable(found) && askedMs === null;
  const longestMs = awaitsService || askedMs !== null ? LAST_ATTEMPT_AFTER_MS : LOOK_UP_MS;
  if (now >= (send.lostAt ?? 0) + longestMs) return await end(context, lease, send, { next: 'unknown' });
  const at = now + Math.min(Math.max(LOOK_EVERY_MS, askedMs ?? 0), LONGEST_PAUSE_MS);
  await scheduleLookUp(database, lease, { outboundId: send.id, at, awaitsService });
  return 'done';
}

function end(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  step: SendStep,
  message?: MessageFacts,
): Promise<WriteResult> {
  return recordOutcome(context, lease, send, { step, errorCode: null, message });
}

async function findMessage(
  context: QueueContext,
  send: QueuedSend,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<PolledMessage | null> {
  const listed = await listSince(client, send, signal);
  const alike = listed.filter((message) => looksLike(message, send));
  if (alike.length === 0 || (await hasSimilarSend(context.database, send, OVERLAP_MS))) return null;
  const ids = alike.map((message) => message.id);
  const claimed = await readClaimed(context.database, send.connectionId, ids);
  const free = alike.filter((message) => !claimed.has(message.id));
  if (free.length > MAX_FETCHED) return null;
  const same: PolledMessage[] = [];
  for (const message of free) {
    const fingerprint = await readFingerprint(context, send.accountId, message, signal);
    // A message that cannot be read may be the one, so none is certain.
    if (fingerprint === null) return null;
    if (fingerprint === send.mediaFingerprint) same.push(message);
  }
  const [only, another] = same;
  return another === undefined ? (only ?? null) : null;
}

async function listSince(
  client: ServiceClient,
  send: QueuedSend,
  signal: AbortSignal,
): Promise<readonly PolledMessage[]> {
  const since = (send.lastAttemptAt ?? 0) - CLOCKS_APART_MS;
  const listed: PolledMessage[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const query = { connectionId: send.connectionId, limit: PAGE_SIZE, cursor };
    const page = await client.listMessages(query, signal);
    listed.push(...page.items.filter((message) => message.createdAt >= since));
    const last = page.items.at(-1);
    if (!page.hasMore || (last !== undefined && last.createdAt < since)) return listed;
    cursor = page.nextCursor;
  }
  // There may be another one on a later page, so none of these is certain.
  return [];
}

function looksLike(message: PolledMessage, send: QueuedSend): boolean {
  return (
    message.connectionId === send.connectionId &&
    message.direction === 'outgoing' &&
    message.mediaType === send.mediaMimetype &&
    (message.text ?? '') === (send.mediaCaption ?? '') &&
    message.createdAt <= (send.lastAttemptAt ?? 0) + SEND_DEADLINE_MS + CLOCKS_APART_MS
  );
}

async function readFingerprint(
  { fetchFile, fileMemory, logger }: QueueContext,
  accountId: string,
  { id, mediaUrl }: PolledMessage,
  signal: AbortSignal,
): Promise<string | null> {
  if (fetchFile === undefined || mediaUrl === null) return null;
  try {
    return await fileMemory.run(
      async () => fingerprintOf(await fetchFile({ url: mediaUrl, accountId }, signal)),
      { group: 'look-ups', amount: LARGEST_FILE_MEMORY },
    );
  } catch (error) {
    logger.warn({ err: error, messageId: id }, 'the file of a message could not be read');
    return null;
  }
}

/** What the send adds to the message. A poll adds the rest. */
function toFacts(send: QueuedSend, found: PolledMessage): MessageFacts {
  return {
    connectionId: send.connectionId,
    messageId: found.id,
    accountId: send.accountId,
    source: 'send',
    direction: 'outgoing',
    peer: send.to,
    text: found.text,
    mediaUrl: found.mediaUrl,
    mediaType: found.mediaType,
    status: found.status,
    errorMessage: found.errorMessage,
    waMessageId: found.waMessageId,
    createdAt: found.createdAt,
    webhookSeen: 0,
  };
}
