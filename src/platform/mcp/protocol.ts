import type { ProtocolHandler } from './protocol-handler.ts';

/** Loads the protocol with the first request for a tool: a service that no agent asks starts without it. */
export function createProtocol(
  options: Parameters<typeof import('./protocol-handler.ts').createProtocolHandler>[0],
): ProtocolHandler {
  const load = async () => (await import('./protocol-handler.ts')).createProtocolHandler(options);
  let loading: ReturnType<typeof load> | null = null;

  return {
    async serve(...exchange) {
      loading ??= load();
      await (await loading).serve(...exchange);
    },
    async close() {
      await (await loading)?.close();
    },
  };
}
