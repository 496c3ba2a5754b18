import type { ConnectorConnection } from '../../contract/connector/connections.ts';
import type { ConnectorMessage } from '../../contract/connector/messages.ts';
import type { AccountSync } from '../../contract/connector/sync.ts';
import type { ConnectorToolInput } from '../../contract/connector/tools.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Database } from '../../runtime/database/database.ts';
import { readAccounts } from '../accounts/account-store.ts';
import { findDeadLetter } from '../consumers/dead-letters.ts';
import { readTallies } from '../state/deliveries.ts';
import { isErased, readOldestKept } from '../state/messages.ts';
import { findWaitingConsumer, type WaitingConsumer } from '../state/waiting-consumers.ts';
import { ApiError } from './api-error.ts';
import type { Operations } from './operations.ts';
import { searchMessages } from './search-messages.ts';

type Question = ConnectorToolInput<'why_is_it_missing'>;

/** Why a message did not arrive. Only `untrusted_text` contains words of other people. */
interface MissingAnswer {
  readonly cause: string;
  readonly explanation: string;
  readonly advice: string;
  readonly messageId?: string;
  readonly connectionId?: string;
  /** What happened to the message, oldest first. */
  readonly trace?: readonly { readonly at: string; readonly explanation: string }[];
  readonly untrusted_text?: string | null;
}

export interface MissingOptions {
  readonly operations: Required<
    Pick<Operations, 'getMessage' | 'getMessageTrace' | 'listMessages' | 'listConnections' | 'getSync'>
  >;
  readonly database: Database;
  readonly clock: Clock;
}

/** A message may be dated this far from the time that is asked for. */
const AROUND_MS = 15 * 60_000;
/** A poll that began this long after a message was sent has seen it. */
const SEEN_MS = 60_000;
const LIMIT = 1_000;
const LIST = { id: '', body: undefined } as const;
const REFUSALS = ['wrong_signature', 'stale_timestamp', 'future_timestamp', 'malformed_signature'] as const;

/** Finds the cause. Reads only what the API reads, and changes nothing. Throws what the operations throw. */
export async function explainMissing(options: MissingOptions, given: Question): Promise<MissingAnswer> {
  const { messageId } = given;
  const found =
    messageId === undefined
      ? await findMessage(options, given)
      : await options.operations.getMessage({ ...ofId(messageId) }).catch(noneIfUnknown);
  if (found !== undefined) return await explainStored(options, found);
  if (messageId !== undefined && (await isErased(options.database, messageId))) {
    return {
      cause: 'erased',
      explanation: 'It was stored. Its texts were removed since: it was too old, or its person was erased.',
      advice: 'Look for it in the CRM.',
      messageId,
    };
  }
  const trace = messageId === undefined ? [] : await readTrace(options, messageId);
  if (messageId === undefined || trace.length === 0) return await explainUnknown(options, given);
  return {
    cause: 'not_applied',
    explanation: 'Deliveries about this message arrived, but none could be applied. The trace says why.',
    advice: 'Correct what the trace names, then run the command `replay`.',
    messageId,
    trace,
  };
}

const ofId = (id: string) => ({ id, query: undefined, body: undefined });

function noneIfUnknown(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
}

async function readTrace({ operations }: MissingOptions, id: string) {
  const trace = await operations.getMessageTrace(ofId(id)).catch(noneIfUnknown);
  return (trace?.entries ?? []).map(({ at, explanation, seqs }) => ({ at, explanation, seqs }));
}

/** The newest stored message that fits: of the contact, or else one whose sender is unknown. */
async function findMessage(options: MissingOptions, given: Question) {
  const { contact, text, connectionId } = given;
  const time = given.at === undefined ? undefined : Date.parse(given.at);
  const findNewest = async (among: { readonly person?: string; readonly peer?: 'none' }) => {
    for await (const page of searchMessages(options.operations, { connectionId, text, ...among })) {
      const found = page.messages.find(
        ({ createdAt }) => time === undefined || Math.abs(Date.parse(createdAt) - time) <= AROUND_MS,
      );
      if (found !== undefined || (time !== undefined && page.readUntil < time - AROUND_MS)) return found;
    }
    return undefined;
  };
  const found = await findNewest(contact === undefined ? {} : { person: contact });
  // Any message of an unknown sender would fit without a text.
  if (found !== undefined || contact === undefined || text === undefined) return found;
  return await findNewest({ peer: 'none' });
}

