import type { Credential } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { passed } from '../kernel/decision-trace.ts';
import type { NetworkSession, NetworkSessions } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import { applyTransition } from './apply-transition.ts';
import { lockReachable } from './lock-connection.ts';
import type { SessionDependencies } from './logout-connection.ts';
import { beginPairing } from './pairing/pairing-sessions.ts';
import type { Connection } from './read-connections.ts';

/** Whether the session can resume without pairing: the network has its credentials, and the phone is on. */
function canResume({ state }: Connection, { credentials, phoneOn }: NetworkSession): boolean {
  return state !== 'connecting' && credentials && phoneOn;
}

/** Ends the session and starts pairing. A live connection that cannot resume was broken, which is an outage. */
async function buildAnew(
  change: StateChange,
  sessions: NetworkSessions,
  { id, state }: Connection,
  { cause }: NetworkSession,
): Promise<void> {
  if (state === 'live') {
    const { reason } = ASSUMPTIONS.outageCauses.value[cause ?? 'session_lost'];
    await applyTransition(change, id, 'outage_found', { reason });
  }
  await sessions.end(change, id);
  await beginPairing(change, id);
  // [state.restart.connecting] [state.logout.return]
  await applyTransition(change, id, 'restarted_needs_qr');
}

/**
 * Restarts the session and keeps the record. The session resumes if the network allows it; otherwise it is rebuilt
 * (`recreated`) and the owner has to pair. A number of the business platform has no session to rebuild. Throws
 * `not_found`. [connections.restart.keeps-record]
 */
export function restartConnection(
  { changeState, network: { sessions } }: SessionDependencies,
  credential: Credential,
  connectionId: string,
): Promise<{ readonly recreated: boolean }> {
  return changeState(async (change) => {
    const connection = await lockReachable(change, credential, connectionId);
    passed('state', `the connection is ${connection.state}`);
    if (connection.provider !== 'qr') return { recreated: false };
    const session = await sessions.lock(change, connectionId);
    if (!canResume(connection, session)) {
      await buildAnew(change, sessions, connection, session);
      return { recreated: true };
    }
    await sessions.open(change, connectionId);
    await applyTransition(change, connectionId, 'restarted');
    return { recreated: false };
  });
}
