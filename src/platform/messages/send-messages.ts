import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Database } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { type Connection, findReachable, requireLicense } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { concerned, passed } from '../kernel/decision-trace.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaFile } from '../media/media-store.ts';
import { newNetworkId, type PhoneNetwork } from '../network/network.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { VirtualWait } from '../time/virtual-wait.ts';
import { checkSession, finishHealing, healWaitMs, type SessionCheck } from './check-session.ts';
import { executeSend, type IsStored } from './execute-send.ts';
import { createSendAllowances } from './send-allowance.ts';
import { findAnswer, readSendKey, requireSame, type SendKey, sendInProgress } from './send-journal.ts';
import { createSendTiming, type SendTiming, sendLatencyMs } from './send-timing.ts';

/** What to send: a text, or a file whose caption is the text. */
export interface MessageSend {
  readonly connectionId: string;
  /** Digits of the recipient. */
  readonly to: string;
  readonly text: string | null;
  /** A stored file. If the send fails, the caller must delete it. */
  readonly media: MediaFile | null;
  readonly idempotencyKey: string | null;
}

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly wait: VirtualWait;
  readonly network: PhoneNetwork;
  readonly isStored?: IsStored | undefined;
  /** Draws in [0, 1). */
  readonly random: () => number;
  readonly sendScale: number;
  /** Sends of one connection per minute that the abuse limiter allows. */
  readonly sendsPerMinute: number;
}

/** A send with the key that it holds, if it has one. */
type KeyedSend = Omit<Parameters<typeof executeSend>[2], 'from' | 'waMessageId'>;

/** The result of a send. */
export interface Sent {
  readonly answer: SendMessageAnswer;
  /** True if the answer is that of an earlier send with the same key: nothing was sent. */
  readonly replayed: boolean;
}

/** Sends messages, for REST and for the tools. [choice.tools.key] */
export interface Sender {
  readonly timing: SendTiming;
  /**
   * Sends a message and resolves once the network has it. Throws, in this order: `not_found`, `idempotency_key_reuse`,
   * `in_progress`, the 402s, `send_failed` for a dead session, `warmup_limited`, `rate_limited`,
   * `recipient_not_on_whatsapp`, and `send_failed` for a session that did not heal. A key belongs
   * to one message of the workspace. Only successful answers are stored under it; an error frees it and is not counted
   * as a send.
   */
  send(credential: Credential, message: MessageSend): Promise<Sent>;
  /** Cancels sends that have not reached the network, and resets the counts of the limits. */
  giveUp(): void;
  /** Resolves when no send is in progress. */
  idle(): Promise<void>;
}

export function createSender(options: Options): Sender {
  const { database, clock, wait, changeState, network, random, isStored = () => true } = options;
  const timing = createSendTiming(options.sendScale);
  const allowances = createSendAllowances(options);
  const inFlight = new Set<Promise<Sent>>();
  /** The keys of sends in flight. They are in no table: only this process sends, and a crash must free them. */
  const held = new Map<string, SendKey>();
  let aborting = new AbortController();

  /** Waits for the typing time and for the session to heal. Afterwards the session works. */
  const waitForSend = async (
    { id, provider }: Connection,
    text: string | null,
    session: SessionCheck,
    signal: AbortSignal,
  ): Promise<void> => {
    const healing = session === 'works' ? 0 : healWaitMs(session, random());
    const real = healing + sendLatencyMs(provider, text ?? '', random());
    const ms = Math.round(real * timing.sendScale);
    // An abort ends the wait early and is handled below.
    if (ms > 0) await wait(ms, signal).catch(() => undefined);
    if (signal.aborted)
      throw new PlatformError('send_failed', { why: 'the service is stopping or was reset' });
    if (ms > 0 || session !== 'works')
      await changeState((change) => finishHealing(change, network.sessions, id));
  };

  /** Returns the answer of the first send with a key, if it has one; otherwise sends, and holds the key meanwhile. */
  const sendOnce = async (key: SendKey, send: () => Promise<SendMessageAnswer>): Promise<Sent> => {
    const name = `${key.workspaceId} ${key.keyHash.toString('hex')}`;
    const holder = held.get(name);
    if (holder !== undefined) {
      requireSame(key, holder);
      throw sendInProgress();
    }
    held.set(name, key);
    try {
      const first = await findAnswer(database, key, clock.now());
      if (first === null) return { answer: await send(), replayed: false };
      requireSame(key, first);
      return { answer: first.answer, replayed: true }; // [messages.send.retry]
    } finally {
      held.delete(name); // [choice.send.refused]
    }
  };

  /** The checks after the key, in their fixed order: license, state, rate, network; then the wait, and the send. */
  const carryOut = async (
    connection: Connection,
    send: KeyedSend,
    signal: AbortSignal,
  ): Promise<SendMessageAnswer> => {
    requireLicense(connection); // [service.gate.unsendable] [choice.unlicensed.refused]
    const session = checkSession(connection, await network.sessions.read(database, connection.id));
    const allowance = await allowances.take(connection);
    passed('rate');
    try {
      // [errors.recipient_not_on_whatsapp]
      if (!(await network.isRegistered(send.to))) {
        throw new PlatformError('recipient_not_on_whatsapp', { why: 'the recipient has no account' });
      }
      passed('network', 'the recipient has an account');
      await waitForSend(connection, send.text, session, signal);
      const message = { ...send, from: connection.phoneNumber ?? '', waMessageId: newNetworkId() };
      const stored = isStored();
      return await retryOnce(() =>
        changeState((change) => {
          if (signal.aborted) throw new PlatformError('send_failed');
          return executeSend(change, network, message, stored);
        }),
      );
    } catch (error) {
      allowance.giveBack();
      throw error;
    }
  };

  const run = async (credential: Credential, message: MessageSend, messageId: string): Promise<Sent> => {
    const { signal } = aborting;
    const { workspaceId } = credential;
    const { idempotencyKey: given, ...content } = message;
    // [choice.send-key.reach]
    const connection = await findReachable(database, credential, content.connectionId, clock.now());
    const key = given === null ? null : readSendKey(workspaceId, given, content, clock.now());
    const send = () => carryOut(connection, { ...content, messageId, workspaceId, key }, signal);
    return key === null ? { answer: await send(), replayed: false } : await sendOnce(key, send);
  };

  return {
    timing,

    async send(credential, message) {
      const messageId = newIdentifier(); // [messages.send.id-joins]
      const sending = run(credential, message, messageId).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
      const sent = await sending;
      if (sent.answer.messageId !== null) concerned({ messageIds: [sent.answer.messageId] });
      return sent;
    },

    giveUp() {
      aborting.abort();
      aborting = new AbortController();
      allowances.clear();
    },

    async idle() {
      await Promise.allSettled(inFlight);
    },
  };
}
