import { EventEmitter } from 'node:events';
import {
  type BackendFactory,
  type PgPool,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  Queue,
  runMigrations,
  Worker,
} from 'bullmq';
import type { PoolConfig } from 'pg';
import { prefersPrepared } from '../database/database-url.ts';
import { tlsOf, withoutSslmode } from '../database/tls.ts';
import { openDirectPools, openPooledPools, SteadyClient } from './postgres-pools.ts';
import { QUEUE_OPTIONS, type QueueStore, WORKER_OPTIONS } from './queue-store.ts';
import { QueueUnavailable } from './queues.ts';

/** The Postgres schema that the queues live in. */
const SCHEMA = 'queue';
const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 10_000;
/** How often a worker that cannot be woken looks for jobs, in seconds. */
const POOLED_POLL_S = 1;

/** BullMQ takes the schema from a configuration only, but not from a pool. */
class DirectConnection extends PostgresConnection {
  override readonly schema: string = SCHEMA;
}

/** Stands in for a session that could be listened on. */
class DeafClient extends EventEmitter {
  query(): Promise<{ rows: never[] }> {
    return Promise.resolve({ rows: [] });
  }
}

/** Behind a pooler in transaction mode nothing is heard. */
class PooledConnection extends DirectConnection {
  override getListenClient(): ReturnType<PostgresConnection['getListenClient']> {
    return Promise.resolve(new DeafClient());
  }
}

class PooledBackend extends PostgresQueueBackend {
  override get maximumBlockTimeout(): number {
    return POOLED_POLL_S;
  }
}

type CreateBackend = BackendFactory<PostgresQueueBackend, PostgresConnectionOptions>;

function createBackends(pool: PgPool, pooled: boolean): CreateBackend {
  if (pooled) return (name, options) => new PooledBackend(new PooledConnection(pool), name, options);
  return (name, options) => new PostgresQueueBackend(new DirectConnection(pool), name, options);
}

async function migrate(config: PoolConfig): Promise<void> {
  const client = new SteadyClient(config);
  try {
    await client.connect();
    await runMigrations(client, SCHEMA);
  } catch (cause) {
    const message = 'The queues cannot be set up in Postgres. Check DATABASE_URL and the rights of its user.';
    throw new QueueUnavailable(message, { cause });
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Keeps jobs in Postgres, in the schema `queue`, which it makes or brings up to date first. All queues and workers
 * share up to four connections, and each worker has one more to be woken by.
 * `?prepare=false` in the URL tells of a pooler in transaction mode: then workers look for jobs every second in
 * place of being woken.
 * @throws {QueueUnavailable} when Postgres cannot be reached or refuses.
 */
export async function openPostgresStore(
  databaseUrl: string,
  onError: (error: unknown) => void,
): Promise<QueueStore> {
  const tls = tlsOf(databaseUrl);
  const config: PoolConfig = {
    connectionString: withoutSslmode(databaseUrl),
    // This driver cannot do without where TLS is only offered.
    ssl: tls === 'never' ? false : tls === 'offered' ? { rejectUnauthorized: false } : tls,
    application_name: 'messaging-connector queue',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  };
  await migrate(config);
  const pooled = !prefersPrepared(databaseUrl);
  const pools = (pooled ? openPooledPools : openDirectPools)(config, SCHEMA, onError);
  const createBackend = createBackends(pools.pool, pooled);
  const connection = pools.pool;

  return {
    backend: 'postgres',
    // Each call connects when it has to, and fails by itself.
    isReachable: () => true,
    openQueue: (name, onQueueError) =>
      new Queue(name, { ...QUEUE_OPTIONS, connection }, createBackend).on('error', onQueueError),
    openWorker(name, processor, concurrency, onWorkerError) {
      const polling = pooled ? { drainDelay: POOLED_POLL_S } : {};
      const options = { ...WORKER_OPTIONS, ...polling, connection, concurrency };
      return new Worker(name, processor, options, createBackend).on('error', onWorkerError);
    },
    close: () => pools.close(),
  };
}
