/** A receiver in Fastify. It verifies the raw bytes and stores them, and only then answers. */
import { fsyncSync, openSync, writeFileSync } from 'node:fs';
import fastify, { type FastifyRequest } from 'fastify';
// In your project, copy this file from src/patterns.
import { checkSignatureHeaders, verifySignature } from '../../src/patterns/verify-signature.ts';

const { PORT = '3000', INBOX = 'inbox.log', SIGNING_SECRET: secret = '' } = process.env;
if (secret === '') throw new Error('set SIGNING_SECRET to the secret that PUT /webhook returned');
const inbox = openSync(INBOX, 'a');

const app = fastify({ bodyLimit: 1024 * 1024 });
// The bytes as they were sent, whatever the content type. No JSON parser runs before the check.
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post<{ Body: Buffer | undefined }>(
  '/webhooks',
  {
    // Before the body is read: a request that no secret can make valid costs no memory.
    async onRequest(request, reply) {
      const check = checkSignatureHeaders(headersOf(request));
      if (!check.valid) await reply.code(401).header('connection', 'close').send(check.reason);
    },
  },
  async (request, reply) => {
    const body = request.body ?? Buffer.alloc(0);
    const check = verifySignature({ ...headersOf(request), body, secrets: [secret] });
    if (!check.valid) return await reply.code(401).send(check.reason);
    // One line for each delivery. It is on disk before the answer, because an answered event is not sent again.
    // The line feed before it ends a line that a full disk or a crash has cut off.
    // Another process reads the lines: it ignores events it does not know, and messages and statuses it has.
    writeFileSync(inbox, `\n${check.timestamp} ${body.toString('base64')}\n`);
    fsyncSync(inbox);
    return await reply.send('stored');
  },
);

/** All values of both headers: a repeated header must not count as one. */
function headersOf({ raw }: Pick<FastifyRequest, 'raw'>) {
  return {
    timestampHeader: raw.headersDistinct['x-service-timestamp'],
    signatureHeader: raw.headersDistinct['x-service-signature'],
    now: Date.now(),
  };
}

const address = await app.listen({ port: Number(PORT), host: '127.0.0.1' });
process.stdout.write(`receiving at ${address}/webhooks\n`);
