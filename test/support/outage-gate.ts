import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to a request to the service. */
export type Passage =
  | { readonly kind: 'open' }
  /** The connection is refused. */
  | { readonly kind: 'refused' }
  /** The connection is reset before the request is forwarded. */
  | { readonly kind: 'reset' }
  /** Connections are accepted and get no response. Requests that wait when the gate opens are then forwarded. */
  | { readonly kind: 'silent' }
  /** Something in front of the service answers. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: number };

/** A gate between a connector and the service. */
export interface OutageGate {
  /** `{base_url}` of the service behind it. */
  readonly baseUrl: string;
  set(passage: Passage): Promise<void>;
  /** The number of requests that are being answered. */
  readonly open: number;
  close(): Promise<void>;
}

/** Starts an open gate at a name of this machine, so that the name must be resolved. */
export async function startOutageGate(serviceBaseUrl: string): Promise<OutageGate> {
  const target = new URL(serviceBaseUrl);
  let passage: Passage = { kind: 'open' };
  let open = 0;
  const waiting = new Set<() => void>();
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;

  async function pass(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const answer = await fetch(new URL(request.url ?? '/', target.origin), {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        'content-type': request.headers['content-type'] ?? 'application/json',
      },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(bytes);
  }

  async function meet(request: IncomingMessage, response: ServerResponse): Promise<void> {
    open += 1;
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      if (passage.kind === 'silent') {
        open -= 1;
        await new Promise<void>((resolve) => waiting.add(resolve));
        open += 1;
      }
      // The client has given up, so the request is not forwarded.
      if (response.destroyed) return;
      if (passage.kind === 'reset') request.socket.resetAndDestroy();
      else if (passage.kind === 'answered') {
        const { status, retryAfter } = passage;
        response.writeHead(status, { 'retry-after': String(retryAfter) }).end('busy');
      } else await pass(request, Buffer.concat(chunks), response);
    } finally {
      open -= 1;
    }
  }

  async function listen(at: number): Promise<Server> {
    const made = createServer((request, response) => {
      meet(request, response).catch(() => response.destroy());
    });
    made.listen(at, '127.0.0.1');
    await once(made, 'listening');
    return made;
  }

  async function stop(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  return {
    baseUrl: `http://localhost:${port}${target.pathname}`,
    async set(next) {
      const listens = passage.kind !== 'refused';
      passage = next;
      if (next.kind === 'refused') await stop();
      else if (!listens) server = await listen(port);
      for (const go of waiting) go();
      waiting.clear();
    },
    get open() {
      return open;
    },
    async close() {
      if (passage.kind !== 'refused') await stop();
    },
  };
}
