import ky from 'ky';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { WalkerCommands, WalkSetup } from './walk-commands.ts';

interface Page {
  readonly messages: readonly unknown[];
  readonly nextCursor: string | null;
}

let setup: WalkSetup | undefined;

const commands: WalkerCommands = {
  prepare: async (input) => {
    setup = input;
  },
  /** Asks for page after page over one connection that is kept alive, parses each and forgets it. */
  async walk() {
    if (setup === undefined) throw new Error('prepare comes first');
    const http = ky.create({ prefix: setup.baseUrl, timeout: false, retry: 0 });
    const headers = { authorization: `Bearer ${setup.apiKey}` };
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
