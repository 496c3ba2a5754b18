import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, findEntry } from '../addresses/address-ranges.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { discardBody, isGivenUp } from './request-body.ts';

/** Limits on the number of connections. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Per address; for IPv6, per network of 64 bits. Trusted proxies are not counted. */
  readonly maxPerAddress: number;
  /** How many requests may wait on a connection while an earlier one is being answered. */
  readonly maxPipelined: number;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  /** Addresses and CIDR ranges of the trusted reverse proxies. */
  readonly trustedProxies: readonly string[];
  /** Whether a connection is closed after the response to an unauthenticated request (see `vouchFor`). */
  readonly closesUnauthenticated: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each request when it is its turn. */
  readonly serve: RequestListener;
}

/** The connections of a server. */
export interface Connections {
  accept(socket: Socket): void;
  /** Adds a request; the requests of one connection are served one after the other. */
  take(request: IncomingMessage, response: ServerResponse): void;
  /** Destroys connections that never sent a byte. */
  closeSilent(): void;
}

interface TrackedConnection {
  readonly socket: Socket;
  /** Undefined for a trusted proxy. */
  readonly key: string | undefined;
  readonly proxies: readonly string[];
  readonly since: number;
  /** When an authenticated request was last answered. */
  usefulAt: number | undefined;
  /** The requests that are being answered. */
  current: IncomingMessage | undefined;
  isAuthenticated: boolean;
  /** Whether the client requested a persistent connection. The server may close it nevertheless. */
  keepAlive: boolean;
  readonly waiting: [IncomingMessage, ServerResponse][];
  /** More requests were waiting than allowed; the connection is closed after them. */
  overrun: boolean;
}

/** One in this many is evicted at a time, so that the search costs little per new connection. */
const EVICTED_SHARE = 16;
/** A client that is still writing gets this long to read its response before its connection is reset. */
const LINGER_MS = 500;
const LOG_INTERVAL_MS = 10_000;

const tracked = new WeakMap<Socket, TrackedConnection>();

/**
 * Marks a request as authenticated. Its connection may stay open, and is evicted only when no connection
 * without such a request is left. Call it before the response is started. Does nothing on other servers than
 * ours.
 */
export function vouchFor(request: IncomingMessage, response: ServerResponse): void {
  const connection = tracked.get(request.socket);
  if (connection === undefined) return;
  connection.isAuthenticated = true;
  if (!response.headersSent) response.shouldKeepAlive = connection.keepAlive;
}

/**
 * The address of a request: of the connection or, behind a trusted proxy, the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy. The addresses to the left of it were written by the client.
 */
export function clientAddress({ socket, headers }: IncomingMessage): string {
  const connection = tracked.get(socket);
  const own = connection?.key ?? socket.remoteAddress ?? '';
  if (connection === undefined || connection.key !== undefined) return own;
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const client = forwarded
    .map((address) => address.trim())
    .findLast((address) => address !== '' && findEntry(connection.proxies, address) === null);
  return client === undefined ? own : addressKey(client);
}

/**
 * Limits connections so that unauthenticated clients cannot keep others out: beyond the limit, connections without an
 * authenticated request are evicted first, oldest first, then idle ones, least recently useful first.
 * Connections that are answering an authenticated request stay.
 */
