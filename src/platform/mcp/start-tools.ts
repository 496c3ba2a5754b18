import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { ListConnectionsContext } from '../connections/list-connections.ts';
import type { MediaAddress } from '../media/media-address.ts';
import type { PageCursors } from '../messages/page-cursor.ts';
import type { Sender } from '../messages/send-messages.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ProtocolHandler } from './protocol-handler.ts';
import { listConnectionsTool, readMessagesTool } from './reading-tools.ts';
import { sendMessageTool } from './send-message-tool.ts';
import { createToolServer, type ToolServer } from './tool-server.ts';

interface Options
  extends Omit<Parameters<typeof createToolServer>[0], 'protocol'>,
    Pick<ListConnectionsContext, 'neutralPicture'> {
  readonly database: Queryable;
  readonly clock: DomainClock;
  readonly sender: Sender;
  readonly logger: Logger;
  readonly cursors: PageCursors;
  readonly mediaAddress: MediaAddress;
}

/** Loads the protocol library with the first request for a tool, which makes the start of the service faster. */
function createProtocol(
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

/**
 * The table of tools, over the same domain functions as the REST endpoints, and the server that offers them.
 * [service.tools.offered]
 */
export function startTools(options: Options): ToolServer {
  const tools = [listConnectionsTool(options), sendMessageTool(options.sender), readMessagesTool(options)];
  const protocol = createProtocol({ tools, logger: options.logger });
  return createToolServer({ ...options, protocol });
}
