import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** `up`: from the client to the server. `down`: from the server to the client. */
export type Direction = 'up' | 'down' | 'both';

/** Controls the faults of TCP connections. Faults apply to open connections and to new ones. */
export interface FaultProxy {
  readonly port: number;
  /** The given URL with the address of this proxy. */
  route(url: string): string;
  /** Drops everything without closing connections, as a frozen network does. New ones are accepted and frozen. */
  freeze(direction?: Direction): void;
  /** Drops everything on open connections, as a middlebox that lost its state does. New connections work. */
  forget(): void;
  /** Delivers what was held, and everything after it. */
  thaw(): void;
  /** Resets every open connection. New ones work. */
  cut(): void;
  /** Closes the listener, so that new connections are refused; open ones stay. */
  refuse(): Promise<void>;
  /** Listens again, on the same port. */
  accept(): Promise<void>;
  /** Open connections. */
  readonly connections: number;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  forgotten: boolean;
  readonly held: { readonly to: Socket; readonly chunk: Buffer }[];
}

/**
 * Starts a proxy on a free port of the loopback address, in front of `target`. `alter` may replace what
 * passes, chunk by chunk.
 */
export async function startFaultProxy(
  target: { host: string; port: number },
  alter: (chunk: Buffer, direction: 'up' | 'down') => Buffer = (chunk) => chunk,
): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  const frozen = { up: false, down: false };

  const forward = (pair: Pair, to: Socket, direction: 'up' | 'down') => (original: Buffer) => {
    const chunk = alter(original, direction);
    if (frozen[direction] || pair.forgotten) pair.held.push({ to, chunk });
    else if (to.writable) to.write(chunk);
  };

  const open = (client: Socket): void => {
    const server = connect({ ...target, noDelay: true });
    const pair: Pair = { client, server, held: [], forgotten: false };
    pairs.add(pair);
    client.setNoDelay(true);
    client.on('data', forward(pair, server, 'up'));
    server.on('data', forward(pair, client, 'down'));
    const end = (other: Socket, direction: 'up' | 'down') => () => {
      // Closing a connection is a message too: a frozen network does not deliver it.
      if (frozen[direction] || pair.forgotten) return;
      other.destroy();
      pairs.delete(pair);
    };
    client.on('close', end(server, 'up'));
    server.on('close', end(client, 'down'));
    client.on('error', () => undefined);
    server.on('error', () => undefined);
  };

  let listener: Server = await listen(open, 0);
  const { port } = listener.address() as AddressInfo;

  return {
    port,
    route(url) {
      const routed = new URL(url);
      routed.host = `127.0.0.1:${port}`;
      return routed.toString();
    },
    freeze(direction = 'both') {
      frozen.up ||= direction !== 'down';
      frozen.down ||= direction !== 'up';
    },
    forget() {
      for (const pair of pairs) pair.forgotten = true;
    },
    thaw() {
      frozen.up = false;
      frozen.down = false;
      for (const pair of pairs) {
        pair.forgotten = false;
        for (const { to, chunk } of pair.held.splice(0)) if (to.writable) to.write(chunk);
        if (pair.client.destroyed) pair.server.destroy();
        if (pair.server.destroyed) pair.client.destroy();
        if (pair.client.destroyed) pairs.delete(pair);
      }
    },
    cut() {
      for (const { client, server } of pairs) {
        client.resetAndDestroy();
        server.resetAndDestroy();
      }
      pairs.clear();
    },
    refuse: () => closeListener(listener),
    async accept() {
      listener = await listen(open, port);
    },
    get connections() {
      return pairs.size;
    },
    async close() {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      pairs.clear();
      await closeListener(listener);
    },
  };
}

/** A proxy in front of the server of a URL. */
export async function startFaultProxyFor(
  url: string,
  defaultPort: number,
  alter?: (chunk: Buffer, direction: 'up' | 'down') => Buffer,
): Promise<FaultProxy> {
  const { hostname, port } = new URL(url);
  return await startFaultProxy({ host: hostname, port: Number(port || defaultPort) }, alter);
}

function listen(open: (client: Socket) => void, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(open);
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) {
      resolve();
      return;
    }
    // Resolves when nothing listens; open connections do not matter here.
    server.close();
    resolve();
  });
}
