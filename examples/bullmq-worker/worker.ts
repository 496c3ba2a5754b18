/**
 * Stores messages with BullMQ. The key and its effect are written in one transaction, so a job that runs again has no
 * further effect. What is stored is never replaced by something older.
 */
import { DatabaseSync } from 'node:sqlite';
import { type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Change } from 'messaging-connector';

const database = new DatabaseSync(process.env['WORKER_DATABASE'] ?? 'crm.sqlite');
database.exec(`PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS taken (key TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, peer TEXT, text TEXT, status TEXT, seq INTEGER)`);
const note = database.prepare('INSERT OR IGNORE INTO taken VALUES (?)');
// A job that failed runs again after later ones, so what is older only adds what is missing.
const store = database.prepare(`INSERT INTO messages VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
  peer = iif(seq < excluded.seq, excluded.peer, coalesce(peer, excluded.peer)),
  text = iif(seq < excluded.seq, excluded.text, coalesce(text, excluded.text)),
  status = iif(seq < excluded.seq, excluded.status, status), seq = max(seq, excluded.seq)`);
const advance =
  database.prepare(`INSERT INTO messages (id, status, seq) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET
  status = excluded.status, seq = excluded.seq WHERE seq < excluded.seq`);

function apply(change: Change): void {
  const { seq } = change;
  if (change.type === 'message.created' || change.type === 'message.updated') {
    const { id, peer, text, status } = change.data;
    store.run(id, peer, text, status, seq);
  }
  if (change.type === 'message.status') advance.run(change.messageId, change.data.status, seq);
}

async function run({ data: { key, change } }: Job<{ key: string; change: Change }>): Promise<void> {
  database.exec('BEGIN IMMEDIATE');
  try {
    if (note.run(key).changes === 1) apply(change);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const connection = new Redis(url, { maxRetriesPerRequest: null });
const worker = new Worker(process.env['QUEUE'] ?? 'crm', run, {
  connection,
  // One job at a time keeps the order, as long as none fails.
  concurrency: 1,
  // A job whose worker died runs again within ten seconds.
  lockDuration: 5_000,
  stalledInterval: 2_500,
  maxStalledCount: 3,
  // Finished jobs are kept for a day, at most 10,000 of them. Failed ones stay until somebody looks at them.
  removeOnComplete: { age: 24 * 3600, count: 10_000 },
});
worker.on('ready', () => process.stdout.write('working\n'));
worker.on('failed', (job, error) => process.stderr.write(`${job?.id}: ${error.message}\n`));
worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
process.once('SIGTERM', async () => {
  await worker.close();
  connection.disconnect();
});
