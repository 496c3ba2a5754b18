import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { LOCAL_SETTINGS, SESSION_OPTIONS } from '../database/session-parameters.ts';

/**
 * A connection that dies while nobody listens to its errors. Without listeners such an error would end the process,
 * and there are moments in which BullMQ has none. Whoever uses the connection is told by the query that fails.
 */
export class SteadyClient extends Client {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event, ...args);
  }
}

/** The connections that all queues and workers of a process share. */
export interface SharedPools {
  /** What BullMQ is given. It neither closes it nor hears of its errors. */
  readonly pool: PgPool;
  close(): Promise<void>;
}

/** For the queries of all queues and workers together: they are short. */
const QUERY_CONNECTIONS = 4;
/** A worker keeps one connection to be woken by. */
const MOST_WORKERS = 64;

type Query = <Row>(text: string, params?: readonly unknown[]) => Promise<PgQueryResult<Row>>;

/** A pool as BullMQ knows one. `sessions` are for whoever needs a connection for longer than a query. */
function presentPool(query: Query, sessions: Pool): PgPool {
  const pool: PgPool = {
    query,
    // The same thing at run time; only the ways in which the two declare `on` do not fit.
    connect: async () => (await sessions.connect()) as unknown as PgPoolClient,
    end: () => Promise.resolve(),
    on: () => pool,
    removeAllListeners: () => pool,
  };
  return pool;
}

function isServerError(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}

async function rollBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** Runs a query in a transaction of its own, begun by `begin`. */
async function queryInTransaction<Row>(
  pool: Pool,
  begin: string,
  text: string,
  params: readonly unknown[],
): Promise<PgQueryResult<Row>> {
  const client = await pool.connect();
  let failure: unknown;
  try {
    await client.query(begin);
    const { rows, rowCount } = await client.query(text, [...params]);
    await client.query('COMMIT');
    return { rows: rows as Row[], rowCount };
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    // After an answer of the server the connection is sound; any other failure leaves it in an unknown state.
    const sound = failure === undefined || (isServerError(failure) && (await rollBack(client)));
    client.release(!sound);
  }
}

/** Connections straight to Postgres: each session finds the schema by itself and can be listened on. */
export function openDirectPools(
  config: PoolConfig,
  schema: string,
  onError: (error: unknown) => void,
): SharedPools {
  const session = {
    ...config,
    Client: SteadyClient,
    options: `-c search_path="${schema}" ${SESSION_OPTIONS}`,
  };
  const queries = new Pool({ ...session, max: QUERY_CONNECTIONS }).on('error', onError);
  const sessions = new Pool({ ...session, max: MOST_WORKERS }).on('error', onError);
  const query: Query = async <Row>(text: string, params: readonly unknown[] = []) => {
    const { rows, rowCount } = await queries.query(text, [...params]);
    return { rows: rows as Row[], rowCount };
  };
  return {
    pool: presentPool(query, sessions),
    close: async () => void (await Promise.all([queries.end(), sessions.end()])),
  };
}

/** Connections to a pooler in transaction mode: sessions are shared with others, so nothing may be set for them. */
export function openPooledPools(
  config: PoolConfig,
  schema: string,
  onError: (error: unknown) => void,
): SharedPools {
  const queries = new Pool({ ...config, Client: SteadyClient, max: QUERY_CONNECTIONS }).on('error', onError);
  const begin = `BEGIN; SET LOCAL search_path TO "${schema}"; ${LOCAL_SETTINGS}`;
  const query: Query = (text, params = []) => queryInTransaction(queries, begin, text, params);
  return { pool: presentPool(query, queries), close: () => queries.end() };
}
