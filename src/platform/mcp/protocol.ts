import type { Logger } from '../../runtime/logger/logger.ts';
import type { ServeExchange } from './serve-exchange.ts';
import type { Tool } from './tool.ts';

/** The protocol, as the server of the tools sees it. */
export interface Protocol {
  /** Answers a request that was let in. */
  readonly serve: ServeExchange;
  close(): Promise<void>;
}

interface Options {
  readonly tools: readonly Tool[];
  readonly logger: Logger;
}

/** Loads the protocol with the first request for a tool: a service that no agent asks starts without it. */
export function createProtocol(options: Options): Protocol {
  const load = async () => {
    const [{ createProtocolHandler }, { serveExchange }] = await Promise.all([
      import('./protocol-handler.ts'),
      import('./serve-exchange.ts'),
    ]);
    return { handler: createProtocolHandler(options), serveExchange };
  };
  let loading: ReturnType<typeof load> | null = null;

  return {
    async serve(...exchange) {
      loading ??= load();
      const { handler, serveExchange } = await loading;
      await serveExchange(handler, ...exchange);
    },
    async close() {
      await (await loading)?.handler.close();
    },
  };
}
