import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Clock } from '../clock/clock.ts';
import { InFlight } from '../in-flight/in-flight.ts';
import type { Logger } from '../logger/logger.ts';
import { type ConnectionLimits, createConnections } from './connections.ts';
import { ListenError } from './listen-error.ts';
import { limitPieces } from './stop-parsing.ts';

/** Limits on the resources of a client, in milliseconds, bytes and sockets. */
export interface HttpLimits extends ConnectionLimits {
  /** From the first byte of a request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeoutMs: number;
  /** How often the two limits above are checked. */
  readonly checkIntervalMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  checkIntervalMs: 2_000,
  maxConnections: 4_096,
  maxPerAddress: 4_096,
};

export interface HttpServerOptions {
  readonly app: RequestListener;
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly limits?: Partial<HttpLimits>;
  /** Addresses and CIDR ranges of reverse proxies: their connections are not counted by address. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The setting of the port, for the error if the port is in use. */
  readonly portSetting?: string;
  /** Called first in a drain. It must end streams that never end by themselves. */
  readonly onDrain?: () => void;
}

/** How long an idle connection is kept for the next request. Longer than that of a reverse proxy. */
const KEEP_ALIVE_MS = 65_000;
/** A sender gives up 1.5 s after a refused connection, so a restart has to be finished well before. */
const DRAIN_DEADLINE_MS = 500;
/** A request may be in transit on a connection that looks idle; how long to wait for it. */
const IDLE_GRACE_MS = 100;
/**
 * A client that was just accepted is about to send its request; a client that gets little CPU time takes
 * longer.
 */
const SILENT_SHARE = 0.8;
const LONGEST_SILENT_GRACE_MS = 2_000;
/** Under a load that never pauses, connections are accepted for this much longer, and for this many turns. */
const ACCEPT_MS = 50;
const ACCEPT_TURNS = 256;
const QUIET_TURNS = 3;

/**
 * A header of every response, including those that Node sends by itself: browsers must not guess another
 * content type.
 */
const HEADER_OF_ALL = ['X-Content-Type-Options', 'nosniff'] as const;

class SafeResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  constructor(...given: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...given);
    this.setHeader(...HEADER_OF_ALL);
  }
}

/** The errors of Node's parser, and the statuses that Node returns for them. */
const PARSER_STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Responds to input that is not a readable request, as Node does, and closes the connection. */
function refuseUnread({ code = '' }: NodeJS.ErrnoException, socket: Socket, hasBegun: boolean): void {
  const status = PARSER_STATUSES[code] ?? 400;
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, HEADER_OF_ALL.join(': '), 'Connection: close'];
  // Nothing can be written into a response that has started, or after that of a request that has not ended.
  if (socket.writable && !hasBegun) socket.write(`${head.join('\r\n')}\r\n\r\n`);
  // The rest of the request is never read, so there is nothing to wait for.
  Socket.prototype.destroySoon.call(socket);
}

function createLimitedServer(limits: HttpLimits): Server {
  return createServer({
    ServerResponse: SafeResponse,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
}

/**
 * Invites a client that waits with `Expect: 100-continue` to send its body when the server starts to read it.
 * If the request was answered before that, the client keeps its body and Node closes the connection, because
 * the next bytes on it would be ambiguous.
 */
function inviteWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read;
  request._read = function readInvited(size) {
    request._read = read;
    // If some of the body has arrived, the client is not waiting.
    if (!response.headersSent && request.readableLength === 0 && !request.complete) response.writeContinue();
    read.call(request, size);
  };
}

function listen(server: Server, options: HttpServerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new ListenError(options.host, options.port, options.portSetting, error));
    server.once('error', fail);
    server.listen({ host: options.host, port: options.port, backlog: 1_024 }, () => {
      server.off('error', fail);
      server.on('error', (err) => options.logger.error({ err }, 'the HTTP server failed'));
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('the HTTP server has no port'));
      else resolve(address);
    });
  });
}

/**
 * Gives a request whose target is a whole address (RFC 9112, 3.2.2) the form that the others have: its path, and
 * the host of the address as `Host`.
 */
function readTarget(request: IncomingMessage): void {
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(request.url ?? '') ?? [];
  if (authority === undefined || path === undefined) return;
  request.url = path.startsWith('/') ? path : `/${path}`;
  request.headers.host = authority;
  request.headersDistinct['host'] = [authority];
}

