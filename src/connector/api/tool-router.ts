import type { Router } from 'express';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import { parseBody } from './api-router.ts';
import { type TokenGuard, tokenOf } from './token-guard.ts';
import type { ToolServer, ToolServerOptions } from './tool-server.ts';
import { createTools, type ToolOptions } from './tools.ts';

const TOOLS_PATH = '/mcp';

interface Options extends ToolOptions, Omit<ToolServerOptions, 'tools'> {
  readonly guard: TokenGuard;
}

/** Routes the tools for agents. The protocol library is loaded with the first request, so that a start is fast. */
export function routeTools(options: Options): Router {
  const tools = createTools(options);
  let loading: Promise<ToolServer> | undefined;
  const load = async () => (await import('./tool-server.ts')).createToolServer({ ...options, tools });
  const router = strictRouter();
  router.post(TOOLS_PATH, options.guard.authenticate, ...parseBody(), async (request, response) => {
    const token = tokenOf(response);
    loading ??= load();
    if (token !== undefined) await (await loading)(request, response, token);
  });
  router.all(TOOLS_PATH, options.guard.authenticate, (_request, response) => {
    const message = 'This path accepts only POST: there are no sessions and no streams.';
    response.status(405).set('Allow', 'POST').json({ error: 'method_not_allowed', message });
  });
  return router;
}
