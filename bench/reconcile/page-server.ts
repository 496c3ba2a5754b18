import { createServer } from 'node:http';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { listenOnFreePort } from '../process/listen.ts';
import { serveParent } from '../process/serve-parent.ts';
import { connectionName, makePages } from './make-pages.ts';
import type { ServiceCommands } from './measure-reconcile.ts';

const KEY = 'bench-key-0123456789abcdef0123456789abcdef';
const EXPIRY = '2027-01-01T00:00:00.000Z';

const commands: ServiceCommands = {
  /**
   * A service that costs nearly nothing: pages of 100 that stand in memory as bytes. It has what a poll asks for and
   * nothing else.
   */
  async listen({ messages, connections: total, delayMs }) {
    const pages = makePages(messages, total);
    const connections = Array.from({ length: total }, (_, index) => listed(index));
    const list = Buffer.from(JSON.stringify({ connections }));
    const slots = { total, used: total, available: 0, nextExpiry: EXPIRY };
    const account = Buffer.from(
      JSON.stringify({ slots, connections: { total, connected: total, needsReconnect: 0 } }),
    );
    const find = (path: string, query: URLSearchParams): Buffer | undefined => {
      if (path === '/api/v1/messages') return pages.get(query.get('cursor'));
      if (path === '/api/v1/connections') return list;
      return path === '/api/v1/account' ? account : undefined;
    };
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://service');
      const authorized = request.headers.authorization === `Bearer ${KEY}`;
      const body = authorized ? find(url.pathname, url.searchParams) : undefined;
      const answer = (): void => {
        response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
        response.end(body ?? '{"error":"not_found"}');
      };
      if (delayMs === 0) answer();
      else systemClock.after(delayMs, answer, { keepAlive: true });
    });
    server.keepAliveTimeout = 60_000;
    const { port } = await listenOnFreePort(server);
    return { baseUrl: `http://127.0.0.1:${port}/api/v1`, apiKey: KEY };
  },
};

function listed(index: number) {
  const phoneNumber = String(491_500_000_000 + index);
  const label = `Desk ${index}`;
  return {
    ...{
      id: connectionName(index),
      phoneNumber,
      label,
      status: 'open',
      isDefault: index === 0,
      provider: 'qr',
    },
    ...{ tier: 'basic', profilePicUrl: 'https://media.example.com/neutral.png', licenseValid: true },
    ...{ licenseStatus: 'active', licenseExpires: EXPIRY, phone: phoneNumber, name: label },
  };
}

serveParent(commands);
