/** A receiver in express. It verifies the raw bytes and stores them, and only then answers. */
import { fsyncSync, openSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import express from 'express';
// In your project, copy this file from src/patterns.
import { checkSignatureHeaders, verifySignature } from '../../src/patterns/verify-signature.ts';

const { PORT = '3000', INBOX = 'inbox.log', SIGNING_SECRET: secret = '' } = process.env;
if (secret === '') throw new Error('set SIGNING_SECRET to the secret that PUT /webhook returned');
const inbox = openSync(INBOX, 'a');

const app = express();
app.post(
  '/webhooks',
  // Before the body is read: a request that no secret can make valid costs no memory.
  (req, res, next) => {
    const check = checkSignatureHeaders(headersOf(req));
    if (check.valid) next();
    else res.status(401).set('connection', 'close').send(check.reason);
  },
  // The bytes as they were sent, whatever the content type. No JSON parser runs before the check.
  express.raw({ type: () => true, limit: '1mb', inflate: false }),
  (req, res) => {
    const body: Buffer = req.body ?? Buffer.alloc(0);
    const check = verifySignature({ ...headersOf(req), body, secrets: [secret] });
    if (!check.valid) return void res.status(401).send(check.reason);
    // One line for each delivery. It is on disk before the answer, because an answered event is not sent again.
    // The line feed before it ends a line that a full disk or a crash has cut off.
    // Another process reads the lines: it ignores events it does not know, and messages and statuses it has.
    writeFileSync(inbox, `\n${check.timestamp} ${body.toString('base64')}\n`);
    fsyncSync(inbox);
    res.sendStatus(200);
  },
);

/** All values of both headers: a repeated header must not count as one. */
function headersOf(req: express.Request) {
  return {
    timestampHeader: req.headersDistinct['x-service-timestamp'],
    signatureHeader: req.headersDistinct['x-service-signature'],
    now: Date.now(),
  };
}

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`receiving at http://127.0.0.1:${port}/webhooks\n`);
});
