import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tunnelHostList } from '../contract/sandbox/deliveries.ts';
import { sandboxInfo } from '../contract/sandbox/info.ts';
import { HEADERS, SIGNATURE_PREFIX } from '../contract/service/headers.ts';
import type { CallPort } from './world.ts';

/** A webhook receiver that takes part in a replay. */
export interface OwnReceiver {
  /** Its whole address. */
  readonly url: string;
  /** The secret that it checks signatures with. */
  readonly secret: string;
}

/** What stands between the service, its connector and the receiver. */
export interface Relay {
  /** Leads the deliveries of the connector's webhook here. Called after each reset. */
  attach(call: CallPort): Promise<void>;
  close(): void;
}

const UNREACHABLE = 502;

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function post(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  signal: AbortSignal,
): Promise<number> {
  const init = { method: 'POST', headers, body: new Uint8Array(body), redirect: 'manual', signal } as const;
  return fetch(url, init).then(
    async (response) => {
      await response.arrayBuffer().catch(() => undefined);
      return response.status;
    },
    () => UNREACHABLE,
  );
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Passes each delivery to the connector and then to the receiver. A delivery that the connector accepts is genuine, and
 * is signed for the receiver with its own secret; any other keeps its signature, and is wrong for the receiver as well.
 * The service gets the answer of the receiver, or that of the connector if only the connector refuses.
 */
export async function startRelay({ url, secret }: OwnReceiver): Promise<Relay> {
  let connector = '';
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // The service ends an attempt that takes too long.
    const over = new AbortController();
    response.once('close', () => over.abort());
    const body = await readBody(request);
    const timestamp = String(request.headers[HEADERS.timestamp.toLowerCase()] ?? '');
    const headers = {
      'content-type': String(request.headers['content-type'] ?? ''),
      [HEADERS.timestamp]: timestamp,
      [HEADERS.signature]: String(request.headers[HEADERS.signature.toLowerCase()] ?? ''),
    };
    const first = await post(`${connector}${request.url}`, headers, body, over.signal);
    const hash = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
    const signed = isSuccess(first) ? { ...headers, [HEADERS.signature]: SIGNATURE_PREFIX + hash } : headers;
    const second = await post(url, signed, body, over.signal);
    response.statusCode = isSuccess(second) ? first : second;
    response.end();
  };
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async attach(call) {
      const get = (path: string): Promise<unknown> => call({ method: 'GET', path: `/sandbox/v1${path}` });
      const { webhookUrl } = sandboxInfo.pick({ webhookUrl: true }).parse(await get('/info'));
      if (webhookUrl === null) throw new Error('The sandbox of the replay has no connector.');
      const { hostname } = new URL(webhookUrl);
      const tunnel = tunnelHostList.parse(await get('/hosts')).entries.find(({ host }) => host === hostname);
      if (tunnel === undefined) throw new Error(`No tunnel is open for ${hostname}.`);
      if (tunnel.target !== target) connector = tunnel.target;
      await call({ method: 'PUT', path: `/sandbox/v1/hosts/${hostname}`, body: JSON.stringify({ target }) });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
