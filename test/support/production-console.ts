import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createConsoleApp } from '../../src/console-host/console-app.ts';
import { createConsoleDoor } from '../../src/console-host/console-door.ts';
import { openPage, type WatchedPage } from './chromium.ts';
import { ManualClock } from './manual-clock.ts';

/** The console of a connector, as the command serves it. It ends with the test. */
export interface ProductionConsole {
  readonly url: string;
  readonly clock: ManualClock;
  /** The URLs that a terminal would have shown after the first one. */
  readonly announced: readonly string[];
  issueUrl(): string;
  /** Opens a page in a browser that has been admitted. */
  open(path: string): Promise<WatchedPage>;
  close(): Promise<void>;
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

export async function startProductionConsole(
  connector: { readonly url: string; readonly token: string },
  { write = false, port = 0 }: { readonly write?: boolean; readonly port?: number } = {},
): Promise<ProductionConsole> {
  let url = '';
  const ownUrl = (): string => url;
  const clock = new ManualClock();
  const announced: string[] = [];
  const door = createConsoleDoor({ ownUrl, clock, announce: (next) => announced.push(next) });
  const app = createConsoleApp({ ownUrl, connector, environment: 'production', write, door });
  const server = createServer(app).listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => close(server));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    clock,
    announced,
    issueUrl: door.issueUrl,
    async open(path) {
      const watched = await openPage(door.issueUrl());
      await watched.page.goto(`${url}${path}`);
      return watched;
    },
    close: () => close(server),
  };
}
