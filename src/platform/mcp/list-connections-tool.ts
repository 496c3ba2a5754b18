import {
  type ListConnectionsOutput,
  SERVICE_TOOLS,
  type ToolConnection,
} from '../../contract/service/tools.ts';
import { type ListConnectionsContext, listConnections } from '../connections/list-connections.ts';
import { defineTool, type Tool } from './tool.ts';

const DESCRIPTION = `Lists the messaging connections you may use. A connection is a phone number that belongs to the user's business; messages are sent through it and arrive at it. Call this first: the other tools need the \`id\` of a connection.
A connection with status \`open\` can send. Any other status means that its owner has to pair the phone again, which no tool can do. Connections without a valid licence are not listed.`;

/** `list_messaging_connections`. */
export function listConnectionsTool(context: ListConnectionsContext): Tool {
  return defineTool({
    name: 'list_messaging_connections',
    input: SERVICE_TOOLS.list_messaging_connections.input,
    title: 'List messaging connections',
    description: DESCRIPTION,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async handle({ credential }): Promise<ListConnectionsOutput> {
      const { connections } = await listConnections(context, credential);
      return {
        connections: connections.map(
          ({ phone: _phone, name: _name, profilePicUrl: _picture, ...shown }): ToolConnection => shown,
        ),
      };
    },
  });
}
