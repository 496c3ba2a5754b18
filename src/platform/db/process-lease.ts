import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { currentProcess, isGone, type ProcessIdentity } from './process-identity.ts';
import { processLease } from './time-tables.ts';

const LIFETIME_MS = 10_000;
const HEARTBEAT_MS = 2_500;

type LeaseRow = typeof processLease.$inferSelect;

/** Another process runs the service on this database. */
export class PlatformAlreadyRuns extends Error {
  override readonly name = 'PlatformAlreadyRuns';
  readonly pid: number;

  constructor(holder: ProcessIdentity) {
    super(
      `another platform runs on this database: process ${holder.pid} on host '${holder.host}'. ` +
        `Stop it, or give this one a database of its own. ` +
        `If it crashed on another machine, its claim ends ${LIFETIME_MS / 1_000} s after its last sign of life.`,
    );
    this.pid = holder.pid;
  }
}

/** The right to run the service on a database; virtual time, gate and deliveries live in one process. */
export interface ProcessLease {
  /** Names this start of the service. What carries another name was left behind by a process that is gone. */
  readonly owner: string;
  release(): Promise<void>;
}

interface LeaseOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process took over, after this one was silent for too long. */
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
 * Takes the lease and keeps it with a heartbeat. The lease of a crashed process is taken over at once when
 * it ran on this host, else once it has expired. Throws `PlatformAlreadyRuns`.
 */
export async function takeProcessLease(options: LeaseOptions): Promise<ProcessLease> {
  const { database, clock, logger, onLost } = options;
  const owner = randomUUID();
  let held = await claim(database, owner, clock.now(), null);
  if (held.owner !== owner && isGone(held)) {
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
        .catch((error: unknown) => logger.warn({ err: error }, 'no sign of life could be written'))
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
