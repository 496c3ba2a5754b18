import { type buildConnector, type Dispatcher, Pool } from 'undici';
import type { TunnelHosts } from './tunnel-hosts.ts';
import { hostOf } from './webhook-url.ts';

/** The receiver of a URL, and the tunnel behind it if there is one. */
export interface Receiver {
  readonly path: string;
  readonly dispatcher: Dispatcher;
}

interface Parsed {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

/** Receivers per account whose connections are kept: the present one, and the last ones before it. */
const KEPT = 4;

/**
 * The keep-alive connections of one account to its receivers. A pool belongs to an origin and the tunnel behind it, so
 * no socket to the old target is used after a tunnel was moved or removed.
 */
export class Receivers {
  readonly #hosts: TunnelHosts;
  readonly #connect: buildConnector.connector;
  readonly #connections: number;
  readonly #pools = new Map<string, Pool>();
  readonly #parsed = new Map<string, Parsed>();

  constructor(options: { hosts: TunnelHosts; connect: buildConnector.connector; connections: number }) {
    this.#hosts = options.hosts;
    this.#connect = options.connect;
    this.#connections = options.connections;
  }

  find(url: string): Receiver {
    const { origin, host, path } = this.#parse(url);
    const key = `${origin} ${this.#hosts.target(host) ?? ''}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(origin);
      this.#pools.set(key, pool);
      this.#closeOldest();
    }
    return { path, dispatcher: pool };
  }

  /** Closes all connections at once. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #parse(text: string): Parsed {
    let parsed = this.#parsed.get(text);
    if (parsed === undefined) {
      const url = new URL(text);
      parsed = { origin: url.origin, host: hostOf(url), path: `${url.pathname}${url.search}` };
      if (this.#parsed.size >= KEPT) this.#parsed.clear();
      this.#parsed.set(text, parsed);
    }
    return parsed;
  }

  #open(origin: string): Pool {
    return new Pool(origin, {
      connections: this.#connections,
      connect: this.#connect,
      allowH2: false,
      pipelining: 1,
    });
  }

  /** Closes the oldest pool. Its requests in progress still complete. */
  #closeOldest(): void {
    const [oldest] = this.#pools;
    if (this.#pools.size <= KEPT || oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    void oldest[1].close();
  }
}
