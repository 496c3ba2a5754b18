import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import type { GrantCredentials } from './grant-credentials.ts';
import { listAgeing } from './grant-store.ts';

const LOOK_EVERY_MS = 20_000;
/** An access token is refreshed this long before its end, or earlier by up to the jitter. */
const EARLY_MS = 3 * 60_000;
const JITTER_MS = 60_000;
/** Used if a server states no lifetime: often enough that no refresh token expires through disuse. */
const UNKNOWN_END_MS = 12 * 3_600_000;
const MAX_CONCURRENT = 8;
const MAX_AT_A_LOOK = 500;

export interface GrantKeeperOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly credentials: GrantCredentials;
  /** The subscription of the app whose grants are refreshed. */
  readonly subscriptionId: string;
  /** Between 0 and 1; spreads the refreshes of many grants and several processes. */
  readonly random: () => number;
}

/**
 * Refreshes access tokens before they expire, so that no call waits and no unused grant expires. Runs in
 * workers.
 */
export interface GrantKeeper {
  start(): void;
  /** Refreshes what is due now. Resolves when every refresh has ended, successful or not. */
  keep(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Every process checks, without a lease: the claim on the row of the tokens already ensures that one process
 * refreshes a version. The claim has an expiry because a refresh token must not be used twice. A lease would
 * protect the same call a second time.
 */
export function createGrantKeeper(options: GrantKeeperOptions): GrantKeeper {
  const { database, clock, logger, credentials, subscriptionId, random } = options;

  async function keep(stopping: AbortSignal): Promise<void> {
    const now = clock.now();
    const times = { now, before: now + EARLY_MS + JITTER_MS, olderThan: now - UNKNOWN_END_MS };
    const ageing = await listAgeing(database, subscriptionId, { ...times, limit: MAX_AT_A_LOOK });
    const due = ageing.filter(
      ({ accessExpiresAt }) =>
        accessExpiresAt === null || accessExpiresAt - now <= EARLY_MS + random() * JITTER_MS,
    );
    const next = due.values();
    const worker = async (): Promise<void> => {
      for (const { accountId, version } of next) {
        if (stopping.aborted) return;
        await refresh(accountId, version);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
  }

  /** The failure was stored where it occurred, and callers that need the token receive it. */
  async function refresh(accountId: string, version: number): Promise<void> {
    await credentials.refresh(accountId, version).catch((err: unknown) => {
      if (!(err instanceof ServiceError)) logger.warn({ err, accountId }, 'a grant could not be refreshed');
    });
  }

  const keeping = repeat({
    clock,
    everyMs: LOOK_EVERY_MS,
    run: keep,
    onError: (err) => logger.warn({ err }, 'the grants could not be read; retrying soon'),
  });
  return { start: keeping.start, keep: keeping.runNow, close: keeping.stop };
}
