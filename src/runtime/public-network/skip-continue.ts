import type { Socket } from 'node:net';

/** Interim responses `100 Continue`, complete at the beginning of what was received. */
const CONTINUE = /^(?:HTTP\/1\.[01] 100\b[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)+/;
/** It has hardly any headers. */
const LONGEST_BYTES = 1_024;

/**
 * Makes a client pass over `100 Continue`. A server or a proxy may send it unasked (RFC 9110, 15.2), and undici ends
 * the connection then (nodejs/undici#197), so that the answer that follows is lost. It passes over other interim
 * responses by itself.
 */
export function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    for (;;) {
      const received: unknown = read(size);
      if (!Buffer.isBuffer(received)) return received;
      const [interim] = CONTINUE.exec(received.toString('latin1', 0, LONGEST_BYTES)) ?? [];
      if (interim === undefined) return received;
      if (interim.length < received.length) return received.subarray(interim.length);
    }
  };
}
