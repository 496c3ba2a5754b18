import type { Socket } from 'node:net';
import type { Clock } from '../clock/clock.ts';
import { type Addresses, connectSocket, countAddresses } from './connect-socket.ts';
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
  #addresses: Addresses | undefined;
  #socket: Socket | undefined;
  #host = 0;
  #nextHost = 0;

  /** `tls` specifies how the driver, and a cancel request, secures it. */
  constructor(clock: Clock, tls: Tls) {
    this.#clock = clock;
    this.#tls = tls;
  }

  /** True while a socket is open. */
  get isOpen(): boolean {
    return this.#socket?.destroyed === false;
  }

  /**
   * Connects to the next host. The driver asks once; with several hosts, once for each, until one accepts and
   * is in the state that the URL requires. Throws the last host's failure, or the reason of the rejection.
   */
  async open(addresses: Addresses): Promise<Socket> {
    let failure: unknown = new DatabaseUnavailable(
      'lost',
      'the connection was closed while it was being opened',
    );
    while (!this.#connecting.signal.aborted && this.#nextHost < countAddresses(addresses)) {
      this.#host = this.#nextHost;
      this.#nextHost += 1;
      try {
        this.#socket = await connectSocket(addresses, this.#host, this.#connecting.signal);
        this.#addresses = addresses;
        return this.#socket;
      } catch (error) {
        failure = error;
      }
    }
    throw this.#connecting.signal.aborted ? this.#connecting.signal.reason : failure;
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
    if (key !== undefined && this.#addresses !== undefined && this.isOpen) {
      const controller = new AbortController();
      const stop = this.#clock.after(CANCEL_DEADLINE_MS, () => controller.abort());
      const target = { addresses: this.#addresses, index: this.#host, tls: this.#tls };
      await sendCancelRequest(target, key, controller.signal);
      stop();
    }
    if (socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
  }
}