/** The message is stored: it is held up on its way to the CRM, or has arrived. */
async function explainStored(options: MissingOptions, message: ConnectorMessage): Promise<MissingAnswer> {
  const { database } = options;
  const { id, connectionId } = message;
  const entries = await readTrace(options, id);
  const seqs = entries.flatMap((entry) => entry.seqs);
  const trace = entries.map(({ at, explanation }) => ({ at, explanation }));
  const about = { messageId: id, connectionId, trace };
  const letter = await findDeadLetter(database, connectionId, id);
  if (letter !== undefined) {
    return {
      cause: 'dead_letter',
      explanation: `The connector has it, but the consumer "${letter.consumer}" failed ${letter.attempts} times to process it. It is the dead letter ${letter.id}.`,
      advice: 'Correct the consumer, then replay the dead letter.',
      ...about,
      untrusted_text: letter.lastError,
    };
  }
  const consumer = await findWaitingConsumer(database, connectionId, seqs);
  if (consumer !== undefined) return { ...explainWaiting(consumer), ...about };
  const isPolled = message.firstSeenBy === 'poll';
  if (isPolled && message.direction === 'incoming' && message.peer === null) {
    return {
      cause: 'sender_unknown',
      explanation:
        'It is stored. Only polling found it, so its sender is unknown and the CRM may not show it.',
      advice: 'A person who knows the sender names it with PUT /v1/messages/{id}/peer.',
      ...about,
    };
  }
  return {
    cause: isPolled ? 'found_by_polling' : 'arrived',
    explanation: isPolled
      ? 'It is stored. No webhook reported it first, so polling found it, which takes up to a minute or more.'
      : 'It is stored and passed on. The trace says when.',
    advice: isPolled ? 'Use the tool health if webhooks are missing often.' : 'Look for it in the CRM.',
    ...about,
  };
}

function explainWaiting({ name, state, parked }: WaitingConsumer) {
  if (parked !== null) {
    return {
      cause: 'parked',
      explanation: `The connector has it, but its connection is parked for the consumer "${name}": ${parked.attempts} calls of an earlier change, or of this one, failed. The next attempt is due at ${toIso(parked.dueAt)}.`,
      advice: 'Correct the consumer. It then receives the changes of the connection in order.',
      untrusted_text: parked.lastError,
    };
  }
  if (state !== 'running') {
    return {
      cause: 'consumer_stopped',
      explanation: `The connector has it, but the consumer "${name}" is ${state} and receives nothing.`,
      advice: 'Resume the consumer.',
    };
  }
  return {
    cause: 'consumer_waiting',
    explanation: `The connector has it, but the consumer "${name}" has not taken it, or only just: it does not answer, or is behind.`,
    advice:
      'Ask again in a few seconds. If it still waits, use the tool health, and check that the CRM answers.',
  };
}

/** The message is not stored. */
async function explainUnknown(options: MissingOptions, given: Question): Promise<MissingAnswer> {
  const { operations, database, clock } = options;
  const { connectionId } = given;
  const { connections } = await operations.listConnections({ ...LIST, query: { limit: LIMIT } });
  const chosen = connections.filter(({ id }) => connectionId === undefined || id === connectionId);
  if (connectionId !== undefined && chosen.length === 0) {
    return {
      cause: 'unknown_connection',
      explanation: 'No account of this connector has listed this connection.',
      advice: 'Check the id of the connection, and the account that may use it.',
    };
  }
  if (connectionId !== undefined) {
    const elsewhere = await findMessage(options, { ...given, connectionId: undefined });
    if (elsewhere !== undefined) {
      return {
        cause: 'other_connection',
        explanation: `It was exchanged with another connection: ${elsewhere.connectionId}.`,
        advice: 'Read the conversation there.',
        messageId: elsewhere.id,
        connectionId: elsewhere.connectionId,
      };
    }
  }
  const { accounts } = await operations.getSync({ ...LIST, query: {} });
  const at = given.at === undefined ? clock.now() : Date.parse(given.at);
  const usable = chosen.filter(({ health }) => UNUSABLE[health] === undefined);
  // One of several says nothing: it may have been hidden long ago.
  const unusable = usable.length === 0 ? explainConnections(chosen) : undefined;
  if (unusable !== undefined) return unusable;
  for (const account of accounts) {
    const own = usable.filter(({ accountId }) => accountId === account.accountId);
    const answer = await explainAccount(options, account, own, at);
    if (answer !== undefined) return answer;
  }
  const oldest = await readOldestKept(
    database,
    chosen.map(({ id }) => id),
  );
  if (oldest !== null && at < oldest - AROUND_MS) {
    return {
      cause: 'not_kept',
      explanation: `The oldest message that is kept is of ${new Date(oldest).toISOString()}. Older ones were removed (MESSAGE_RETENTION_DAYS), were never read (HISTORY_DAYS), or do not exist.`,
      advice: 'Look for it in the CRM, or on the phone.',
    };
  }
  return {
    cause: 'unknown_to_service',
    explanation:
      'Polling has read everything that the service listed for that time, and this message is not there. It was sent to another number, or never reached the service.',
    advice: 'Ask the sender which number was used, and whether the phone shows the message as delivered.',
  };
}

