import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Connection, findReachable, requireLicense } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { concerned, passed } from '../kernel/decision-trace.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaFile } from '../media/media-file.ts';
import type { PhoneNetwork } from '../network/network.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { VirtualWait } from '../time/virtual-wait.ts';
import type { WriteGate } from '../time/write-gate.ts';
import { type AroundStore, createSendCarrier } from './carry-out-send.ts';
import { endWait, healWaitMs, meetSession, type SessionMet } from './meet-session.ts';
import { type Allowance, createSendAllowances } from './send-allowance.ts';
import {
  claimSend,
  forgetExpiredSends,
  freeSend,
  type JournalEntry,
  type SendClaim,
} from './send-journal.ts';
import { createSendTiming, type SendTiming, sendLatencyMs } from './send-timing.ts';

/** What to send: a text, or a file whose caption is the text. */
export interface MessageSend {
  readonly connectionId: string;
  /** Digits of the recipient. */
  readonly to: string;
  readonly text: string | null;
  /** Stored already; whoever stored it removes it again when the send comes to nothing. */
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
  readonly logger: Logger;
  readonly aroundStore?: AroundStore | undefined;
  /** Draws in [0, 1). */
  readonly random: () => number;
  readonly sendScale: number;
  /** Sends of one connection in a minute before the abuse limiter steps in. */
  readonly sendsPerMinute: number;
}

/** Options of one send. */
interface SendManner {
  /** Waits for the first send with the key instead of throwing `in_progress`. Default: false. */
  readonly joins?: boolean;
}

/** What a send came to. */
export interface Sent {
  readonly answer: SendMessageAnswer;
  /** An earlier send with the key was answered so; this one sent nothing. */
  readonly replayed: boolean;
}

/** Sends, over REST and tools alike. [choice.tools.key] */
export interface Sender {
  readonly timing: SendTiming;
  /**
   * Sends and answers once the network has it. Throws, in this order: `not_found`, `idempotency_key_reuse`,
   * `in_progress`, the 402s, `send_failed` for a dead session, `warmup_limited`, `rate_limited`,
   * `recipient_not_on_whatsapp`, and `send_failed` for a session that did not heal. A key stands for one
   * message of the workspace and remembers answers only; an error frees it, and does not count as a send.
   */
  send(credential: Credential, message: MessageSend, manner?: SendManner): Promise<Sent>;
  /** At start, before any send: ends what a crash left under way. */
  recover(): Promise<void>;
  /** Gives up the sends under way that have not reached the network, and forgets how many there were. */
  giveUp(): void;
  /** Resolves when no send is under way. */
  idle(): Promise<void>;
}

/** How often answers whose keys are free again are forgotten, virtual time. */
const FORGET_EVERY_MS = 60_000;

