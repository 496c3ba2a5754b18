import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Database } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { type Connection, findReachable, requireLicense } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { concerned, passed } from '../kernel/decision-trace.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaFile } from '../media/media-file.ts';
import { newNetworkId, type PhoneNetwork } from '../network/network.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { VirtualWait } from '../time/virtual-wait.ts';
import type { WriteGate } from '../time/write-gate.ts';
import { checkSession, finishHealing, healWaitMs, type SessionCheck } from './check-session.ts';
import { executeSend, type IsStored } from './execute-send.ts';
import { createSendAllowances } from './send-allowance.ts';
import { claimSend, deleteExpiredSends, freeSend, type SendClaim } from './send-journal.ts';
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
  readonly gate: WriteGate;
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
  /** Frees the keys of sends that a crash interrupted. Call it at start, before any send. */
  recover(): Promise<void>;
  /** Cancels sends that have not reached the network, and resets the counts of the limits. */
  giveUp(): void;
  /** Resolves when no send is in progress. */
  idle(): Promise<void>;
}

/** How often answers with expired keys are deleted, in virtual time. */
const DELETE_EVERY_MS = 60_000;

export function createSender(options: Options): Sender {
  const { database, gate, clock, wait, changeState, network, random, isStored = () => true } = options;
  const timing = createSendTiming(options.sendScale);
  const allowances = createSendAllowances(options);
  const inFlight = new Set<Promise<Sent>>();
  let aborting = new AbortController();
  let deletedAt = clock.now();

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

  const deleteExpired = async (atStart = false): Promise<void> => {
    deletedAt = clock.now();
    await deleteExpiredSends(database, deletedAt, atStart);
  };

  /** The answer of the first send with the key, or null if this send now holds it. */
  const claim = async (send: SendClaim, key: string | null): Promise<SendMessageAnswer | null> => {
    if (key === null) return null;
    if (clock.now() - deletedAt >= DELETE_EVERY_MS) await gate.shared(() => deleteExpired());
    const claimed = await gate.shared(() => claimSend(database, send, key, clock.now()));
    if (claimed.outcome === 'claimed') return null;
    // [choice.send-key.other-body]
    if (!claimed.same) {
      const why = 'the first send with this key was a different message';
      throw new PlatformError('idempotency_key_reuse', { check: 'state', why });
    }
    if (claimed.outcome === 'answered') return claimed.answer; // [messages.send.retry]
    const retryAfterSeconds = ASSUMPTIONS.sendInProgressRetryAfterSeconds.value;
    const why = 'the first send with this key is in progress';
    // [messages.send.in-progress] [errors.in_progress]
    throw new PlatformError('in_progress', { retryAfterSeconds, why });
  };

  /** The checks after the key, in their fixed order: license, state, rate, network; then the wait, and the send. */
  const carryOut = async (
    connection: Connection,
    send: SendClaim,
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
    const { idempotencyKey, ...content } = message;
    // [choice.send-key.reach]
    const connection = await findReachable(database, credential, content.connectionId, clock.now());
    const send = { ...content, messageId, workspaceId: credential.workspaceId };
    const first = await claim(send, idempotencyKey);
    if (first !== null) return { answer: first, replayed: true };
    try {
      return { answer: await carryOut(connection, send, signal), replayed: false };
    } catch (error) {
      if (idempotencyKey !== null) await gate.shared(() => freeSend(database, messageId)); // [choice.send.refused]
      throw error;
    }
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

    recover: () => deleteExpired(true),

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
