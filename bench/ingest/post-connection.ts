import { connect, type Socket } from 'node:net';

/** Resolves with the status of one answer; rejects when the connection fails first. */
export type Post = (request: Buffer) => Promise<number>;

const HEAD_END = '\r\n\r\n';
/** A server that stays silent this long is broken. */
const SILENCE_MS = 30_000;

/**
 * A keep-alive HTTP/1.1 connection for one request at a time, much cheaper than a full client, so that the
 * generator takes little of the machine that the servers are measured on. Reads answers with a
 * `Content-Length`; anything else is an error. Connects again after the server closed an idle connection.
 */
export class PostConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = '';
  #resolve: ((status: number) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends one request and resolves with the status of its answer. */
  readonly post: Post = (request) =>
    new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket ??= this.#open();
      this.#socket.write(request);
    });

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1');
    socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('no answer in 30 s')));
    socket.on('data', (chunk: string) => this.#read(chunk));
    socket.on('error', (error) => this.#lose(socket, error));
    socket.on('close', () => this.#lose(socket, new Error('the server closed the connection')));
    return socket;
  }

  #read(chunk: string): void {
    this.#received = this.#received === '' ? chunk : this.#received + chunk;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#socket?.destroy(new Error('an answer without Content-Length'));
      return;
    }
    if (this.#received.length < headEnd + HEAD_END.length + Number(length)) return;
    this.#received = '';
    if (/\r\nconnection: *close/i.test(head)) this.close();
    this.#resolve?.(Number(head.slice(9, 12)));
  }

  #lose(socket: Socket, error: Error): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#received = '';
    this.#reject?.(error);
  }
}
