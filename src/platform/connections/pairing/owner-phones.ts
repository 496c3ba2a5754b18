import { attachSlot } from '../../licensing/slots.ts';
import type { NetworkSessions, PhoneNetwork } from '../../network/network.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import { applyTransition } from '../apply-transition.ts';
import { ensureDefault } from '../default-connection.ts';
import { lockConnection } from '../lock-connection.ts';
import type { Connection } from '../read-connections.ts';
import { generateNumber, isTaken, startWarmup } from './paired-numbers.ts';
import { bareCode, isGoodCode } from './pairing-code.ts';
import { beginPairing, type PairingSession, readPairing } from './pairing-sessions.ts';
import { isGoodTicket, readTicket } from './pairing-ticket.ts';
import { requireNotLive, requireQr } from './require-pairable.ts';

/**
 * The network's answer to a phone that pairs:
 * - `no_ticket`, `other_connection`: the picture is not a QR code of this connection.
 * - `expired`: the QR code or pairing code is not valid, or no longer.
 * - `no_account`: the number is not on the network.
 * - `number_taken`: another connection of the workspace has this number.
 * - `wrong_number`: the connection belongs to another number.
 * - `no_number`: no number was given, and no generated number is free.
 */
export type PairingOutcome =
  | 'paired'
  | 'no_ticket'
  | 'other_connection'
  | 'expired'
  | 'no_account'
  | 'number_taken'
  | 'wrong_number'
  | 'no_number';

/**
 * The actions of owners on their phones. Both calls throw, in this order: `not_found`,
 * `not_supported_for_provider` for a number of the business platform, `already_connected` for a live session.
 */
export interface OwnerPhones {
  /**
   * The phone scans a QR code that contains `text`; null: the one shown at this moment. `phoneNumber` is the number
   * of the phone; default: the connection's, or a free generated one. Pairing claims slot and trial. Implements
   * `Connection status`, `connecting`.
   */
  scan(connectionId: string, text: string | null, phoneNumber?: string): Promise<PairingOutcome>;
  /** The owner types a code on the phone with the number for which the code was requested. */
  enterCode(connectionId: string, code: string): Promise<PairingOutcome>;
}

interface Dependencies {
  readonly changeState: ChangeState;
  readonly network: Pick<PhoneNetwork, 'isRegistered' | 'sessions'>;
}

/** The state that a pairing attempt starts from. */
interface Attempt {
  readonly connection: Connection;
  readonly pairing: PairingSession;
}

async function beginAttempt(change: StateChange, connectionId: string): Promise<Attempt> {
  const connection = await lockConnection(change, connectionId);
  requireQr(connection);
  requireNotLive(connection);
  return { connection, pairing: await readPairing(change.tx, connectionId) };
}

/** Links the number: session, slot and trial, warm-up, state. Invalidates earlier QR codes and pairing codes. */
async function pair(
  change: StateChange,
  sessions: NetworkSessions,
  connection: Connection,
  phoneNumber: string,
): Promise<PairingOutcome> {
  const { id, workspaceId } = connection;
  if (connection.phoneNumber !== null && connection.phoneNumber !== phoneNumber) return 'wrong_number';
  if (await isTaken(change, connection, phoneNumber)) return 'number_taken';
  await beginPairing(change, id);
  // [service.slot.attaches] [connections.pairing-code.consumes-nothing]
  await attachSlot(change, { workspaceId, connectionId: id });
  await startWarmup(change, connection, phoneNumber); // [service.qr.warmup]
  await applyTransition(change, id, 'paired', { phoneNumber });
  await sessions.open(change, id);
  await ensureDefault(change, workspaceId);
  return 'paired';
}

function judgeTicket({ connection, pairing }: Attempt, text: string, now: number): PairingOutcome | null {
  const ticket = readTicket(text);
  if (ticket === null) return 'no_ticket';
  if (ticket.connectionId !== connection.id) return 'other_connection';
  return isGoodTicket(ticket, pairing.secret, now) ? null : 'expired';
}

export function createOwnerPhones({ changeState, network }: Dependencies): OwnerPhones {
  const { sessions } = network;
  return {
    async scan(connectionId, text, phoneNumber) {
      const hasAccount = phoneNumber === undefined || (await network.isRegistered(phoneNumber));
      return changeState(async (change) => {
        const attempt = await beginAttempt(change, connectionId);
        const refused = text === null ? null : judgeTicket(attempt, text, change.now);
        if (refused !== null) return refused;
        if (!hasAccount) return 'no_account';
        const { connection } = attempt;
        const number = phoneNumber ?? connection.phoneNumber ?? (await generateNumber(change.tx, connection));
        // [service.qr.pairs] [state.paired.scan]
        return number === null ? 'no_number' : pair(change, sessions, connection, number);
      });
    },

    enterCode: (connectionId, typed) =>
      changeState(async (change) => {
        const { connection, pairing } = await beginAttempt(change, connectionId);
        const { code } = pairing;
        if (code === null || !isGoodCode(code, bareCode(typed), change.now)) return 'expired';
        // [service.qr.pairs] [state.paired.code] [connections.pairing-code.no-event]
        return pair(change, sessions, connection, code.phoneNumber);
      }),
  };
}
