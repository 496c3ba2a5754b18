import { z } from 'zod';
import type { OutageCause } from '../../../contract/sandbox/connections.ts';
import { LIMITS } from '../../../contract/service/limits.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import type { NetworkSessions } from '../../network/network.ts';
import type { StateChange } from '../../time/state-change.ts';
import type { TimerHandler } from '../../time/timer-runner.ts';
import type { NewTimer } from '../../time/timers.ts';
import { applyTransition } from '../apply-transition.ts';
import { lockHealth } from './lock-health.ts';

interface Planned {
  readonly cause: OutageCause;
  readonly heals: boolean;
  /** When the outage began, virtual epoch ms. */
  readonly at: number;
  /** A random draw in [0, 1). */
  readonly draw: number;
  readonly connectionId: string;
  readonly outageId: string;
}

/**
 * The timer that ends the hidden phase of an outage. An outage that heals ends before it is reported. Otherwise the
 * status probe finds it: within 5 minutes, or after 15 to 20 minutes if a heal is tried and fails.
 * [limits.disconnect-detection]
 */
export function planDiscovery({ cause, heals, at, draw, connectionId, outageId }: Planned): NewTimer {
  const { least, healedLeast, healedMost } = ASSUMPTIONS.outageFoundAfterMs.value;
  const within = (from: number, to: number): number => at + from + Math.round(draw * (to - from));
  const payload = { connectionId, outageId };
  // [choice.outage.unfound]
  if (heals) return { kind: 'outage.healed', dueAt: within(healedLeast, healedMost), payload };
  // [state.outage.heal-first] [state.outage.detected]
  const dueAt = ASSUMPTIONS.outageCauses.value[cause].healTried
    ? within(LIMITS.disconnectDetectionHealMinMs, LIMITS.disconnectDetectionHealMaxMs)
    : within(least, LIMITS.disconnectDetectionMs);
  return { kind: 'outage.found', dueAt, payload };
}

const outageTimer = z.object({ connectionId: z.string(), outageId: z.string() });

/** Runs `act` if the outage still lasts and the service has not found it; otherwise the timer is stale. */
async function whileHidden(
  change: StateChange,
  sessions: NetworkSessions,
  payload: unknown,
  act: (connectionId: string, cause: OutageCause, phoneOn: boolean) => Promise<void>,
): Promise<void> {
  const { connectionId, outageId } = outageTimer.parse(payload);
  const health = await lockHealth(change, sessions, connectionId);
  if (health === null || health.state !== 'live') return;
  const { cause, phoneOn } = health.session;
  if (health.session.outageId !== outageId || cause === null) return;
  await act(connectionId, cause, phoneOn);
}

async function find(change: StateChange, connectionId: string, reason: string): Promise<void> {
  await applyTransition(change, connectionId, 'outage_found', { reason });
}

function alone(fire: (change: StateChange, payload: unknown) => Promise<void>): TimerHandler {
  return {
    alone: true,
    async fire(change, timers) {
      for (const { payload } of timers) await fire(change, payload);
    },
  };
}

/** The handlers of outage timers. Timers of a deleted or newly paired connection do nothing. */
export function outageTimers(sessions: NetworkSessions): Readonly<Record<string, TimerHandler>> {
  return {
    'outage.found': alone((change, payload) =>
      whileHidden(change, sessions, payload, (connectionId, cause) =>
        find(change, connectionId, ASSUMPTIONS.outageCauses.value[cause].reason),
      ),
    ),
    'outage.healed': alone((change, payload) =>
      whileHidden(change, sessions, payload, (connectionId, cause, phoneOn) => {
        // The owner has switched the phone off since, so the heal fails.
        if (!phoneOn && cause !== 'phone_off') return find(change, connectionId, 'HEAL_GIVEUP');
        return sessions.open(change, connectionId);
      }),
    ),
  };
}
