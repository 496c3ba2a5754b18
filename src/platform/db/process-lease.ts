import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { currentProcess, findState } from './process-identity.ts';
import { processLease } from './time-tables.ts';

const LIFETIME_MS = 10_000;
const HEARTBEAT_MS = 2_500;

type LeaseRow = typeof processLease.$inferSelect;

/** Thrown when another process runs the service on this database. */
export class PlatformAlreadyRuns extends Error {
  override readonly name = 'PlatformAlreadyRuns';
  readonly pid: number;
  /** When its lease expires unless it is renewed, if it cannot be known whether the process runs; null if it does. */
  readonly expiresAt: number | null;

  constructor(holder: LeaseRow) {
    super(
      `another platform runs on this database: process ${holder.pid} on host '${holder.host}'. ` +
        `Stop it, or use another database for this one. ` +
        `If it crashed on another machine, its lease expires ${LIFETIME_MS / 1_000} s after its last heartbeat.`,
    );
    this.pid = holder.pid;
    this.expiresAt = findState(holder) === 'unknown' ? holder.expiresAt : null;
  }
}

/** The exclusive claim to run the service on a database: virtual time and deliveries are held by one process. */
export interface ProcessLease {
  /** Identifies this start of the service. Rows with another owner were left by a process that has ended. */
  readonly owner: string;
  release(): Promise<void>;
}

interface LeaseOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process took over because this one had missed its heartbeats. */
  readonly onLost: () => void;
}

async function claim(db: Queryable, owner: string, now: number, gone: string | null): Promise<LeaseRow> {
  const { host, pid, pidStart } = currentProcess();
  const lease = { owner, host, pid, pidStart, expiresAt: now + LIFETIME_MS };
  const [taken] = await orm(db)
    .insert(processLease)
    .values({ id: 1, ...lease })
    .onConflictDoUpdate({
      target: processLease.id,
      set: lease,
      setWhere: sql`${processLease.expiresAt} <= ${now} or ${processLease.owner} = ${gone}`,
    })
    .returning();
  if (taken !== undefined) return taken;
  const [held] = await orm(db).select().from(processLease);
  if (held !== undefined) return held;
  return claim(db, owner, now, gone);
}

/**
 * Acquires the lease and renews it with a heartbeat. The lease of a crashed process is taken over at once if the
 * process ran on this host, otherwise once it has expired. Throws `PlatformAlreadyRuns`.
 */
export async function takeProcessLease(options: LeaseOptions): Promise<ProcessLease> {
  const { database, clock, logger, onLost } = options;
  const owner = randomUUID();
  let held = await claim(database, owner, clock.now(), null);
  if (held.owner !== owner && findState(held) === 'gone') {
    held = await claim(database, owner, clock.now(), held.owner);
  }
  if (held.owner !== owner) {
    throw new PlatformAlreadyRuns(held);
  }

  let released = false;
  let cancel = (): void => {};

  const beat = async (): Promise<void> => {
    const rows = await orm(database)
      .update(processLease)
      .set({ expiresAt: clock.now() + LIFETIME_MS })
      .where(eq(processLease.owner, owner))
      .returning({ id: processLease.id });
    if (rows.length > 0 || released) return;
    released = true;
    logger.fatal({ owner }, 'another platform took over this database; this one stops');
    onLost();
  };

  const schedule = (): void => {
    cancel = clock.after(HEARTBEAT_MS, () => {
      beat()
        .catch((error: unknown) => logger.warn({ err: error }, 'the heartbeat could not be written'))
        .finally(() => {
          if (!released) schedule();
        });
    });
  };
  schedule();

  return {
    owner,
    async release() {
      released = true;
      cancel();
      await orm(database).delete(processLease).where(eq(processLease.owner, owner));
    },
  };
}
