import { createServer } from 'node:http';
import { listenOnFreePort } from '../process/listen.ts';
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

serveParent({
  listen: () => listenOnFreePort(server),
  counts: async () => counts,
} satisfies ReceiverCommands);
