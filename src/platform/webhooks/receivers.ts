import { type buildConnector, type Dispatcher, Pool } from 'undici';
import type { TunnelHosts } from './tunnel-hosts.ts';
import { hostOf } from './webhook-url.ts';

/** The receiver of a URL, and the tunnel behind it if there is one. */
export interface Receiver {
  readonly path: string;
  readonly dispatcher: Dispatcher;
}

/**
 * The keep-alive connections of one account to its receivers. A pool belongs to an origin and the tunnel behind it, so
 * no socket to the old target is used after a tunnel was moved or removed.
 */
export class Receivers {
  readonly #hosts: TunnelHosts;
  readonly #connect: buildConnector.connector;
  readonly #connections: number;
  readonly #pools = new Map<string, Pool>();

  constructor(options: { hosts: TunnelHosts; connect: buildConnector.connector; connections: number }) {
    this.#hosts = options.hosts;
    this.#connect = options.connect;
    this.#connections = options.connections;
  }

  find(text: string): Receiver {
    const url = new URL(text);
    const { origin, pathname, search } = url;
    const key = `${origin} ${this.#hosts.target(hostOf(url)) ?? ''}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(origin);
      this.#pools.set(key, pool);
    }
    return { path: `${pathname}${search}`, dispatcher: pool };
  }

  /** Closes all connections at once. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #open(origin: string): Pool {
    return new Pool(origin, {
      connections: this.#connections,
      connect: this.#connect,
      allowH2: false,
      pipelining: 1,
    });
  }
}
