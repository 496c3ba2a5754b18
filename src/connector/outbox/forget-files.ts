import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

/** How long the file of a send that failed is kept, so that an operator can try it again. */
const KEPT_MS = 7 * 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;

/** Forgets the files of sends that failed long ago, now and every hour. Returns a function that ends it. */
export function keepForgettingFiles(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}): () => Promise<void> {
  const { database, clock, logger } = options;
  let stopped = false;
  let cancel = (): void => undefined;
  let forgetting: Promise<void> = Promise.resolve();

  async function forget(): Promise<void> {
    try {
      await database.query(
        `delete from connector.outbound_media f using connector.outbound o
          where o.id = f.outbound_id and o.state in ('rejected', 'unknown') and o.updated_at < $1::bigint`,
        [clock.now() - KEPT_MS],
      );
    } catch (err) {
      logger.warn({ err }, 'files of old sends could not be forgotten; trying again in an hour');
    }
    if (!stopped) cancel = clock.after(EVERY_MS, begin);
  }

  function begin(): void {
    forgetting = forget();
  }

  begin();
  return async () => {
    stopped = true;
    cancel();
    await forgetting;
  };
}
