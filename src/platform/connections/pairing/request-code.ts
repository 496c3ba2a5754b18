import { LIMITS } from '../../../contract/service/limits.ts';
import type { Credential } from '../../credentials/credential.ts';
import { passed } from '../../kernel/decision-trace.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { PhoneNetwork } from '../../network/network.ts';
import type { ChangeState } from '../../time/state-change.ts';
import { lockReachable } from '../lock-connection.ts';
import { newPairingCode, shownCode } from './pairing-code.ts';
import { readPairing, writeCode } from './pairing-sessions.ts';
import { requireNotLive, requireQr } from './require-pairable.ts';

interface Dependencies {
  readonly changeState: ChangeState;
  readonly network: Pick<PhoneNetwork, 'isRegistered'>;
}

const SECOND = 1_000;

/**
 * The requests of the last 15 minutes, including this one. Throws `rate_limited` for the sixth.
 * [connections.pairing-code.cap] [limits.pairing-codes] [errors.rate_limited]
 */
function countRequest(earlier: readonly number[], now: number): number[] {
  const recent = earlier.filter((at) => at > now - LIMITS.pairingCodeWindowMs);
  const [oldest] = recent;
  if (oldest !== undefined && recent.length >= LIMITS.pairingCodesPerWindow) {
    const waitMs = oldest + LIMITS.pairingCodeWindowMs - now;
    const why = `${recent.length} codes in 15 minutes, the next in ${Math.ceil(waitMs / SECOND)} s`;
    throw new PlatformError('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / SECOND), why });
  }
  passed('rate', `${recent.length} codes in the last 15 minutes`);
  return [...recent, now];
}

/**
 * Requests a code that the owner of `phoneNumber` may type. Each call returns a new code and invalidates the previous
 * one; the session and its QR codes remain valid. A request that the network declines also counts. Throws, in this
 * order: `not_found`, `not_supported_for_provider`, `already_connected`, `rate_limited`,
 * `pairing_code_unavailable` for a number without an account. [state.pairing-code.unchanged]
 */
export async function requestCode(
  { changeState, network }: Dependencies,
  credential: Credential,
  { connectionId, phoneNumber }: { readonly connectionId: string; readonly phoneNumber: string },
): Promise<string> {
  const hasAccount = await network.isRegistered(phoneNumber);
  const code = await changeState(async (change) => {
    const connection = await lockReachable(change, credential, connectionId);
    requireQr(connection);
    requireNotLive(connection);
    // [connections.pairing-code.cap-per-connection]
    const { codeRequests } = await readPairing(change.tx, connectionId);
    const requests = countRequest(codeRequests, change.now);
    // [connections.pairing-code.again]
    const fresh = hasAccount ? newPairingCode(phoneNumber, change.now) : null;
    // [connections.pairing-code.no-rebuild]
    await writeCode(change, connectionId, requests, fresh);
    return fresh;
  });
  // Thrown outside of the transaction, which would otherwise roll back and not count the request.
  if (code === null) {
    // [connections.pairing-code.declined] [errors.pairing_code_unavailable]
    throw new PlatformError('pairing_code_unavailable', { why: 'the number has no account on the network' });
  }
  passed('network');
  return shownCode(code);
}
