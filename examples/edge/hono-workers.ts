/**
 * A receiver on Cloudflare Workers, with Hono and D1. It verifies the raw bytes and stores the event, and only then
 * answers. An event that is stored in `waitUntil` is lost if that fails, because an answered event is not sent again.
 */
import { Hono } from 'hono';
// In your project, copy the pattern from src/patterns.
import { checkSignatureHeaders, verifySignature } from '../../src/patterns/verify-signature.ts';
import { toStatement } from './store-event.ts';

const app = new Hono<{ Bindings: { DB: D1Database; SIGNING_SECRET: string } }>();

app.post('/webhooks', async (c) => {
  const headers = {
    timestampHeader: c.req.header('x-service-timestamp'),
    signatureHeader: c.req.header('x-service-signature'),
    now: Date.now(),
  };
  // Before the body is read: a request that no secret can make valid costs no memory.
  const early = checkSignatureHeaders(headers);
  if (!early.valid) return c.text(early.reason, 401);
  // The bytes as they were sent, read once. A JSON parser would change them.
  const body = new Uint8Array(await c.req.arrayBuffer());
  const check = verifySignature({ ...headers, body, secrets: [c.env.SIGNING_SECRET] });
  if (!check.valid) return c.text(check.reason, 401);
  const statement = toStatement(body);
  if (statement !== undefined)
    await c.env.DB.prepare(statement.text)
      .bind(...statement.values)
      .run();
  return c.text('stored');
});

export default app;
