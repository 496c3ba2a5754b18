import ky from 'ky';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { ServiceAddress, WalkerCommands } from './measure-reconcile.ts';

interface Page {
  readonly messages: readonly unknown[];
  readonly nextCursor: string | null;
}

let service: ServiceAddress | undefined;

const commands: WalkerCommands = {
  prepare: async (input) => {
    service = input;
  },
  /** Asks for page after page over one connection that is kept alive, parses each and forgets it. */
  async walk() {
    if (service === undefined) throw new Error('prepare comes first');
    const http = ky.create({ prefix: service.baseUrl, timeout: false, retry: 0 });
    const headers = { authorization: `Bearer ${service.apiKey}` };
    const began = systemClock.elapsed();
    let messages = 0;
    let cursor: string | null = null;
    do {
      const searchParams = { limit: 100, cursor: cursor ?? undefined };
      const page: Page = await http.get('messages', { headers, searchParams }).json();
      messages += page.messages.length;
      cursor = page.nextCursor;
    } while (cursor !== null);
    return { messages, elapsedMs: systemClock.elapsed() - began };
  },
};

serveParent(commands);