export function createConnections(options: ConnectionsOptions): Connections {
  const { limits, trustedProxies, clock, logger } = options;
  const all = new Set<TrackedConnection>();
  const byKey = new Map<string, Set<TrackedConnection>>();
  let closed = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  function note(count: number, limit: number): void {
    closed += count;
    if (clock.elapsed() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = clock.elapsed();
    logger.warn(
      { count: closed, limit },
      'too many connections: idle ones were closed, or new ones rejected',
    );
    closed = 0;
  }

  function makeRoom(group: ReadonlySet<TrackedConnection>, limit: number, added: TrackedConnection): void {
    const leaving = findEvicted(group, added);
    // If every connection is being served, the new one is closed.
    const gone = leaving.length === 0 ? [added] : leaving;
    for (const { socket } of gone) socket.destroy();
    note(gone.length, limit);
  }

  function leave(connection: TrackedConnection): void {
    all.delete(connection);
    connection.waiting.length = 0;
    const sameAddress = connection.key === undefined ? undefined : byKey.get(connection.key);
    sameAddress?.delete(connection);
    if (connection.key !== undefined && sameAddress?.size === 0) byKey.delete(connection.key);
  }

  function begin(connection: TrackedConnection, request: IncomingMessage, response: ServerResponse): void {
    connection.current = request;
    connection.isAuthenticated = !options.closesUnauthenticated;
    connection.keepAlive = response.shouldKeepAlive;
    response.once('close', () => end(connection));
    // Node would also read the rest, but each chunk would wait for garbage collection.
    response.once('prefinish', () => {
      if (!connection.isAuthenticated && !request.complete && !isGivenUp(request)) discardBody(request);
    });
    response.once('finish', () => {
      if (isGivenUp(request)) connection.socket.destroySoon();
    });
    if (options.closesUnauthenticated && connection.key !== undefined) response.shouldKeepAlive = false;
    options.serve(request, response);
  }

  function end(connection: TrackedConnection): void {
    connection.current = undefined;
    if (connection.isAuthenticated) connection.usefulAt = clock.elapsed();
    if (connection.socket.destroyed || connection.socket.writableEnded) return;
    const next = connection.waiting.shift();
    if (next !== undefined) begin(connection, ...next);
    else if (connection.overrun) connection.socket.destroySoon();
  }

  return {
    accept(socket) {
      const address = socket.remoteAddress ?? '';
      const isTrusted = trustedProxies.length > 0 && findEntry(trustedProxies, address) !== null;
      const connection: TrackedConnection = {
        socket,
        key: isTrusted ? undefined : addressKey(address),
        proxies: trustedProxies,
        since: clock.elapsed(),
        usefulAt: undefined,
        current: undefined,
        isAuthenticated: false,
        keepAlive: false,
        waiting: [],
        overrun: false,
      };
      tracked.set(socket, connection);
      all.add(connection);
      socket.once('close', () => leave(connection));
      lingerOnClose(connection, clock);
      if (connection.key !== undefined) {
        const sameAddress = byKey.get(connection.key) ?? new Set();
        sameAddress.add(connection);
        byKey.set(connection.key, sameAddress);
        if (sameAddress.size > limits.maxPerAddress) makeRoom(sameAddress, limits.maxPerAddress, connection);
      }
      if (all.size > limits.maxConnections) makeRoom(all, limits.maxConnections, connection);
    },
    take(request, response) {
      const connection = tracked.get(request.socket);
      // After its last response a connection may still deliver requests, whose responses could not be sent.
      if (connection === undefined || request.socket.writableEnded) return;
      if (connection.current === undefined) begin(connection, request, response);
      else if (connection.waiting.length < limits.maxPipelined) connection.waiting.push([request, response]);
      else connection.overrun = true;
    },
    closeSilent() {
      for (const { socket } of all) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/** The connections that are evicted for a new one; none if all are in use. */
function findEvicted(
  group: ReadonlySet<TrackedConnection>,
  added: TrackedConnection,
): readonly TrackedConnection[] {
  const unauthenticated: TrackedConnection[] = [];
  let idle: TrackedConnection | undefined;
  // A set returns its members in insertion order.
  for (const connection of group) {
    const { key, usefulAt, current, isAuthenticated } = connection;
    if (connection === added || connection.socket.destroyed || (current !== undefined && isAuthenticated))
      continue;
    if (usefulAt === undefined && key !== undefined) unauthenticated.push(connection);
    else if (current === undefined && lastUse(connection) < lastUse(idle)) idle = connection;
  }
  if (unauthenticated.length > 0)
    return unauthenticated.slice(0, Math.ceil(unauthenticated.length / EVICTED_SHARE));
  return idle === undefined ? [] : [idle];
}

function lastUse(connection: TrackedConnection | undefined): number {
  return connection === undefined ? Number.POSITIVE_INFINITY : (connection.usefulAt ?? connection.since);
}

/**
 * Closing a connection on which the client is still writing makes the kernel reset it, and the client may
 * never read its response. So after an early response, incoming data is discarded for a moment.
 */
function lingerOnClose({ socket }: TrackedConnection, clock: Clock): void {
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const request = tracked.get(socket)?.current;
    if (request === undefined || request.complete || isGivenUp(request)) {
      destroySoon();
      return;
    }
    const stop = clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', stop);
    request.once('end', destroySoon);
    request.resume();
    socket.end();
  };
}