function closeAfterAnswer(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

/**
 * Accepts the connections that the kernel has ready: closing the listener would reset them, with the requests
 * that were sent on them. Each turn of the event loop accepts one, so this continues until several turns have accepted none.
 */
async function acceptWaiting(server: Server, clock: Clock): Promise<void> {
  let quietTurns = 0;
  const accepted = (): void => {
    quietTurns = 0;
  };
  server.on('connection', accepted);
  const end = clock.elapsed() + ACCEPT_MS;
  // A limit by time only would end this too early in a process that got no CPU time.
  for (let turn = 0; quietTurns < QUIET_TURNS && (turn < ACCEPT_TURNS || clock.elapsed() < end); turn++) {
    quietTurns += 1;
    await nextTurn();
  }
  server.off('connection', accepted);
}

/** Resolves after the event loop has read what its sockets have. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A late timer runs before the reads that were due with it: `close` comes after those. */
async function afterReads(close: () => void): Promise<void> {
  for (let turn = 0; turn < QUIET_TURNS; turn++) await nextTurn();
  close();
}

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>;

/**
 * Starts an HTTP server with strict limits (for slow clients: headers 10 s, whole request 15 s, checked every
 * 2 s) that can be drained.
 * @throws {ListenError} if the port is not available; the message names port and setting.
 */
export async function startHttpServer(options: HttpServerOptions) {
  const { clock } = options;
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const server = createLimitedServer(limits);
  const open = new InFlight<ServerResponse>();
  const answering = new WeakMap<Socket, ServerResponse>();
  let draining = false;
  const connections = createConnections({
    limits,
    trustedProxies: options.trustedProxies ?? [],
    clock,
    logger: options.logger,
  });
  const serve: RequestListener = (request, response) => {
    if (!connections.admits(request, response)) return;
    response.once('close', open.enter(response));
    answering.set(request.socket, response);
    limitPieces(request, () => server.emit('clientError', new Error('small pieces'), request.socket));
    if (draining) closeAfterAnswer(response);
    if (request.url?.startsWith('/') !== true) readTarget(request);
    options.app(request, response);
  };
  server.on('connection', connections.accept);
  server.on('request', serve);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    inviteWhenRead(request, response);
    serve(request, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const current = answering.get(socket);
    const isOver = current === undefined || (current.writableFinished && current.req.complete);
    refuseUnread(error, socket, !isOver && current.headersSent);
  });
  const address = await listen(server, options);

  async function drain(deadlineMs: number): Promise<void> {
    draining = true;
    options.onDrain?.();
    for (const response of open.list()) closeAfterAnswer(response);
    await acceptWaiting(server, clock);
    // http.Server.close would also close connections whose request has not been read yet.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(server, () => resolve());
    });
    const closeAfter = (graceMs: number, close: () => void): (() => void) =>
      clock.after(Math.min(graceMs, deadlineMs), () => void afterReads(close));
    const timers = [
      closeAfter(IDLE_GRACE_MS, () => server.closeIdleConnections()),
      closeAfter(Math.min(deadlineMs * SILENT_SHARE, LONGEST_SILENT_GRACE_MS), () =>
        connections.closeSilent(),
      ),
      clock.after(deadlineMs, () => {
        if (open.size > 0)
          options.logger.warn({ count: open.size, deadlineMs }, 'requests were cut off at the deadline');
        server.closeAllConnections();
      }),
    ];
    await closed;
    for (const cancel of timers) cancel();
    // Stops the timer that checks connections; the error of closing twice is expected.
    server.close(() => undefined);
  }

  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  let drained: Promise<void> | undefined;
  return {
    url: `http://${host}:${address.port}`,
    port: address.port,
    /**
     * Stops without losing a request: new responses contain `Connection: close`, the listener closes, open
     * requests finish, idle sockets are closed a moment later, and sockets that have not sent anything yet
     * after that. What is left at the deadline is cut off. Resolves when no socket is open; further calls join
     * the first.
     */
    drain(deadlineMs = DRAIN_DEADLINE_MS): Promise<void> {
      drained ??= drain(deadlineMs);
      return drained;
    },
  };
}
