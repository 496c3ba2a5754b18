import { createServer, type IncomingMessage } from 'node:http';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { parseJson } from '../../../certify/src/runner/exchange.ts';
import type { AnswerRule, WebhookListener, WebhookRequest } from './webhook-listener.ts';

const LARGEST_BODY = 1_048_576;

/** A listener and its address. */
export interface StartedListener extends WebhookListener {
  readonly port: number;
}

/** Starts a listener for deliveries. Port 0 selects a free port. @throws if the port is in use */
export async function startWebhookListener(options: {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
}): Promise<StartedListener> {
  const { clock } = options;
  const requests: WebhookRequest[] = [];
  const waiting = new Set<() => void>();
  let rule: AnswerRule = () => ({ status: 200 });

  const server = createServer((incoming, response) => {
    const [at, receivedAt] = [clock.elapsed(), clock.now()];
    void readBody(incoming).then((body) => {
      if (body === undefined) return void response.destroy();
      const json = parseJson(body.toString('utf8'));
      const { method = '', url: path = '' } = incoming;
      const { status, headers } = rule({ path, json }, requests);
      const given = incoming.headersDistinct as Record<string, string[]>;
      const answeredAt = clock.elapsed();
      requests.push({ at, answeredAt, receivedAt, method, path, headers: given, body, json, status });
      if (status !== 0) response.writeHead(status, headers).end();
      for (const check of waiting) check();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, options.host, resolve);
  });
  const address = server.address();

  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    requests,
    answerBy: (next) => {
      rule = next;
    },
    until: (find, signal) =>
      new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(check);
          signal.removeEventListener('abort', abort);
        };
        const abort = (): void => {
          end();
          reject(signal.reason);
        };
        const check = (): void => {
          const found = find(requests);
          if (found === undefined) return;
          end();
          resolve(found);
        };
        waiting.add(check);
        signal.addEventListener('abort', abort);
        if (signal.aborted) abort();
        else check();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The raw bytes; undefined if they were incomplete or too many. */
function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > LARGEST_BODY) resolve(undefined);
      else chunks.push(chunk);
    });
    incoming.once('end', () => resolve(Buffer.concat(chunks)));
    incoming.once('close', () => resolve(undefined));
    incoming.once('error', () => resolve(undefined));
  });
}
