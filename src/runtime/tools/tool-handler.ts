import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  type CallToolResult,
  createMcpHandler,
  McpServer,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import type { Request, Response } from 'express';
import type { Logger } from '../logger/logger.ts';

/** A tool for agents. */
export interface ServedTool {
  readonly name: string;
  readonly title?: string;
  /** For models. */
  readonly description: string;
  readonly annotations?: ToolAnnotations;
  readonly inputSchema: StandardSchemaWithJSON;
  /** Resolves with the output. Throws what `refuse` explains. */
  run(given: unknown): Promise<object>;
}

export interface ToolHandlerOptions {
  readonly name: string;
  readonly title: string;
  readonly instructions: string;
  /** The tools of a caller. */
  readonly toolsOf: (caller: AuthInfo | undefined) => readonly ServedTool[];
  /** The answer to a call that failed, for models: a code and what to do. */
  readonly refuse: (error: unknown) => string;
  readonly logger: Logger;
}

/**
 * The Model Context Protocol over Streamable HTTP, without sessions: each request gets a server with the tools of its
 * caller. The body of the request has been parsed.
 */
export function createToolHandler(
  options: ToolHandlerOptions,
): (request: Request, response: Response, caller?: AuthInfo) => Promise<void> {
  const { name, title, instructions, toolsOf, refuse, logger } = options;
  const call = async (tool: ServedTool, given: unknown): Promise<CallToolResult> => {
    try {
      const output = await tool.run(given);
      return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: { ...output } };
    } catch (error) {
      return { content: [{ type: 'text', text: refuse(error) }], isError: true };
    }
  };
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const capabilities = { tools: { listChanged: false } };
      const server = new McpServer({ name, title, version: '1.0.0' }, { capabilities, instructions });
      for (const tool of toolsOf(authInfo))
        server.registerTool(tool.name, tool, (given: unknown) => call(tool, given));
      return server;
    },
    // A stream would report changes of the list of tools, which never changes.
    { maxSubscriptions: 0, onerror: (err) => logger.debug({ err }, 'the tool server refused a message') },
  );
  const answer = toNodeHandler(handler, { onerror: (err) => logger.error({ err }, 'a tool call failed') });
  return async (request, response, caller) =>
    await answer(Object.assign(request, caller && { auth: caller }), response, request.body);
}
