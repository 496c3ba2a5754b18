import { connect, type Socket } from 'node:net';

/** A socket that keeps everything it received, so that a test sees the bytes on the wire. */
export interface RawClient {
  readonly socket: Socket;
  readonly received: () => string;
  /** Resolves when the server has ended the connection, with the code of the error if there was one. */
  readonly ended: Promise<string | undefined>;
}

/** Connects and resolves as soon as the kernel has established the connection. */
export function connectRaw(port: number, localAddress?: string): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const chunks: string[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress && { localAddress }) });
    let code: string | undefined;
    const ended = new Promise<string | undefined>((done) => {
      socket.once('close', () => done(code));
    });
    socket.on('data', (chunk) => chunks.push(chunk.toString('latin1')));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code;
      reject(error);
    });
    socket.once('connect', () => resolve({ socket, received: () => chunks.join(''), ended }));
  });
}

/** A complete POST request with this body. */
export function postRequest(body: string): string {
  return `POST /hook HTTP/1.1\r\nHost: test\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
