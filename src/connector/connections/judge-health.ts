import type { ConnectionHealth } from '../../contract/connector/connections.ts';

/** The fields that determine the health of a connection. */
export interface HealthFacts {
  readonly visible: boolean;
  /** Epoch ms. */
  readonly deletedAt: number | null;
  readonly licenseValid: boolean | null;
  readonly status: string | null;
  readonly needsReconnect: boolean | null;
}

/**
 * The state of a connection in one word, for a dashboard. Licenses are judged by the service's own fields,
 * never by a date and our clock.
 */
export function judgeHealth(facts: HealthFacts): ConnectionHealth {
  if (facts.deletedAt !== null) return 'deleted';
  if (!facts.visible) return 'hidden';
  if (facts.licenseValid === false) return 'unlicensed';
  if (facts.status === 'connecting') return 'connecting';
  if (facts.needsReconnect === true) return 'needs_reconnect'; // [events.disconnected.drives]
  if (facts.status === 'open' || facts.status === 'connected') return 'working';
  return facts.status === 'disconnected' ? 'disconnected' : 'unknown';
}