export function createSender(options: Options): Sender {
  const { database, gate, clock, wait, changeState, network, logger, random } = options;
  const timing = createSendTiming(options.sendScale);
  const allowances = createSendAllowances(options);
  const carrier = createSendCarrier(options);
  /** Every send of this process by its message id; a held key whose send is not here is a lost one. */
  const inFlight = new Map<string, Promise<Sent>>();
  let patience = new AbortController();
  let forgottenAt = clock.now();

  /** Waits as long as a person types, and for the session to heal. The session works afterwards. */
  const waitLikeAPerson = async (
    { id, provider }: Connection,
    text: string | null,
    met: SessionMet,
    signal: AbortSignal,
  ): Promise<void> => {
    const healing = met === 'works' ? 0 : healWaitMs(met, random());
    const real = healing + sendLatencyMs(provider, text ?? '', random());
    const ms = Math.round(real * timing.sendScale);
    // An abort ends the wait early; what it means for the send is told below.
    if (ms > 0) await wait(ms, signal).catch(() => undefined);
    if (signal.aborted) throw new PlatformError('send_failed', { why: 'the service stops or was reset' });
    if (ms > 0 || met !== 'works') await changeState((change) => endWait(change, network.sessions, id));
  };

  const forgetExpired = async (): Promise<void> => {
    forgottenAt = clock.now();
    await forgetExpiredSends(database, forgottenAt);
  };

  /** The answer of the first send with the key, or null when this one holds it now. */
  const claim = async (
    entry: SendClaim,
    key: string | null,
    joins: boolean,
  ): Promise<SendMessageAnswer | null> => {
    if (clock.now() - forgottenAt >= FORGET_EVERY_MS) await gate.shared(forgetExpired);
    for (;;) {
      const claimed = await gate.shared(() => claimSend(database, entry, key, clock.now()));
      if (claimed.outcome === 'claimed') return null;
      const first = claimed.outcome === 'held' ? inFlight.get(claimed.messageId) : undefined;
      if (claimed.outcome === 'held' && first === undefined) {
        // Its process is gone: either the network has the message, or the key is free for any other.
        await carrier.clearUp([claimed.messageId]);
        continue;
      }
      // [choice.send-key.other-body]
      if (!claimed.same) {
        const why = 'the first send with this key was another message';
        throw new PlatformError('idempotency_key_reuse', { check: 'state', why });
      }
      if (claimed.outcome === 'answered') return claimed.answer; // [messages.send.retry]
      if (!joins) {
        const retryAfterSeconds = ASSUMPTIONS.sendInProgressRetryAfterSeconds.value;
        const why = 'the first send with this key is under way';
        // [messages.send.in-progress] [errors.in_progress]
        throw new PlatformError('in_progress', { retryAfterSeconds, why });
      }
      await Promise.allSettled([first]);
    }
  };

  /** The checks after the key, in their fixed order: license, state, rate, network; and the wait. */
  const admit = async (
    connection: Connection,
    entry: JournalEntry,
    signal: AbortSignal,
  ): Promise<Allowance> => {
    requireLicense(connection); // [service.gate.unsendable] [choice.unlicensed.refused]
    const met = meetSession(connection, await network.sessions.read(database, connection.id));
    const allowance = await allowances.take(connection);
    passed('rate');
    try {
      // [errors.recipient_not_on_whatsapp]
      if (!(await network.isRegistered(entry.to))) {
        throw new PlatformError('recipient_not_on_whatsapp', { why: 'the recipient has no account' });
      }
      passed('network', 'the recipient has an account');
      await waitLikeAPerson(connection, entry.text, met, signal);
      return allowance;
    } catch (error) {
      allowance.giveBack();
      throw error;
    }
  };

  /** Everything that may still be refused; afterwards the message is on its way. [choice.send.refused] */
  const prepare = async (
    connection: Connection,
    entry: JournalEntry,
    signal: AbortSignal,
  ): Promise<Allowance> => {
    try {
      return await admit(connection, entry, signal);
    } catch (error) {
      await gate.shared(() => freeSend(database, entry.messageId));
      throw error;
    }
  };

  const run = async (
    credential: Credential,
    message: MessageSend,
    messageId: string,
    { joins = false }: SendManner,
  ): Promise<Sent> => {
    const { signal } = patience;
    // [choice.send-key.reach]
    const connection = await findReachable(database, credential, message.connectionId, clock.now());
    const { connectionId, to, text, media, idempotencyKey } = message;
    const entry = { messageId, workspaceId: credential.workspaceId, connectionId, to, text, media };
    const first = await claim(entry, idempotencyKey, joins);
    if (first !== null) return { answer: first, replayed: true };
    const allowance = await prepare(connection, entry, signal);
    const outbound = { ...entry, media, from: connection.phoneNumber ?? '' };
    const accepted = await carrier.accept(outbound, signal).catch((error: unknown) => {
      allowance.giveBack();
      throw error;
    });
    return { answer: await carrier.store(entry, accepted), replayed: false };
  };

  return {
    timing,

    async send(credential, message, manner = {}) {
      const messageId = newIdentifier(); // [messages.send.id-joins]
      const sending = run(credential, message, messageId, manner).finally(() => {
        inFlight.delete(messageId);
      });
      inFlight.set(messageId, sending);
      const sent = await sending;
      if (sent.answer.messageId !== null) concerned({ messageIds: [sent.answer.messageId] });
      return sent;
    },

    async recover() {
      await forgetExpired();
      const total = await carrier.clearUp();
      if (total > 0) logger.info({ total }, 'sends of an earlier start were completed or freed');
    },

    giveUp() {
      patience.abort();
      patience = new AbortController();
      allowances.clear();
    },

    async idle() {
      await Promise.allSettled(inFlight.values());
    },
  };
}
