import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, findEntry } from '../addresses/address-ranges.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { discardBody } from './request-body.ts';

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

interface Visitor {
  readonly socket: Socket;
  /** Undefined for a trusted proxy. */
  readonly key: string | undefined;
  readonly proxies: readonly string[];
  readonly since: number;
  /** When an authenticated request was last answered. */
  usefulAt: number | undefined;
  /** The requests that are being answered. */
  current: IncomingMessage | undefined;
  vouched: boolean;
  /** Whether the client requested a persistent connection. The server may close it nevertheless. */
  keepAlive: boolean;
  readonly waiting: [IncomingMessage, ServerResponse][];
  /** More requests were waiting than allowed; the connection is closed after them. */
  overrun: boolean;
}

/** One in this many is evicted at a time, so that the search costs little per new connection. */
const GIVING_WAY_SHARE = 16;
/** A client that is still writing gets this long to read its response before its connection is reset. */
const LINGER_MS = 500;
const LOG_INTERVAL_MS = 10_000;

const visitors = new WeakMap<Socket, Visitor>();

/**
 * Marks a request as authenticated. Its connection may stay open, and is evicted only when no connection
 * without such a request is left. Call it before the response is started. Does nothing on other servers than
 * ours.
 */
export function vouchFor(request: IncomingMessage, response: ServerResponse): void {
  const visitor = visitors.get(request.socket);
  if (visitor === undefined) return;
  visitor.vouched = true;
  if (!response.headersSent) response.shouldKeepAlive = visitor.keepAlive;
}

/**
 * The address of a request: of the connection or, behind a trusted proxy, the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy. The addresses to the left of it were written by the client.
 */
export function clientAddress({ socket, headers }: IncomingMessage): string {
  const visitor = visitors.get(socket);
  const own = visitor?.key ?? socket.remoteAddress ?? '';
  if (visitor === undefined || visitor.key !== undefined) return own;
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const client = forwarded
    .map((address) => address.trim())
    .findLast((address) => address !== '' && findEntry(visitor.proxies, address) === null);
  return client === undefined ? own : addressKey(client);
}

/**
 * Limits connections so that unauthenticated clients cannot keep others out: beyond the limit, connections without an
 * authenticated request are evicted first, oldest first, then idle ones, least recently useful first.
 * Connections that are answering an authenticated request stay.
 */
export function createConnections(options: ConnectionsOptions): Connections {
  const { limits, trustedProxies, clock, logger } = options;
  const all = new Set<Visitor>();
  const byKey = new Map<string, Set<Visitor>>();
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

  function makeRoom(group: ReadonlySet<Visitor>, limit: number, newcomer: Visitor): void {
    const leaving = findLeaving(group, newcomer);
    // If every connection is being served, the new one is closed.
    const gone = leaving.length === 0 ? [newcomer] : leaving;
    for (const { socket } of gone) socket.destroy();
    note(gone.length, limit);
  }

  function leave(visitor: Visitor): void {
    all.delete(visitor);
    visitor.waiting.length = 0;
    const neighbours = visitor.key === undefined ? undefined : byKey.get(visitor.key);
    neighbours?.delete(visitor);
    if (visitor.key !== undefined && neighbours?.size === 0) byKey.delete(visitor.key);
  }

  function begin(visitor: Visitor, request: IncomingMessage, response: ServerResponse): void {
    visitor.current = request;
    visitor.vouched = !options.closesUnauthenticated;
    visitor.keepAlive = response.shouldKeepAlive;
    response.once('close', () => end(visitor));
    // Node would also read the rest, but each chunk would wait for garbage collection.
    response.once('prefinish', () => {
      if (!visitor.vouched && !request.complete) discardBody(request);
    });
    if (options.closesUnauthenticated && visitor.key !== undefined) response.shouldKeepAlive = false;
    options.serve(request, response);
  }

  function end(visitor: Visitor): void {
    visitor.current = undefined;
    if (visitor.vouched) visitor.usefulAt = clock.elapsed();
    if (visitor.socket.destroyed || visitor.socket.writableEnded) return;
    const next = visitor.waiting.shift();
    if (next !== undefined) begin(visitor, ...next);
    else if (visitor.overrun) visitor.socket.destroySoon();
  }

  return {
    accept(socket) {
      const address = socket.remoteAddress ?? '';
      const isTrusted = trustedProxies.length > 0 && findEntry(trustedProxies, address) !== null;
      const visitor: Visitor = {
        socket,
        key: isTrusted ? undefined : addressKey(address),
        proxies: trustedProxies,
        since: clock.elapsed(),
        usefulAt: undefined,
        current: undefined,
        vouched: false,
        keepAlive: false,
        waiting: [],
        overrun: false,
      };
      visitors.set(socket, visitor);
      all.add(visitor);
      socket.once('close', () => leave(visitor));
      lingerOnClose(visitor, clock);
      if (visitor.key !== undefined) {
        const neighbours = byKey.get(visitor.key) ?? new Set();
        neighbours.add(visitor);
        byKey.set(visitor.key, neighbours);
        if (neighbours.size > limits.maxPerAddress) makeRoom(neighbours, limits.maxPerAddress, visitor);
      }
      if (all.size > limits.maxConnections) makeRoom(all, limits.maxConnections, visitor);
    },
    take(request, response) {
      const visitor = visitors.get(request.socket);
      // After its last response a connection may still deliver requests, whose responses could not be sent.
      if (visitor === undefined || request.socket.writableEnded) return;
      if (visitor.current === undefined) begin(visitor, request, response);
      else if (visitor.waiting.length < limits.maxPipelined) visitor.waiting.push([request, response]);
      else visitor.overrun = true;
    },
    closeSilent() {
      for (const { socket } of all) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/** The connections that are evicted for a new one; none if all are in use. */
function findLeaving(group: ReadonlySet<Visitor>, newcomer: Visitor): readonly Visitor[] {
  const unauthenticated: Visitor[] = [];
  let idle: Visitor | undefined;
  // A set returns its members in insertion order.
  for (const visitor of group) {
    const { key, usefulAt, current, vouched } = visitor;
    if (visitor === newcomer || visitor.socket.destroyed || (current !== undefined && vouched)) continue;
    if (usefulAt === undefined && key !== undefined) unauthenticated.push(visitor);
    else if (current === undefined && lastUse(visitor) < lastUse(idle)) idle = visitor;
  }
  if (unauthenticated.length > 0)
    return unauthenticated.slice(0, Math.ceil(unauthenticated.length / GIVING_WAY_SHARE));
  return idle === undefined ? [] : [idle];
}

function lastUse(visitor: Visitor | undefined): number {
  return visitor === undefined ? Number.POSITIVE_INFINITY : (visitor.usefulAt ?? visitor.since);
}

/**
 * Closing a connection on which the client is still writing makes the kernel reset it, and the client may
 * never read its response. So after an early response, incoming data is discarded for a moment.
 */
function lingerOnClose({ socket }: Visitor, clock: Clock): void {
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const request = visitors.get(socket)?.current;
    if (request === undefined || request.complete) {
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
