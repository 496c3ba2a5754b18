/*
 * Hostile clients in a process of their own, so that they do not slow down the test that measures. Its first argument
 * says as JSON what they do. It prints `begun` when everything has been sent or is being sent, and runs until its
 * standard input ends.
 */
import { connect, type Socket } from 'node:net';
import type { HostileClients } from './hostile-clients.ts';

const { kind, port, count, from, token }: HostileClients = JSON.parse(process.argv[2] ?? '{}');
process.stdin.once('end', () => process.exit()).resume();

const MIB = 1024 * 1024;
const HOST = 'Host: localhost\r\n';
const WEBHOOK = `POST /webhooks/messaging HTTP/1.1\r\n${HOST}`;
const DRIP_MS = 500;
const ADDRESSES = 200;
const answers = new Map<string, number>();
let refused = 0;
let opened = 0;

function open(): Socket {
  opened += 1;
  const localAddress = from.replace('*', String(1 + (opened % ADDRESSES)));
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('data', (chunk) => {
    for (const [, status = ''] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g))
      answers.set(status, (answers.get(status) ?? 0) + 1);
  });
  socket.on('error', () => {
    refused += 1;
  });
  return socket;
}

/** Headers as a sender writes them, with an invalid signature. */
function forgedHeaders(): string {
  const signature = Array.from({ length: 64 }, () => Math.floor(Math.random() * 16).toString(16)).join('');
  return `X-Service-Timestamp: ${Date.now()}\r\nX-Service-Signature: sha256=${signature}\r\n`;
}

function postBodies(headers: () => string): void {
  const body = Buffer.alloc(MIB, 0x20);
  body.write('{"event":"message.received"');
  for (let n = 0; n < count; n += 1) {
    const socket = open();
    socket.write(`${WEBHOOK}${headers()}Content-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`);
    socket.write(body);
  }
}

/** Starts requests and adds a byte to each periodically, so that they never end. */
function drip(start: () => string): void {
  const sockets = Array.from({ length: count }, () => {
    const socket = open();
    socket.write(start());
    return socket;
  });
  setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }, DRIP_MS);
}

function pipeline(path: string): void {
  open().write(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`.repeat(count));
}

/** Bodies of 10,000 chunks of one byte, for the receiver or for an address that does not exist. */
function crumble(path: string): void {
  const crumbs = '1\r\nx\r\n'.repeat(10_000);
  for (let n = 0; n < count; n += 1)
    open().write(
      `POST ${path} HTTP/1.1\r\n${HOST}${forgedHeaders()}Transfer-Encoding: chunked\r\n\r\n${crumbs}`,
    );
}

/** A request of the API whose body is nested as deeply as its size allows. */
function postBrackets(): void {
  const body = Buffer.alloc(16 * MIB, 0x5b);
  for (let n = 0; n < count; n += 1) {
    const socket = open();
    socket.write(
      `POST /v1/messages HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
  }
}

const ACTS: Readonly<Record<HostileClients['kind'], () => void>> = {
  silent: () => {
    for (let n = 0; n < count; n += 1) open();
  },
  idle: () => {
    for (let n = 0; n < count; n += 1) open().write(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
  },
  unsigned: () => postBodies(() => ''),
  forged: () => postBodies(forgedHeaders),
  metrics: () => pipeline('/metrics'),
  readyz: () => pipeline('/readyz'),
  slowHeaders: () => drip(() => `${WEBHOOK}X-Slow: `),
  slowBodies: () => drip(() => `${WEBHOOK}${forgedHeaders()}Content-Length: ${MIB}\r\n\r\n{`),
  crumbs: () => crumble('/webhooks/messaging'),
  strayCrumbs: () => crumble('/nothing'),
  brackets: postBrackets,
};
ACTS[kind]();
process.on('SIGUSR2', () => {
  process.stdout.write(`${JSON.stringify({ answers: Object.fromEntries(answers), refused })}\n`);
});
process.stdout.write('begun\n');
