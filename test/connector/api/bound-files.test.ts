import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type RequestHandler } from 'express';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ApiError, answerError } from '../../../src/connector/api/api-error.ts';
import { routeOperations } from '../../../src/connector/api/api-router.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { logTo } from '../../support/log-to.ts';
import { type Served, serve } from '../../support/serve.ts';

const passOn: RequestHandler = (_request, _response, next) => next();

const FILE_CHARACTERS = 16 * 1024 * 1024;
let server: Server;
let served: Served;
let lines: string[];
/** Sends that reached the operation, each held until it is let go. */
let arrived: { readonly reference: string; readonly letGo: () => void }[];

beforeEach(async () => {
  arrived = [];
  lines = [];
  const app = express();
  app.use(
    routeOperations(
      {
        queueMessage: async ({ body }) => {
          if (body.reference === 'limited') throw new ApiError('rate_limited', 'Later.', 41_001);
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
  app.use(answerError(logTo('error', (line) => lines.push(line))));
  server = createServer(app);
  served = await serve(server);
});
afterEach(() => {
  for (const { letGo } of arrived) letGo();
  return served.close();
});

function open(headers: Record<string, string | number>): {
  call: ClientRequest;
  answered: Promise<IncomingMessage>;
} {
  const call = request({
    port: served.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/messages',
    headers,
  });
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
  // In chunks, each may become as large.
  const first = await announce({ 'transfer-encoding': 'chunked' });
  const inChunks = () => {
    const { call, answered } = open({ 'transfer-encoding': 'chunked' });
    call.end('{}');
    return answered;
  };
  const other = await inChunks();
  expect([other.statusCode, JSON.parse(await text(other)).error]).toEqual([400, 'invalid_request']);
  const second = post(file('second'));
  const letGo = await untilArrived('second');

  const refused = await post(file('third'));
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(await text(refused))).toMatchObject({ error: 'unavailable' });
  expect((await inChunks()).statusCode).toBe(503);
  expect(lines).toHaveLength(2);

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

it('is told to retry after whole seconds, rounded up', async () => {
  const { statusCode, headers } = await post({ ...head, text: 'Good morning', reference: 'limited' });
  expect([statusCode, headers['retry-after'], lines]).toEqual([429, '42', []]);
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
