import type { RequestHandler } from 'express';
import { z } from 'zod';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../../contract/sandbox/endpoints.ts';
import type { EndpointDefinition } from '../../contract/schema/endpoint.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { ServedTool } from '../../runtime/tools/tool-handler.ts';
import { INTERNAL_ERROR, toRefusal } from './sandbox-error.ts';
import { callEndpoint, type Handlers, type WatchCalls } from './serve-endpoint.ts';

/** The endpoints that an agent needs to play a phone, move time, cause faults, and see what came of it. */
const TOOLS = [
  'getInfo',
  'listConnections',
  'readConnection',
  'scan',
  'causeOutage',
  'recover',
  'contactWrites',
  'putContact',
  'listStoredMessages',
  'getClock',
  'advanceClock',
  'getFaults',
  'addFault',
  'deleteFaults',
  'wait',
  'verify',
  'listDeliveries',
  'readDelivery',
  'resendDelivery',
  'explainSignature',
  'listCalls',
  'readCall',
] as const satisfies readonly SandboxEndpointName[];

const SERVER = {
  name: 'messaging-sandbox',
  title: 'Messaging sandbox',
  instructions:
    'Controls a simulated messaging service: phones, contacts, virtual time and faults. It shows what was delivered and called, and why something was refused. Nobody is reached.',
} as const;

/** `contactWrites` as the name of a tool: `contact_writes`. */
const toName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Parameters of the path by their names, and `query` and `body` as the endpoint takes them. The input stays as it was
 * given: the endpoint reads it again, and a number that was read from a text is none.
 */
function inputOf({ path, query, body }: EndpointDefinition): ServedTool['inputSchema'] {
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, z.string().min(1)]);
  const { '~standard': schema } = z.strictObject({
    ...Object.fromEntries(params),
    ...(query === undefined ? {} : { query: query.optional() }),
    ...(body === undefined ? {} : { body: body.required ? body.schema : body.schema.optional() }),
  });
  const validate = async (value: unknown) => {
    const { issues } = await schema.validate(value);
    return issues === undefined ? { value } : { issues };
  };
  return { '~standard': { ...schema, validate } };
}

function toTool(
  name: (typeof TOOLS)[number],
  handle: NonNullable<Handlers[typeof name]>,
  watch: WatchCalls,
): ServedTool {
  const endpoint: EndpointDefinition = SANDBOX_ENDPOINTS[name];
  const { summary, description, method, path } = endpoint;
  return {
    name: toName(name),
    description: description === undefined ? summary : `${summary} ${description}`,
    annotations: { readOnlyHint: method === 'GET', openWorldHint: false },
    inputSchema: inputOf(endpoint),
    async run(given) {
      const { query = {}, body, ...params } = (given ?? {}) as Record<string, never>;
      const url = path.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(String(params[key])));
      const call = { method, url, params, query, body };
      return await callEndpoint(name, handle as never, call, { gone: new AbortController().signal, watch });
    },
  };
}

/**
 * `POST /mcp`: some of the endpoints as tools for agents, from the contract's table. The protocol library is loaded with
 * the first request.
 */
export function serveTools(handlers: Handlers, watch: WatchCalls, logger: Logger): RequestHandler {
  const tools = TOOLS.flatMap((name) => {
    const handle = handlers[name];
    return handle === undefined ? [] : [toTool(name, handle, watch)];
  });
  const load = async () => {
    const { createToolHandler } = await import('../../runtime/tools/tool-handler.ts');
    return createToolHandler({
      ...SERVER,
      logger,
      toolsOf: () => tools,
      refuse(error) {
        const refusal = toRefusal(error);
        if (refusal === undefined) logger.error({ err: error }, 'a tool call failed');
        return JSON.stringify((refusal ?? INTERNAL_ERROR).body);
      },
    });
  };
  let loading: ReturnType<typeof load> | undefined;
  return async (request, response) => {
    loading ??= load();
    await (await loading)(request, response);
  };
}
