import type { ConnectionHealth } from '../../contract/connector/connections.ts';

/** What the health of a connection goes by. */
export interface HealthFacts {
  readonly visible: boolean;
  /** Epoch ms. */
  readonly deletedAt: number | null;
  readonly licenseValid: boolean | null;
  readonly status: string | null;
  readonly needsReconnect: boolean | null;
}

/**
 * The one word that a dashboard needs of a connection. Licences go by what the service says of them, never by a
 * date and our clock.
 */
export function judgeHealth(facts: HealthFacts): ConnectionHealth {
  if (facts.deletedAt !== null) return 'deleted';
  if (!facts.visible) return 'hidden';
  if (facts.licenseValid === false) return 'unlicensed';
  if (facts.status === 'connecting') return 'connecting';
  if (facts.needsReconnect === true) return 'needs_reconnect';
  if (facts.status === 'open' || facts.status === 'connected') return 'working';
  return facts.status === 'disconnected' ? 'disconnected' : 'unknown';
}
