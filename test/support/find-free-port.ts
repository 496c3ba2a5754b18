import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of the loopback address that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

const LISTENERS = [0, 10, 11, 20];
/** Below the range of ephemeral ports. */
const FIRST_BASE = 10_000;
/** Each worker has its own bases, so that concurrent tests never choose the same ports. */
const WORKERS = 10;
const BASES_OF_WORKER = 2_000;

/** A `--port-base` whose ports were all free a moment ago. */
export async function findPortBase(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;
  const last = BASES_OF_WORKER - Math.max(...LISTENERS);
  for (;;) {
    const base = FIRST_BASE + worker * BASES_OF_WORKER + Math.floor(Math.random() * last);
    const free = await Promise.all(LISTENERS.map((offset) => isFree(base + offset)));
    if (!free.includes(false)) return base;
  }
}

/** Whether a process could listen on this port now. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = Promise.withResolvers<boolean>();
  server.once('error', () => free.resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => free.resolve(true)));
  return await free.promise;
}
