import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, findEntry } from '../addresses/address-ranges.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { discardBody } from './request-body.ts';
import { isUnparsed, stopParsing } from './stop-parsing.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Per address; for IPv6, per network of 64 bits. Trusted proxies are not counted. */
  readonly maxPerAddress: number;
  /** How many requests of one connection may be unanswered; one that sends more is closed. */
  readonly maxPipelined: number;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  /** Addresses and CIDR ranges of the trusted reverse proxies. */
  readonly trustedProxies: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The connections of a server. */
export interface Connections {
  /** Closes a connection beyond the limits. */
  accept(socket: Socket): void;
  /** False for a request that gets no response, because its connection is closed. */
  admits(request: IncomingMessage, response: ServerResponse): boolean;
  /** Destroys connections that never sent a byte. */
  closeSilent(): void;
}

interface TrackedConnection {
  /** Undefined for a trusted proxy. */
  readonly key: string | undefined;
  readonly proxies: readonly string[];
  unanswered: number;
  latest?: IncomingMessage;
}

/** A client that is still writing gets this long to read its response before its connection is reset. */
const LINGER_MS = 500;
const LOG_INTERVAL_MS = 10_000;

const tracked = new WeakMap<Socket, TrackedConnection>();

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

/** Limits the connections of a server, in total and for each address, and the unanswered requests of each one. */
export function createConnections({
  limits,
  trustedProxies,
  clock,
  logger,
}: ConnectionsOptions): Connections {
  const open = new Set<Socket>();
  const counts = new Map<string, number>();
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  function refuse(socket: Socket): void {
    socket.destroy();
    refused += 1;
    if (clock.elapsed() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = clock.elapsed();
    logger.warn({ count: refused }, 'too many connections: new ones were closed');
    refused = 0;
  }

  return {
    accept(socket) {
      const address = socket.remoteAddress ?? '';
      const isTrusted = trustedProxies.length > 0 && findEntry(trustedProxies, address) !== null;
      const key = isTrusted ? undefined : addressKey(address);
      const ofAddress = key === undefined ? 0 : (counts.get(key) ?? 0);
      if (open.size >= limits.maxConnections || ofAddress >= limits.maxPerAddress) return refuse(socket);
      tracked.set(socket, { key, proxies: trustedProxies, unanswered: 0 });
      open.add(socket);
      if (key !== undefined) counts.set(key, ofAddress + 1);
      socket.once('close', () => {
        open.delete(socket);
        if (key === undefined) return;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      });
      lingerOnClose(socket, clock);
    },
    admits(request, response) {
      const { socket } = request;
      const connection = tracked.get(socket);
      if (connection === undefined) return false;
      connection.unanswered += 1;
      connection.latest = request;
      response.once('close', () => {
        connection.unanswered -= 1;
      });
      const isLast = socket.writableEnded || connection.unanswered > limits.maxPipelined;
      if (isLast) stopParsing(socket);
      if (isLast && !socket.writableEnded) socket.destroy();
      // Node would also read the rest of an unread body, but each chunk would wait for garbage collection.
      response.once('prefinish', () => {
        if (!request.complete && request.listenerCount('data') === 0) discardBody(request);
      });
      return !isLast;
    },
    closeSilent() {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/**
 * Closing a connection on which the client is still writing makes the kernel reset it, and the client may
 * never read its response. So after an early response, incoming data is discarded for a moment.
 */
function lingerOnClose(socket: Socket, clock: Clock): void {
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const request = tracked.get(socket)?.latest;
    if (request === undefined || request.complete || isUnparsed(socket)) return destroySoon();
    const stop = clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', stop);
    request.once('end', destroySoon);
    request.resume();
    socket.end();
  };
}
