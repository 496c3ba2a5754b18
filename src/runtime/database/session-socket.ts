import type { Socket } from 'node:net';
import type { Clock } from '../clock/clock.ts';
import { abortAfter } from '../clock/deadline.ts';
import { connectSocket } from './connect-socket.ts';
import type { Host } from './database-url.ts';
import { DatabaseUnavailable } from './errors.ts';
import { type BackendKey, sendCancelRequest } from './send-cancel-request.ts';
import type { Tls } from './tls.ts';

const CANCEL_DEADLINE_MS = 2_000;
const GOODBYE_MS = 1_000;

/**
 * The socket of one session, handed out until the session is established and never again: otherwise the
 * driver would reconnect behind its caller's back.
 */
export class SessionSocket {
  readonly #clock: Clock;
  readonly #tls: Tls;
  readonly #connecting = new AbortController();
  readonly #host: Host;
  #asked = false;
  #socket: Socket | undefined;

  /** `tls` specifies how the driver, and a cancel request, secures it. */
  constructor(clock: Clock, host: Host, tls: Tls) {
    this.#clock = clock;
    this.#host = host;
    this.#tls = tls;
  }

  /** True while a socket is open. */
  get isOpen(): boolean {
    return this.#socket?.destroyed === false;
  }

  /** Connects, when it is called for the first time. Throws the failure, or the reason of the rejection. */
  async open(): Promise<Socket> {
    this.#connecting.signal.throwIfAborted();
    if (this.#asked)
      throw new DatabaseUnavailable('lost', 'the connection was closed while it was being opened');
    this.#asked = true;
    this.#socket = await connectSocket(this.#host, this.#connecting.signal);
    return this.#socket;
  }

  /** From now on every request for a socket is rejected with `reason`. */
  refuse(reason: Error): void {
    this.#connecting.abort(reason);
  }

  /** Closes after `terminate` has notified the server, or soon after. Resolves when the socket is closed. */
  async closeAfter(terminate: () => void): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const stop = this.#clock.after(GOODBYE_MS, () => socket.destroy());
    terminate();
    await closed;
    stop();
  }

  /**
   * Cancels what the backend is doing, if anything, and then closes: a pooler cannot cancel for a client that
   * has disconnected. Resolves when the socket is closed; never throws.
   */
  async cancelAndClose(key: BackendKey | undefined): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) return;
    if (key !== undefined && this.isOpen) {
      const server = { host: this.#host, tls: this.#tls };
      await abortAfter(this.#clock, CANCEL_DEADLINE_MS, (signal) => sendCancelRequest(server, key, signal));
    }
    if (socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
  }
}
