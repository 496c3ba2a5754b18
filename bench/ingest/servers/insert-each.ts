import postgres from 'postgres';
import { serveParent } from '../../process/serve-parent.ts';
import type { ServerCommands, ServerSetup } from '../contenders.ts';
import { createBareReceiver, listenOnLoopback } from './bare-receiver.ts';
import { verifyRequest } from './verify-request.ts';

/** As much of an event as its key needs. */
interface KeyFields {
  readonly event: string;
  readonly message: { readonly id: string; readonly status?: string };
}

function keyOf(body: Buffer): string {
  const { event, message }: KeyFields = JSON.parse(body.toString());
  return `${event} ${message.id} ${message.status ?? ''}`;
}

/** What a receiver usually does: verify, insert the event under a key of its own, answer. */
async function listen({ databaseUrl, secret }: ServerSetup): Promise<{ port: number }> {
  const sql = postgres(databaseUrl);
  await sql`CREATE TABLE events (key text PRIMARY KEY, body text NOT NULL)`;
  const app = createBareReceiver('/webhooks/messaging', async (body, request) => {
    if (!verifyRequest(request, body, secret)) return false;
    await sql`INSERT INTO events (key, body) VALUES (${keyOf(body)}, ${body.toString()}) ON CONFLICT DO NOTHING`;
    return true;
  });
  return listenOnLoopback(app);
}

serveParent({ listen, settle: async () => undefined } satisfies ServerCommands);
