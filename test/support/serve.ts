import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server that listens on a port of this machine. */
export interface Served {
  readonly port: number;
  /** As over HTTP, without a slash at its end. */
  readonly url: string;
  hangUp(): void;
  /** Closes it with all its connections. */
  close(): Promise<void>;
}

/** Has a server listen on a free port of this machine. */
export async function serve(server: Server): Promise<Served> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    hangUp,
    async close() {
      const closed = once(server, 'close');
      server.close();
      hangUp();
      await closed;
    },
  };
}
