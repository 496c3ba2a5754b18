import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { Client } from 'pg';
import { QUEUE_OPTIONS, type QueueStore, WORKER_OPTIONS } from './queue-store.ts';
import { QueueUnavailable } from './queues.ts';

/** The Postgres schema that the queues live in. */
const SCHEMA = 'queue';
const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 10_000;

interface Connection {
  readonly connectionString: string;
  readonly application_name: string;
  readonly connectionTimeoutMillis: number;
  readonly query_timeout: number;
  readonly keepAlive: true;
}

async function migrate(connection: Connection): Promise<void> {
  const client = new Client(connection);
  // A connection that dies between two queries reports here; the query after it fails by itself.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await runMigrations(client, SCHEMA);
  } catch (cause) {
    throw new QueueUnavailable(
      'The queues cannot be set up in Postgres. Check DATABASE_URL and the rights of its user.',
      {
        cause,
      },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Keeps jobs in Postgres, in the schema `queue`, which it makes or brings up to date first.
 * A worker holds one connection to be woken by, and each side at most two more while it works.
 * @throws {QueueUnavailable} when Postgres cannot be reached or refuses.
 */
export async function openPostgresStore(databaseUrl: string): Promise<QueueStore> {
  const connection: Connection = {
    connectionString: databaseUrl,
    application_name: 'messaging-connector queue',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  };
  await migrate(connection);
  const pool = { ...connection, schema: SCHEMA, max: 2 };

  return {
    backend: 'postgres',
    // Each call connects when it has to, and fails by itself.
    isReachable: () => true,
    openQueue(name, onError) {
      const queue = new Queue(name, { ...QUEUE_OPTIONS, connection: pool }, createPostgresBackend);
      return queue.on('error', onError);
    },
    openWorker(name, processor, concurrency, onError) {
      const worker = new Worker(
        name,
        processor,
        { ...WORKER_OPTIONS, connection: pool, concurrency },
        createPostgresBackend,
      );
      return worker.on('error', onError);
    },
    close: () => Promise.resolve(),
  };
}
