import { within } from '../clock/deadline.ts';
import type { Logger } from '../logger/logger.ts';
import { findPostmaster, type Postmaster } from './embedded/postmaster.ts';
import { type ServerOptions, stopServer } from './embedded/server.ts';
import { DatabaseUnavailable } from './errors.ts';
import { Session } from './session.ts';

interface MemberOptions extends ServerOptions {
  readonly url: string;
  readonly name: string;
  readonly logger: Logger;
}

/** The use of a server by this process, or by one of several users in it. */
export type Membership = NonNullable<Awaited<ReturnType<typeof joinServer>>>;

/** Two numbers of our own: an advisory lock that each user of a server shares, and that who stops it holds alone. */
const LOCK = '1701996132, 1';
const DEADLINE_MS = 10_000;
const REJOIN_PAUSE_MS = 100;
/** After a crash of the server, every user has rejoined by then. */
const REJOIN_MS = 2_000;

/**
 * Makes this process a user of the server: a session that holds a shared lock for as long as the process lives, however
 * it ends. Resolves with undefined if the server is just being stopped. Throws if it will never accept the session.
 */
export async function joinServer(server: Postmaster, options: MemberOptions) {
  const { placement, clock, logger } = options;
  const first = await openMember(options);
  if (first === undefined) return undefined;
  let session = first;
  let stopping: Promise<boolean> | undefined;
  let rejoining: Promise<void> | undefined;

  const isRunning = async (): Promise<boolean> =>
    (await findPostmaster(placement.cluster))?.pid === server.pid;

  /** After a crash of one of its processes, a server ends all sessions and continues. */
  async function rejoin(): Promise<void> {
    while (stopping === undefined && (await isRunning())) {
      const again = await openMember(options).catch(() => undefined);
      if (again !== undefined) return use(again);
      await clock.sleep(REJOIN_PAUSE_MS);
    }
  }

  function use(joined: Session): void {
    session = joined;
    joined.onEnd(() => {
      if (stopping === undefined) rejoining = rejoin();
    });
  }

  async function leave(): Promise<boolean> {
    await rejoining;
    if (session !== first) await clock.sleep(REJOIN_MS);
    // One that does not answer is of no use to others.
    const isUsed = await within(clock, DEADLINE_MS, holdAlone()).catch(() => false);
    try {
      if (isUsed || !(await isRunning())) return false;
      await stopServer(server, options);
    } finally {
      await session.close();
    }
    logger.info('embedded Postgres stopped');
    return true;
  }

  /** Takes the lock alone, so that nobody can join. True if others use the server. */
  async function holdAlone(): Promise<boolean> {
    if (!session.alive) session = await openSession(options);
    const taking = `select pg_advisory_unlock_shared(${LOCK}), pg_try_advisory_lock(${LOCK}) as alone`;
    const [row] = await session.run(taking, []);
    return Reflect.get(Object(row), 'alone') !== true;
  }

  use(first);
  return {
    /** The names of all users, this one included, in the order in which they joined. Throws if the server is gone. */
    users: async (): Promise<string[]> => {
      const rows = await session.run(
        `select application_name as name from pg_locks join pg_stat_activity using (pid)
          where locktype = 'advisory' and (classid, objid) = (${LOCK}) order by backend_start, pid`,
        [],
      );
      return rows.map((row) => String(Reflect.get(Object(row), 'name')));
    },
    /** Leaves; the last user to leave stops the server, and is answered with true. Safe to call twice. */
    stop: (): Promise<boolean> => {
      stopping ??= leave();
      return stopping;
    },
  };
}

async function openMember(options: MemberOptions): Promise<Session | undefined> {
  try {
    const session = await openSession(options);
    const [row] = await session.run(`select pg_try_advisory_lock_shared(${LOCK}) as joined`, []);
    if (Reflect.get(Object(row), 'joined') === true) return session;
    await session.close();
  } catch (error) {
    if (error instanceof DatabaseUnavailable && error.permanent) throw error;
  }
  return undefined;
}

function openSession({ url, name, clock }: MemberOptions): Promise<Session> {
  return Session.open({
    url,
    name,
    clock,
    prepare: false,
    deadlineMs: DEADLINE_MS,
    connectDeadlineMs: DEADLINE_MS,
  });
}
