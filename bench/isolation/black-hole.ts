import { createServer } from 'node:net';
import { serveParent } from '../process/serve-parent.ts';

/** A receiver that takes every connection and all it is sent, and never answers. */
export type BlackHoleCommands = {
  listen(input: Record<string, never>): Promise<{ port: number }>;
  /** Connections that are open now. */
  open(input: Record<string, never>): Promise<number>;
};

let open = 0;

const server = createServer((socket) => {
  open += 1;
  socket.resume();
  socket.on('error', () => undefined);
  socket.once('close', () => {
    open -= 1;
  });
});

function listen(): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve({ port: address.port });
      else reject(new Error('no port'));
    });
  });
}

serveParent({ listen, open: async () => open } satisfies BlackHoleCommands);
