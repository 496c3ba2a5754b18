import { createServer } from 'node:net';
import { listenOnFreePort } from '../process/listen.ts';
import { serveParent } from '../process/serve-parent.ts';

/** A receiver that takes every connection and all it is sent, and never answers. */
export type BlackHoleCommands = {
  listen(input: Record<string, never>): Promise<{ port: number }>;
  /** The most connections that were open at once since the last call. */
  held(input: Record<string, never>): Promise<number>;
};

let open = 0;
let most = 0;

const server = createServer((socket) => {
  open += 1;
  most = Math.max(most, open);
  socket.resume();
  socket.on('error', () => undefined);
  socket.once('close', () => {
    open -= 1;
  });
});

async function held(): Promise<number> {
  const told = most;
  most = open;
  return told;
}

serveParent({ listen: () => listenOnFreePort(server), held } satisfies BlackHoleCommands);
