import { lockHealth } from '../connections/health/lock-health.ts';
import type { Connection } from '../connections/read-connections.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { NetworkSession, NetworkSessions } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';

/** The session of a connection at the time of a send: it works, it will heal during the send, or its heal fails. */
export type SessionCheck = 'works' | 'heals' | 'fails';

// [errors.send_failed]
function deadSession(why: string): PlatformError {
  return new PlatformError(ASSUMPTIONS.deadSessionCode.value, { check: 'state', why });
}

/**
 * Checks the session of a send. Throws the code of a dead session if it is shown as disconnected, or if it is broken
 * and will not heal: the service discovers this with the send.
 */
export function checkSession({ state }: Connection, session: NetworkSession): SessionCheck {
  if (state !== 'live') throw deadSession(`the connection is ${state}`);
  if (session.alive) {
    passed('state', 'the session is live');
    return 'works';
  }
  const cause = session.cause ?? 'no session';
  if (!session.heals && cause !== ASSUMPTIONS.sendHeal.value.triedFor) {
    throw deadSession(`shown as connected, but broken on the network (${cause})`);
  }
  passed('state', `the session is broken (${cause}) and may heal`);
  return session.heals ? 'heals' : 'fails';
}

/**
 * How long a send waits for a session to heal, in ms before scaling. `draw` in [0, 1). [service.qr.self-heal]
 * [messages.send.latency-heal]
 */
export function healWaitMs(check: Exclude<SessionCheck, 'works'>, draw: number): number {
  const { minMs, drawMs, giveUpMs } = ASSUMPTIONS.sendHeal.value;
  return check === 'heals' ? Math.round(minMs + draw * drawMs) : giveUpMs;
}

/**
 * Checks the session at the end of a send's wait, and again when the send is stored. Ends an outage that heals, before
 * it is reported. Throws the code of a dead session if the session still does not work, or no longer exists.
 */
export async function finishHealing(
  change: StateChange,
  sessions: NetworkSessions,
  connectionId: string,
): Promise<void> {
  const health = await lockHealth(change, sessions, connectionId);
  if (health === null || health.state !== 'live') throw deadSession('the connection broke during the send');
  const { session } = health;
  if (session.alive) return;
  const heals = session.heals && (session.phoneOn || session.cause === 'phone_off');
  if (!heals) throw deadSession('the session did not heal');
  await sessions.open(change, connectionId);
}
