import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import express, { type RequestHandler } from 'express';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerError } from '../../../src/connector/api/api-error.ts';
import { routeOperations } from '../../../src/connector/api/api-router.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';

const passOn: RequestHandler = (_request, _response, next) => next();

const FILE_CHARACTERS = 16 * 1024 * 1024;
let server: Server;
/** Sends that reached the operation, each held until it is let go. */
let arrived: { readonly reference: string; readonly letGo: () => void }[];

beforeEach(async () => {
  arrived = [];
  const app = express();
  app.use(
    routeOperations(
      {
        queueMessage: async ({ body }) => {
          await new Promise<void>((letGo) => void arrived.push({ reference: body.reference, letGo }));
          return { outboundId: body.reference };
        },
      },
      {
        clock: systemClock,
        guard: { authenticate: passOn, allow: () => passOn },
        audit: { note: () => undefined, close: () => undefined },
      },
    ),
  );
  app.use(answerError(createLogger({ level: 'silent', name: 'test' })));
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  for (const { letGo } of arrived) letGo();
  server.closeAllConnections();
  server.close();
});

function open(headers: Record<string, string | number>): {
  call: ClientRequest;
  answered: Promise<IncomingMessage>;
} {
  const { port } = server.address() as AddressInfo;
  const call = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/messages', headers });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve);
    call.once('error', reject);
  });
  answered.catch(() => undefined);
  return { call, answered };
}

/** A file that announces its size and does not come. */
async function announce(headers: Record<string, string | number>): Promise<ClientRequest> {
  const { call } = open(headers);
  const taken = new Promise<void>((resolve) => server.once('request', () => resolve()));
  call.on('error', () => undefined);
  call.flushHeaders();
  await taken;
  return call;
}

function post(body: object) {
  const raw = JSON.stringify(body);
  const { call, answered } = open({ 'content-length': Buffer.byteLength(raw) });
  call.end(raw);
  return answered;
}

const head = { connectionId: 'c1', to: '447700900201' };
const file = (reference: string) => ({
  ...head,
  reference,
  media: { filename: 'a.bin', mimetype: 'application/octet-stream', data: 'A'.repeat(FILE_CHARACTERS) },
});

async function untilArrived(reference: string): Promise<() => void> {
  for (;;) {
    const found = arrived.find((each) => each.reference === reference);
    if (found !== undefined) return found.letGo;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('reads two files of the largest size at a time, and refuses a third with Retry-After', async () => {
  const first = await announce({ 'content-length': FILE_CHARACTERS });
  const second = post(file('second'));
  const letGo = await untilArrived('second');

  const refused = await post(file('third'));
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(await text(refused))).toMatchObject({ error: 'unavailable' });
  const inChunks = open({ 'transfer-encoding': 'chunked' });
  inChunks.call.end('{}');
  expect((await inChunks.answered).statusCode).toBe(503);

  // Texts, and files that fit, are none of its business.
  const small = post({ ...head, text: 'Good morning', reference: 'text' });
  (await untilArrived('text'))();
  expect((await small).statusCode).toBe(202);

  letGo();
  expect((await second).statusCode).toBe(202);
  await text(await second);
  const third = post(file('third'));
  (await untilArrived('third'))();
  expect((await third).statusCode).toBe(202);
  first.destroy();
});

it('releases the memory of a file if its sender disconnects', async () => {
  const gone = [
    await announce({ 'content-length': FILE_CHARACTERS }),
    await announce({ 'transfer-encoding': 'chunked' }),
  ];
  expect((await post(file('refused'))).statusCode).toBe(503);
  const closed = new Promise<void>((resolve) => {
    let left = gone.length;
    for (const call of gone) call.once('close', () => --left === 0 && resolve());
  });
  for (const call of gone) call.destroy();
  await closed;
  // The server learns of it a moment later.
  for (;;) {
    const taken = post(file('taken'));
    const letGo = await Promise.race([untilArrived('taken'), taken.then(() => null)]);
    letGo?.();
    const { statusCode } = await taken;
    if (statusCode === 202) return;
    expect(statusCode).toBe(503);
  }
});
