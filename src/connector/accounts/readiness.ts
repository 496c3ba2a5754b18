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
 * Ready means: the service has taken what the settings name, and the webhook was registered at some time by some
 * process, so that a delivery meets the secret that it was signed with. A service that is away later changes nothing.
 */
export function createReadiness({ database, clock, admissions, registers }: ReadinessOptions): Readiness {
  const closing = new AbortController();
  const closed = Promise.withResolvers<false>();
  let hasSecret = !registers;

  async function isReady(): Promise<boolean> {
    if (!admissions.every(({ isAdmitted }) => isAdmitted)) return false;
    // It never goes again: a rotation replaces it.
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
      // The secret may come from another process, and the database may be away.
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
