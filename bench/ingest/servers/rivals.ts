import { createServer } from 'node:http';
import express, { type Request } from 'express';
import postgres from 'postgres';
import getRawBody from 'raw-body';
import { verifySignature } from '../../../src/patterns/verify-signature.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { listenOnFreePort } from '../../process/listen.ts';
import { serveParent } from '../../process/serve-parent.ts';
import type { ContenderName, ServerCommands, ServerSetup } from '../measure-ingest.ts';

/** Verifies, and stores if it does, the raw bytes of one request; false refuses it. */
type Accept = (body: Buffer, request: Request) => Promise<boolean> | boolean;

const RIVALS: Partial<Record<ContenderName, (setup: ServerSetup) => Promise<Accept>>> = {
  /** The upper bound: verifies and answers, and forgets the event. */
  verify:
    async ({ secret }) =>
    (body, request) =>
      verify(request, body, secret),
  /** What a receiver usually does: verify, insert the event under a key of its own, answer. */
  async insert({ databaseUrl, secret }) {
    const sql = postgres(databaseUrl);
    await sql`CREATE TABLE events (key text PRIMARY KEY, body text NOT NULL)`;
    return async (body, request) => {
      if (!verify(request, body, secret)) return false;
      await sql`INSERT INTO events (key, body) VALUES (${keyOf(body)}, ${body.toString()}) ON CONFLICT DO NOTHING`;
      return true;
    };
  },
};

/** Whether the service signed this body just now. */
function verify(request: Request, body: Buffer, secret: string): boolean {
  return verifySignature({
    timestampHeader: request.headersDistinct['x-service-timestamp'],
    signatureHeader: request.headersDistinct['x-service-signature'],
    body,
    secrets: [secret],
    now: systemClock.now(),
  }).valid;
}

function keyOf(body: Buffer): string {
  const { event, message }: { event: string; message: { id: string; status?: string } } = JSON.parse(
    body.toString(),
  );
  return `${event} ${message.id} ${message.status ?? ''}`;
}

const commands: ServerCommands = {
  /** The least that an express receiver does: raw bytes in, 200 out; 401 for a refusal, 500 for a failure. */
  async listen(setup) {
    const accept = await RIVALS[setup.name]?.(setup);
    if (accept === undefined) throw new Error(`${setup.name} is no rival`);
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.post(setup.path, async (request, response) => {
      const length = request.headers['content-length'] ?? null;
      const ok = await accept(await getRawBody(request, { limit: 1_048_576, length }), request);
      response.status(ok ? 200 : 401).json({ ok });
    });
    return await listenOnFreePort(createServer(app));
  },
  settle: async () => undefined,
};

serveParent(commands);
