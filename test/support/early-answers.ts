import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver with the fault that a campaign must find. */
export interface EarlyAnswers {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers every delivery with 200 first, and only then hands it on to the receiver at `target`. */
export async function startEarlyAnswers(target: string): Promise<EarlyAnswers> {
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('error', () => undefined);
    incoming.once('end', () => {
      answer.end('{"ok":true}');
      const { host: _host, connection: _connection, ...headers } = incoming.headers;
      const onward = request(target, { method: 'POST', headers }, (taken) => void taken.resume());
      onward.once('error', () => undefined);
      onward.end(Buffer.concat(chunks));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
