import type { Credential } from '../credentials/credential.ts';
import type { PhoneNetwork } from '../network/network.ts';
import type { ChangeState } from '../time/state-change.ts';
import { applyTransition } from './apply-transition.ts';
import { lockReachable } from './lock-connection.ts';
import { beginPairing } from './pairing/pairing-sessions.ts';
import { requireQr } from './pairing/require-pairable.ts';

/** Dependencies of calls that change a session on the network. */
export interface SessionDependencies {
  readonly changeState: ChangeState;
  readonly network: Pick<PhoneNetwork, 'sessions'>;
}

/**
 * Logs the session out: deletes its credentials and invalidates earlier QR codes and pairing codes. The record and
 * its license remain. No event is sent, because the owner requested it. Throws `not_found`, and
 * `not_supported_for_provider` for a number that could never pair again. [connections.logout.keeps-record]
 * [state.logout.record]
 */
export function logoutConnection(
  { changeState, network: { sessions } }: SessionDependencies,
  credential: Credential,
  connectionId: string,
): Promise<void> {
  return changeState(async (change) => {
    requireQr(await lockReachable(change, credential, connectionId));
    // [connections.logout.clears] [state.logout.session]
    await sessions.end(change, connectionId);
    await beginPairing(change, connectionId);
    await applyTransition(change, connectionId, 'logged_out');
  });
}
