import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { addressKey, findEntry } from '../addresses/address-ranges.ts';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { discardBody } from './request-body.ts';
import { stopParsing } from './stop-parsing.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Per address; for IPv6, per network of 64 bits. Trusted proxies are not limited. */
  readonly maxPerAddress: number;
}

interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  /** Addresses and CIDR ranges of the trusted reverse proxies. */
  readonly trustedProxies: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

interface TrackedConnection {
  readonly key: string;
  /** The trusted proxies, if it is from one of them. */
  readonly proxies: readonly string[] | null;
  unanswered: number;
}

/** How many requests of one connection may be unanswered; one that sends more is closed. */
const MAX_UNANSWERED = 16;
/** A client that is still writing gets this long to read its response before its connection is reset. */
const LINGER_MS = 500;
const LOG_INTERVAL_MS = 10_000;

const tracked = new WeakMap<Socket, TrackedConnection>();

/**
 * The address of a request: of the connection or, behind a trusted proxy, the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy. The addresses to the left of it were written by the client.
 */
export function clientAddress({ socket, headers }: IncomingMessage): string {
  const { key, proxies } = tracked.get(socket) ?? { key: socket.remoteAddress ?? '', proxies: null };
  if (proxies === null) return key;
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const client = forwarded
    .map((address) => address.trim())
    .findLast((address) => address !== '' && findEntry(proxies, address) === null);
  return client === undefined ? key : addressKey(client);
}

/** Limits the connections of a server, in total and for each address, and the unanswered requests of each one. */
export function createConnections(options: ConnectionsOptions) {
  const { limits, trustedProxies, clock, logger } = options;
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
    /** Closes a connection beyond the limits. */
    accept(socket: Socket) {
      const address = socket.remoteAddress ?? '';
      const key = addressKey(address);
      const proxies = findEntry(trustedProxies, address) === null ? null : trustedProxies;
      const ofAddress = counts.get(key) ?? 0;
      const isFull = proxies === null && ofAddress >= limits.maxPerAddress;
      if (isFull || open.size >= limits.maxConnections) return refuse(socket);
      tracked.set(socket, { key, proxies, unanswered: 0 });
      open.add(socket);
      counts.set(key, ofAddress + 1);
      socket.once('close', () => {
        open.delete(socket);
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      });
    },
    /** False for a request that gets no response, because its connection is closed. */
    admits(request: IncomingMessage, response: ServerResponse): boolean {
      const { socket } = request;
      const connection = tracked.get(socket);
      if (connection === undefined) return false;
      connection.unanswered += 1;
      response.once('close', () => {
        connection.unanswered -= 1;
      });
      response.once('prefinish', () => {
        if (!request.complete) finishEarly(request, clock);
      });
      if (!socket.writableEnded && connection.unanswered <= MAX_UNANSWERED) return true;
      stopParsing(socket);
      if (!socket.writableEnded) socket.destroy();
      return false;
    },
    /** Destroys connections that never sent a byte. */
    closeSilent(): void {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/**
 * Discards the rest of a body whose request has been answered. Closing a connection on which the client is still
 * writing makes the kernel reset it, and the client may never read its response. So the connection is closed a moment
 * later.
 */
function finishEarly(request: IncomingMessage, clock: Clock): void {
  const { socket } = request;
  // Node would also read the rest of an unread body, but each chunk would wait for garbage collection.
  if (request.listenerCount('data') === 0) discardBody(request);
  socket.destroySoon = () => {
    if (request.complete) return Socket.prototype.destroySoon.call(socket);
    const stop = clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', stop);
    socket.end();
  };
}
