import { createServer } from 'node:http';
import { serveParent } from '../process/serve-parent.ts';

/** The simplest receiver there is: reads a request, counts it by path, answers 200. */
export type ReceiverCommands = {
  listen(input: Record<string, never>): Promise<{ port: number }>;
  /** How many requests each path has got so far. */
  counts(input: Record<string, never>): Promise<Record<string, number>>;
};

const counts: Record<string, number> = {};

const server = createServer((request, response) => {
  const path = request.url ?? '';
  request.resume();
  request.once('end', () => {
    counts[path] = (counts[path] ?? 0) + 1;
    response.end('ok');
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

serveParent({ listen, counts: async () => counts } satisfies ReceiverCommands);
