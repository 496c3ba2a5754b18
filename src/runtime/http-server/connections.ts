import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, findEntry } from '../addresses/address-ranges.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { discardBody } from './discard-body.ts';

/** How many connections there may be. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  /** From one address; of IPv6, from one network of 64 bits. Named proxies are not counted. */
  readonly maxPerAddress: number;
  /** Requests that may wait on a connection while the one before them is answered. */
  readonly maxPipelined: number;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  /** Addresses and CIDR ranges of the proxies in front. */
  readonly trustedProxies: readonly string[];
  /** Whether a connection is closed after an answer that nobody vouched for. */
  readonly closesStrangers: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of each request when its turn has come. */
  readonly serve: RequestListener;
}

/** The connections of a server. */
export interface Connections {
  accept(socket: Socket): void;
  /** Takes a request in; those of one connection are served one after the other. */
  take(request: IncomingMessage, response: ServerResponse): void;
  /** Destroys connections that never sent a byte. */
  closeSilent(): void;
}

interface Visitor {
  readonly socket: Socket;
  /** Undefined for a proxy that is trusted. */
  readonly key: string | undefined;
  readonly proxies: readonly string[];
  readonly since: number;
  /** When a request of it was last answered that somebody vouched for. */
  usefulAt: number | undefined;
  /** What is answered now. */
  current: IncomingMessage | undefined;
  vouched: boolean;
  /** As the client asked, whatever becomes of it. */
  keepAlive: boolean;
  readonly waiting: [IncomingMessage, ServerResponse][];
  /** More requests waited than may; the connection ends after those that do. */
  overrun: boolean;
}

/** One of so many goes at a time, so that looking for them costs little for each newcomer. */
const GIVING_WAY_SHARE = 16;
/** A client that still writes gets this long to read its answer before its connection is reset. */
const LINGER_MS = 500;
const LOG_INTERVAL_MS = 10_000;

const visitors = new WeakMap<Socket, Visitor>();

/**
 * Says that a request was authenticated. Its connection may stay open, and gives way to others only when none is left
 * that never brought such a request. Call it before the answer is begun. Does nothing on another server than ours.
 */
export function vouchFor(request: IncomingMessage, response: ServerResponse): void {
  const visitor = visitors.get(request.socket);
  if (visitor === undefined) return;
  visitor.vouched = true;
  if (!response.headersSent) response.shouldKeepAlive = visitor.keepAlive;
}

/**
 * The address that a request comes from: of the connection, or behind a trusted proxy the rightmost one of
 * `X-Forwarded-For` that is no trusted proxy. What stands left of it was written by the client.
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
 * Bounds connections so that strangers cannot keep others out: beyond the limit those give way that never brought an
 * authenticated request, oldest first, then idle ones, least recently useful first. What is being answered for
 * somebody who was authenticated stays.
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
    logger.warn({ count: closed, limit }, 'too many connections: closed idle ones, or refused new ones');
    closed = 0;
  }

  function makeRoom(group: ReadonlySet<Visitor>, limit: number, newcomer: Visitor): void {
    const leaving = findLeaving(group, newcomer);
    // Where everybody is being served, the newcomer has to go.
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
    visitor.vouched = !options.closesStrangers;
    visitor.keepAlive = response.shouldKeepAlive;
    response.once('close', () => end(visitor));
    // Node would read the rest, too, but each piece would wait to be collected.
    response.once('prefinish', () => {
      if (!visitor.vouched && !request.complete) discardBody(request);
    });
    if (options.closesStrangers && visitor.key !== undefined) response.shouldKeepAlive = false;
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
      // After its last answer a connection may still bring requests; nobody would get the answers.
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

/** The connections that give way to a newcomer; none when all are in use. */
function findLeaving(group: ReadonlySet<Visitor>, newcomer: Visitor): readonly Visitor[] {
  const strangers: Visitor[] = [];
  let idle: Visitor | undefined;
  // A set gives its members in the order in which they came.
  for (const visitor of group) {
    const { key, usefulAt, current, vouched } = visitor;
    if (visitor === newcomer || visitor.socket.destroyed || (current !== undefined && vouched)) continue;
    if (usefulAt === undefined && key !== undefined) strangers.push(visitor);
    else if (current === undefined && lastUse(visitor) < lastUse(idle)) idle = visitor;
  }
  if (strangers.length > 0) return strangers.slice(0, Math.ceil(strangers.length / GIVING_WAY_SHARE));
  return idle === undefined ? [] : [idle];
}

function lastUse(visitor: Visitor | undefined): number {
  return visitor === undefined ? Number.POSITIVE_INFINITY : (visitor.usefulAt ?? visitor.since);
}

/**
 * Closing a connection on which the client still writes makes the kernel reset it, and the client may never read its
 * answer. So after an early answer what still comes is dropped for a moment.
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
