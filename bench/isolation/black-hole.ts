import { createServer } from 'node:net';
import { listenOnFreePort } from '../process/listen.ts';
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

serveParent({ listen: () => listenOnFreePort(server), open: async () => open } satisfies BlackHoleCommands);
