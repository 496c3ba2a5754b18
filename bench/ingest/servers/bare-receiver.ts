import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import getRawBody from 'raw-body';

/** Verifies, and stores if it does, the raw bytes of one request; false refuses it. */
export type Accept = (body: Buffer, request: express.Request) => Promise<boolean> | boolean;

const LIMIT_BYTES = 1_048_576;

/** The least that an express receiver does: raw bytes in, `accept`, 200 out; 401 for a refusal, 500 for a failure. */
export function createBareReceiver(path: string, accept: Accept): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.post(path, async (request, response) => {
    const body = await getRawBody(request, {
      limit: LIMIT_BYTES,
      length: request.headers['content-length'] ?? null,
    });
    const ok = await accept(body, request);
    response.status(ok ? 200 : 401).json({ ok });
  });
  return app;
}

/** Listens on a free port of the loopback address. */
export function listenOnLoopback(app: Express): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    const server = app.listen(0, '127.0.0.1', (error?: Error) => {
      if (error !== undefined) reject(error);
      // A TCP server that listens has an address with a port.
      else resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}
