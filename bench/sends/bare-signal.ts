import { Queue, Worker } from 'bullmq';
import postgres from 'postgres';

/** The least that carries a text from one process to another: NOTIFY of Postgres, or a job of BullMQ. */
export interface BareSignal {
  send(text: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** `onHeard` is called with each text; undefined: this process only sends. */
export async function openBareSignal(
  { databaseUrl, redisUrl, prefix }: { databaseUrl: string; redisUrl: string | undefined; prefix: string },
  onHeard: ((text: string) => void) | undefined,
): Promise<BareSignal> {
  const name = `${prefix}-bare`;
  if (redisUrl === undefined) {
    const sql = postgres(databaseUrl, { max: 1 });
    if (onHeard === undefined) await sql`select 1`;
    else await sql.listen(name, onHeard);
    return { send: (text) => sql.notify(name, text), close: () => sql.end() };
  }
  const connection = { url: redisUrl, maxRetriesPerRequest: null };
  const queue = new Queue(name, { connection });
  if (onHeard === undefined) {
    await queue.waitUntilReady();
    const kept = { removeOnComplete: true, removeOnFail: true };
    return { send: (text) => queue.add('bare', text, kept), close: () => queue.close() };
  }
  const worker = new Worker(name, async ({ data }) => onHeard(data), { connection });
  await worker.waitUntilReady();
  return {
    send: (text) => queue.add('bare', text),
    close: () => Promise.all([worker.close(), queue.close()]),
  };
}
