import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** How an interim response begins. 101 is none: after it, the connection is no longer HTTP. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d\b/;
const LONGEST_BEGINNING = 'HTTP/1.1 100';
const END = '\r\n\r\n';
/** Longer ones are left to the client. */
const LONGEST_BYTES = 16_384;

/**
 * Makes a client without pipelining pass over interim responses, also in pieces. A server or a proxy may send them
 * unasked (RFC 9110, 15.2). undici ends the connection at a `100 Continue` (nodejs/undici#197), so that the answer
 * that follows is lost.
 */
export function skipInterim(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      skipOn(socket);
      callback(null, socket);
    });
}

function skipOn(socket: Socket): void {
  const read = socket.read.bind(socket);
  /** The beginning of an interim response; null after the beginning of an answer. */
  let held: Buffer | null = null;
  let written = 0;
  socket.read = (size?: number): unknown => {
    for (;;) {
      const received: unknown = read(size);
      if (!Buffer.isBuffer(received)) return received;
      if (socket.bytesWritten !== written) held ??= Buffer.alloc(0);
      written = socket.bytesWritten;
      if (held === null) return received;
      held = afterInterim(Buffer.concat([held, received]));
      if (mayBeInterim(held)) continue;
      const answer = held;
      held = null;
      return answer;
    }
  };
}

function afterInterim(received: Buffer): Buffer {
  let rest = received;
  for (;;) {
    const end = rest.subarray(0, LONGEST_BYTES).indexOf(END);
    if (end < 0 || !mayBeInterim(rest)) return rest;
    rest = rest.subarray(end + END.length);
  }
}

/** Also true for less than the beginning of one. */
function mayBeInterim(received: Buffer): boolean {
  const beginning = received.toString('latin1', 0, LONGEST_BEGINNING.length + 1);
  const isLong = received.length > LONGEST_BYTES;
  return !isLong && INTERIM.test(beginning + LONGEST_BEGINNING.slice(beginning.length));
}
