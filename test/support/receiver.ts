import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { serve } from './serve.ts';

/** A received request. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** One value per header line, names in lower case. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** False if the connection ended before the body. */
  readonly complete: boolean;
}

/** What the receiver does with one request. */
export type ScriptedAnswer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string | Buffer }
  /** Reads the request and never answers. */
  | { readonly hang: true }
  /** Reads the request and resets the connection. */
  | { readonly reset: true }
  /** Answers when the promise resolves; 200 by default. */
  | { readonly after: Promise<unknown>; readonly thenStatus?: number }
  /** Begins a 200 and never ends its body. */
  | { readonly endless: true };

/** A web server that records every request and answers as configured. */
export interface Receiver {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly requests: readonly ReceivedRequest[];
  /** The next answers, in order; after them every request is answered with `otherwise`. */
  script(...answers: readonly ScriptedAnswer[]): void;
  /** The answer to requests that are not scripted; 200 at first. */
  otherwise(answer: ScriptedAnswer): void;
  /** Resolves with the first `count` requests once they have arrived. */
  received(count: number): Promise<readonly ReceivedRequest[]>;
  /** Connections opened so far. */
  readonly connections: number;
  close(): Promise<void>;
}

function readBody(request: IncomingMessage): Promise<{ body: Buffer; complete: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const end = (): void => resolve({ body: Buffer.concat(chunks), complete: request.complete });
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', end).once('close', end).once('error', end);
  });
}

async function act(
  answer: ScriptedAnswer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if ('hang' in answer) return;
  if ('reset' in answer) {
    request.socket.resetAndDestroy();
    return;
  }
  if ('endless' in answer) {
    response.writeHead(200, { 'Content-Type': 'text/plain' }).write('and so on');
    return;
  }
  if ('after' in answer) {
    await answer.after;
    response.writeHead(answer.thenStatus ?? 200).end();
    return;
  }
  response.writeHead(answer.status, answer.headers).end(answer.body);
}

/** Listens on a free port of the loopback interface. */
export async function startReceiver(): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const script: ScriptedAnswer[] = [];
  let waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  let standard: ScriptedAnswer = { status: 200 };
  let connections = 0;

  const record = (request: ReceivedRequest): void => {
    requests.push(request);
    for (const { count, resolve } of waiters) if (requests.length >= count) resolve();
    waiters = waiters.filter(({ count }) => requests.length < count);
  };

  const server = createServer((request, response) => {
    // The order of arrival decides who gets which answer.
    const answer = script.shift() ?? standard;
    void readBody(request).then(({ body, complete }) => {
      const headers = request.headersDistinct as Record<string, string[]>;
      record({ method: request.method ?? '', path: request.url ?? '', headers, body, complete });
      return complete ? act(answer, request, response) : undefined;
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('error', () => undefined);
  });
  const { port, url, close } = await serve(server);
  return {
    port,
    origin: url,
    requests,
    script: (...answers) => void script.push(...answers),
    otherwise: (answer) => {
      standard = answer;
    },
    received: async (count) => {
      if (requests.length < count) await new Promise<void>((resolve) => waiters.push({ count, resolve }));
      return requests.slice(0, count);
    },
    get connections() {
      return connections;
    },
    close,
  };
}
