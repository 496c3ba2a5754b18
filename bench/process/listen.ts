import type { Server } from 'node:net';

/** Listens on a free port of the loopback interface. */
export function listenOnFreePort(server: Server): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve({ port: address.port });
      else reject(new Error('no port'));
    });
  });
}
