import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { FIRST_SUBSCRIPTION_ID } from '../inbox/subscription-secrets.ts';
import type { Admission } from './admission.ts';
import { readSubscription } from './subscription-store.ts';

const LOOK_EVERY_MS = 250;

export interface ReadinessOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly admissions: readonly Admission[];
  /** The connector registers the webhook of the settings' account. */
  readonly registers: boolean;
}

/** Whether a proxy may send deliveries to this process, as far as settings and registration are concerned. */
export interface Readiness {
  /** Throws what the database throws. */
  isReady(): Promise<boolean>;
  /** See `Connector`. */
  untilAdmitted(): Promise<boolean>;
  untilReady(): Promise<boolean>;
  close(): void;
}

/**
 * Ready means that the service has accepted the settings, and that some process has registered the webhook, so
 * that deliveries can be verified. A service that becomes unavailable later does not change that.
 */
export function createReadiness({ database, clock, admissions, registers }: ReadinessOptions): Readiness {
  const closing = new AbortController();
  const closed = Promise.withResolvers<false>();
  let hasSecret = !registers;

  async function isReady(): Promise<boolean> {
    if (!admissions.every(({ isAdmitted }) => isAdmitted)) return false;
    // It remains registered: a rotation only replaces the secret.
    hasSecret ||= (await readSubscription(database, FIRST_SUBSCRIPTION_ID))?.hasSecret === true;
    return hasSecret;
  }

  async function untilAdmitted(): Promise<boolean> {
    const all = Promise.all(admissions.map(({ admitted }) => admitted)).then(() => true);
    return await Promise.race([all, closed.promise]);
  }

  return {
    isReady,
    untilAdmitted,
    async untilReady() {
      if (!(await untilAdmitted())) return false;
      // Another process may have stored the secret, and the database may be unavailable.
      while (!(await isReady().catch(() => false))) {
        await clock.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
        if (closing.signal.aborted) return false;
      }
      return true;
    },
    close() {
      closing.abort();
      closed.resolve(false);
    },
  };
}
