import { randomUUID } from 'node:crypto';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { currentProcess, isGone, type ProcessIdentity } from './process-identity.ts';

const LIFETIME_MS = 10_000;
const HEARTBEAT_MS = 2_500;

interface LeaseRow {
  owner: string;
  host: string;
  pid: number;
  pid_start: string;
  expires_at: number;
}

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
  const self = currentProcess();
  const [taken] = await db.query<LeaseRow>(
    `INSERT INTO platform.process_lease AS held (id, owner, host, pid, pid_start, expires_at)
     VALUES (1, $1, $2, $3, $4, $5)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, host = excluded.host, pid = excluded.pid,
       pid_start = excluded.pid_start, expires_at = excluded.expires_at
       WHERE held.expires_at <= $6 OR held.owner = $7
     RETURNING *`,
    [owner, self.host, self.pid, self.pidStart, now + LIFETIME_MS, now, gone],
  );
  if (taken !== undefined) return taken;
  const [held] = await db.query<LeaseRow>('SELECT * FROM platform.process_lease WHERE id = 1');
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
  if (held.owner !== owner && isGone({ host: held.host, pid: held.pid, pidStart: held.pid_start })) {
    held = await claim(database, owner, clock.now(), held.owner);
  }
  if (held.owner !== owner) {
    throw new PlatformAlreadyRuns({ host: held.host, pid: held.pid, pidStart: held.pid_start });
  }

  let released = false;
  let cancel = (): void => {};

  const beat = async (): Promise<void> => {
    const rows = await database.query(
      'UPDATE platform.process_lease SET expires_at = $2 WHERE owner = $1 RETURNING id',
      [owner, clock.now() + LIFETIME_MS],
    );
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
      await database.query('DELETE FROM platform.process_lease WHERE owner = $1', [owner]);
    },
  };
}
