import { lockHealth } from '../connections/health/lock-health.ts';
import type { Connection } from '../connections/read-connections.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { NetworkSession, NetworkSessions } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';

/** A session as a send finds it: it works, or the send waits until it has healed itself, or has not. */
export type SessionMet = 'works' | 'heals' | 'ages';

// [errors.send_failed]
function deadSession(why: string): PlatformError {
  return new PlatformError(ASSUMPTIONS.deadSessionCode.value, { check: 'state', why });
}

/**
 * Looks at the session that a send would go through. Throws the code of a dead session for one that is shown as
 * such, and for one that is not and will not heal: the service finds out by the send.
 */
export function meetSession({ state }: Connection, session: NetworkSession): SessionMet {
  if (state !== 'live') throw deadSession(`the connection is ${state}`);
  if (session.alive) {
    passed('state', 'the session is live');
    return 'works';
  }
  const cause = session.cause ?? 'no session';
  if (!session.heals && cause !== ASSUMPTIONS.sendHeal.value.triedFor) {
    throw deadSession(`shown as connected, but the network has: ${cause}`);
  }
  passed('state', `the session is worn (${cause}) and tries to heal`);
  return session.heals ? 'heals' : 'ages';
}

/**
 * How long a send waits for a session to heal, in ms before scaling. `draw` in [0, 1). [service.qr.self-heal]
 * [messages.send.latency-heal]
 */
export function healWaitMs(met: Exclude<SessionMet, 'works'>, draw: number): number {
  const { minMs, drawMs, giveUpMs } = ASSUMPTIONS.sendHeal.value;
  return met === 'heals' ? Math.round(minMs + draw * drawMs) : giveUpMs;
}

/**
 * The session at the end of a send's wait: an outage that heals is over with this, before anything was told of it.
 * Throws the code of a dead session when it does not work all the same, or has gone.
 */
export async function endWait(
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
