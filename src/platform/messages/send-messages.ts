import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import { type Connection, findReachable, requireLicence } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { newIdentifier } from '../identifiers.ts';
import type { PhoneNetwork } from '../network/network.ts';
import { PlatformError } from '../platform-error.ts';
import type { ChangeState } from '../state-change.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { WriteGate } from '../time/write-gate.ts';
import { createSendCarrier } from './carry-out-send.ts';
import { claimSend, forgetExpiredSends, freeSend, type JournalEntry } from './send-journal.ts';
import { sendLatencyMs } from './send-latency.ts';
import { createSendTiming, type SendTiming } from './send-timing.ts';

/** A text to send. */
export interface TextSend {
  readonly connectionId: string;
  /** Digits of the recipient. */
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey: string | null;
}

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly gate: WriteGate;
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly network: PhoneNetwork;
  readonly logger: Logger;
  /** Draws in [0, 1). */
  readonly random: () => number;
  readonly sendScale: number;
}

/** Sends, over REST and tools alike. */
export interface Sender {
  readonly timing: SendTiming;
  /**
   * Sends a text and answers once the network has it. `persist: false` is the degraded case: the phone gets
   * it, nothing is stored. Throws, in this order: `invalid_request` for a text that cannot be stored,
   * `not_found`, `in_progress`, the 402s, `send_failed` for a dead session, `recipient_not_on_whatsapp`.
   * A key remembers answers only; an error frees it.
   */
  send(
    credential: Credential,
    message: TextSend,
    fate?: { readonly persist: boolean },
  ): Promise<SendMessageAnswer>;
  /** At start, before any send: ends what a crash left under way. */
  recover(): Promise<void>;
  /** Gives up the sends under way that have not reached the network. */
  giveUp(): void;
  /** Resolves when no send is under way. */
  idle(): Promise<void>;
}

/** NUL and half surrogate pairs cannot be stored as they are. */
function requireStorable(text: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return;
  throw new PlatformError(ASSUMPTIONS.refusedText.value, {
    field: 'text',
    hint: 'must be well-formed Unicode without NUL',
  });
}

/** The checks after visibility, in their fixed order: licence, provider, state, rate. */
function admitSend(connection: Connection): void {
  requireLicence(connection);
  if (connection.state !== 'live') throw new PlatformError(ASSUMPTIONS.deadSessionCode.value);
}

export function createSender(options: Options): Sender {
  const { database, gate, clock, systemClock, network, logger, random } = options;
  const timing = createSendTiming(options.sendScale);
  const carrier = createSendCarrier(options);
  /** Every send of this process by its message id; a held key whose send is not here is a lost one. */
  const underWay = new Map<string, Promise<SendMessageAnswer>>();
  let patience = new AbortController();

  const waitLikeAPerson = async (
    connection: Connection,
    text: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const ms = Math.round(sendLatencyMs(connection.provider, text, random()) * timing.sendScale);
    // An abort rejects the sleep; what it means for the send is told below.
    if (ms > 0) await systemClock.sleep(ms, signal).catch(() => undefined);
    if (signal.aborted) throw new PlatformError('send_failed');
  };

  /** The answer of the first send with the key, or null when this one holds it now. */
  const claim = async (entry: JournalEntry, key: string | null): Promise<SendMessageAnswer | null> => {
    for (;;) {
      const claimed = await gate.shared(() => claimSend(database, entry, key, clock.now()));
      if (claimed.outcome === 'claimed') return null;
      if (claimed.outcome === 'answered') return claimed.answer;
      if (underWay.has(claimed.messageId)) {
        const retryAfterSeconds = ASSUMPTIONS.sendInProgressRetryAfterSeconds.value;
        throw new PlatformError('in_progress', { retryAfterSeconds });
      }
      await carrier.clearUp([claimed.messageId]);
    }
  };

  /** Everything that may still be refused; afterwards the message is on its way. */
  const prepare = async (connection: Connection, entry: JournalEntry, signal: AbortSignal): Promise<void> => {
    try {
      admitSend(connection);
      if (!(await network.isRegistered(entry.to))) throw new PlatformError('recipient_not_on_whatsapp');
      await waitLikeAPerson(connection, entry.text, signal);
    } catch (error) {
      await gate.shared(() => freeSend(database, entry.messageId));
      throw error;
    }
  };

  const run = async (
    credential: Credential,
    message: TextSend,
    messageId: string,
    persist: boolean,
  ): Promise<SendMessageAnswer> => {
    const { signal } = patience;
    requireStorable(message.text);
    const connection = await findReachable(database, credential, message.connectionId, clock.now());
    const { connectionId, to, text, idempotencyKey } = message;
    const entry = { messageId, workspaceId: credential.workspaceId, connectionId, to, text };
    const first = await claim(entry, idempotencyKey);
    if (first !== null) return first;
    await prepare(connection, entry, signal);
    const accepted = await carrier.accept({ ...entry, from: connection.phoneNumber ?? '' }, signal);
    return persist ? carrier.store(entry, accepted) : carrier.leaveUnstored(entry, accepted);
  };

  return {
    timing,

    send(credential, message, fate = { persist: true }) {
      const messageId = newIdentifier();
      const sending = run(credential, message, messageId, fate.persist).finally(() => {
        underWay.delete(messageId);
      });
      underWay.set(messageId, sending);
      return sending;
    },

    async recover() {
      await forgetExpiredSends(database, clock.now());
      const total = await carrier.clearUp();
      if (total > 0) logger.info({ total }, 'sends of an earlier start were completed or freed');
    },

    giveUp() {
      patience.abort();
      patience = new AbortController();
    },

    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };
}