const UNUSABLE: Partial<Record<ConnectorConnection['health'], string>> = {
  hidden:
    'the service no longer lists it: its license or add-on has ended, or the credential cannot reach it',
  unlicensed: 'it has no valid license',
  deleted: 'it was deleted',
  needs_reconnect: 'its owner must pair it again',
  disconnected: 'its session is down',
};

function explainConnections(connections: readonly ConnectorConnection[]): MissingAnswer | undefined {
  for (const { id, health } of connections) {
    const why = UNUSABLE[health];
    if (why === undefined) continue;
    const isPairing = health === 'needs_reconnect' || health === 'disconnected';
    return {
      cause: isPairing ? 'connection_disconnected' : 'connection_unusable',
      explanation: `The connection receives nothing, because ${why}.`,
      advice: isPairing
        ? 'Pair the connection again.'
        : 'Renew its license. Polling then reads what it missed.',
      connectionId: id,
    };
  }
  return undefined;
}

/** Why the account has not found the message; undefined if it would have. */
async function explainAccount(
  { database }: MissingOptions,
  account: AccountSync,
  connections: readonly ConnectorConnection[],
  at: number,
): Promise<MissingAnswer | undefined> {
  if (connections.length === 0) return undefined;
  const { accountId, lastPoll, lastGoodPollAt, openGaps, reauthRequired, pollOverdue } = account;
  const isSeen = openGaps === 0 && lastGoodPollAt !== null && Date.parse(lastGoodPollAt) > at + SEEN_MS;
  if (isSeen) return undefined;
  const refused = await readRefusal(database, accountId, at);
  const fails = reauthRequired || pollOverdue || lastPoll?.ok === false;
  const polls = fails
    ? `Polling of the account ${accountId} fails: ${reauthRequired ? 'reauth_required' : (lastPoll?.error ?? 'no process polls')}.`
    : 'No poll has read that time yet.';
  const one = connections.length === 1 ? connections[0] : undefined;
  const about = one === undefined ? {} : { connectionId: one.id };
  const usesWebhooks = connections.some(({ provider }) => provider !== 'cloud_api');
  if (refused !== undefined && usesWebhooks) {
    return {
      cause: 'webhook_refused',
      explanation: `Deliveries were refused at that time because of their signature (${refused}). ${polls}`,
      advice: 'Set the signing secret that the service uses, or rotate it. The next poll finds the message.',
      ...about,
    };
  }
  if (!fails) {
    return {
      cause: 'not_yet_polled',
      explanation: usesWebhooks
        ? `No webhook has reported it: it was dropped, or is still on its way. ${polls}`
        : `These connections send no webhooks, so only polling finds their messages. ${polls}`,
      advice: 'Wait a minute and ask again, or poll now with POST /v1/sync.',
      ...about,
    };
  }
  return {
    cause: 'poll_failing',
    explanation: `${usesWebhooks ? 'No webhook has reported it.' : 'These connections send no webhooks.'} ${polls}`,
    advice: 'Use the tool health, and correct what it names first.',
    ...about,
  };
}

/** Why deliveries to the account were refused since a time, if they were. Anybody can post, so this is a hint. */
async function readRefusal(database: Database, accountId: string, at: number): Promise<string | undefined> {
  const accounts = await readAccounts(database);
  const subscription = accounts.find(({ id }) => id === accountId)?.subscriptionId ?? null;
  const tallies = await readTallies(database, at - SEEN_MS, subscription);
  return REFUSALS.find((kind) => tallies.has(kind));
}
