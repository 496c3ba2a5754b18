import type { Clock } from '../runtime/clock/clock.ts';
import { repeat } from '../runtime/clock/repeat.ts';
import type { Database, Queryable } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { forgetOldCreations } from './connections/creation-store.ts';
import { forgetOldLetters } from './handover/dead-letters.ts';
import { forgetOldSends } from './outbox/forget-sends.ts';

const EVERY_MS = 60 * 60_000;

/** What has ended is forgotten after a time of its own, named where it is kept. */
const FORGET: readonly ((db: Queryable, now: number) => Promise<void>)[] = [
  forgetOldSends,
  forgetOldCreations,
  forgetOldLetters,
];

/** Forgets what ended long ago, now and every hour. Any number of processes may. Returns a function that ends it. */
export function keepForgetting(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}): () => Promise<void> {
  const { database, clock, logger } = options;
  const forgetting = repeat({
    clock,
    everyMs: EVERY_MS,
    async run(stopping) {
      for (const forget of FORGET) {
        if (stopping.aborted) return;
        await forget(database, clock.now()).catch(noteFailure);
      }
    },
    onError: noteFailure,
  });

  function noteFailure(err: unknown): void {
    logger.warn({ err }, 'what ended long ago could not be forgotten; trying again in an hour');
  }

  forgetting.start();
  forgetting.trigger();
  return forgetting.stop;
}
