import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { FIRST_SUBSCRIPTION_ID } from '../inbox/subscription-secrets.ts';
import type { Trial } from './settings-trial.ts';
import { readSubscription } from './subscription-store.ts';

const LOOK_EVERY_MS = 250;

export interface ReadinessOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly trials: readonly Trial[];
  /** The connector registers the webhook of the settings' account. */
  readonly registers: boolean;
}

/** Whether a proxy may send deliveries to this process, as far as settings and registration are concerned. */
export interface Readiness {
  /** Throws what the database throws. */
  isReady(): Promise<boolean>;
  /** See `Connector`. */
  untilAccepted(): Promise<boolean>;
  untilReady(): Promise<boolean>;
  close(): void;
}

/**
 * Ready means that the service has accepted the settings, and that some process has registered the webhook, so
 * that deliveries can be verified. A service that becomes unavailable later does not change that.
 */
export function createReadiness({ database, clock, trials, registers }: ReadinessOptions): Readiness {
  const closing = new AbortController();
  let hasSecret = !registers;

  async function isReady(): Promise<boolean> {
    if (!trials.every(({ isAccepted }) => isAccepted)) return false;
    // It remains registered: a rotation only replaces the secret.
    hasSecret ||= (await readSubscription(database, FIRST_SUBSCRIPTION_ID))?.hasSecret === true;
    return hasSecret;
  }

  async function untilAccepted(): Promise<boolean> {
    return (await Promise.all(trials.map(({ accepted }) => accepted))).every(Boolean);
  }

  return {
    isReady,
    untilAccepted,
    async untilReady() {
      if (!(await untilAccepted())) return false;
      // Another process may have stored the secret, and the database may be unavailable.
      while (!(await isReady().catch(() => false))) {
        await clock.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
        if (closing.signal.aborted) return false;
      }
      return true;
    },
    close: () => closing.abort(),
  };
}
