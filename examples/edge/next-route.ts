/**
 * A receiver in Next.js: `app/webhooks/route.ts`, with Postgres. It verifies the raw bytes and stores the event, and
 * only then answers. An event that is stored in `after()` is lost if that fails.
 */
import postgres from 'postgres';
// In your project, copy the pattern from src/patterns.
import { checkSignatureHeaders, verifySignature } from '../../src/patterns/verify-signature.ts';
import { toStatement } from './store-event.ts';

/** Node's runtime, because the edge runtime of Next.js has no sockets. */
export const runtime = 'nodejs';

const { DATABASE_URL = '', SIGNING_SECRET: secret = '' } = process.env;
const sql = postgres(DATABASE_URL, { max: 5 });

export async function POST(request: Request): Promise<Response> {
  const headers = {
    timestampHeader: request.headers.get('x-service-timestamp'),
    signatureHeader: request.headers.get('x-service-signature'),
    now: Date.now(),
  };
  // Before the body is read: a request that no secret can make valid costs no memory.
  const early = checkSignatureHeaders(headers);
  if (!early.valid) return new Response(early.reason, { status: 401 });
  // The bytes as they were sent, read once. `request.json()` would change them.
  const body = new Uint8Array(await request.arrayBuffer());
  const check = verifySignature({ ...headers, body, secrets: [secret] });
  if (!check.valid) return new Response(check.reason, { status: 401 });
  const statement = toStatement(body);
  if (statement !== undefined) await sql.unsafe(statement.text.replaceAll('?', '$'), statement.values);
  return new Response('stored');
}
