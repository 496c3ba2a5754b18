import { createServer, request } from 'node:http';
import { serve } from './serve.ts';

/** A receiver with a fault that a campaign must find. */
export interface EarlyAnswers {
  readonly url: string;
  /** Resolves when nothing is in transit to the receiver: what was answered has arrived or is lost. */
  handedOn(): Promise<void>;
  close(): Promise<void>;
}

/** Answers every delivery with 200 first, and only then forwards it to the receiver at `target`. */
export async function startEarlyAnswers(target: string): Promise<EarlyAnswers> {
  const underway = new Set<Promise<void>>();
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('error', () => undefined);
    incoming.once('end', () => {
      answer.end('{"ok":true}');
      const { host: _host, connection: _connection, ...headers } = incoming.headers;
      const onward = request(target, { method: 'POST', headers }, (taken) => void taken.resume());
      onward.once('error', () => undefined);
      const ended = Promise.withResolvers<void>();
      underway.add(ended.promise);
      onward.once('close', () => {
        underway.delete(ended.promise);
        ended.resolve();
      });
      onward.end(Buffer.concat(chunks));
    });
  });
  const { url, close } = await serve(server);
  return {
    url,
    async handedOn() {
      while (underway.size > 0) await Promise.all(underway);
    },
    close,
  };
}
