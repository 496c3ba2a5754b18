import { expect } from 'vitest';
import { type Json, type Reply, request, type WireService } from './wire-service.ts';

/** A generation of the protocol, as its revisions put a request on the wire. */
export interface Era {
  readonly revision: string;
  /** What a request carries beside its method and parameters. */
  wrap(message: Json): { readonly message: Json; readonly headers: Readonly<Record<string, string>> };
}

/** Revisions with an `initialize` handshake: the header names what was negotiated. */
const afterHandshake = (revision: string): Era => ({
  revision,
  wrap: (message) => ({ message, headers: { 'mcp-protocol-version': revision } }),
});

/** The stateless revision: each request says all there is to know of the client, and headers mirror the body. */
const stateless: Era = {
  revision: '2026-07-28',
  wrap({ method, params = {}, ...rest }) {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return {
      message: { ...rest, method, params: { ...params, _meta: { ...params._meta, ...meta } } },
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(method === 'tools/call' ? { 'mcp-name': params.name } : {}),
      },
    };
  },
};

export const ERAS: readonly Era[] = [afterHandshake('2025-06-18'), afterHandshake('2025-11-25'), stateless];

/** An answer of the tool server. */
export interface ToolReply extends Reply {
  /** The JSON-RPC response in it; null for none. */
  readonly message: Json;
  /** What a stream told before the response. */
  readonly notifications: readonly Json[];
}

/** Posts a body as it is. */
export async function postMessage(
  { info }: Pick<WireService, 'info'>,
  token: string | null,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ToolReply> {
  const reply = await request(info.mcpUrl, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const events = readEvents(reply);
  return { ...reply, message: reply.body ?? events.at(-1) ?? null, notifications: events.slice(0, -1) };
}

/** The messages of a stream; the response is the last. */
function readEvents({ headers, text }: Reply): readonly Json[] {
  if (!/^text\/event-stream/.test(headers.get('content-type') ?? '')) return [];
  return text
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n'),
    )
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event));
}

let requests = 0;
/** Sends a JSON-RPC request of an era; the response has its id. */
export async function callMethod(
  service: WireService,
  era: Era,
  token: string | null,
  method: string,
  params?: Json,
): Promise<ToolReply> {
  requests += 1;
  const id = `request-${requests}`;
  const { message, headers } = era.wrap({ jsonrpc: '2.0', id, method, ...(params && { params }) });
  const reply = await postMessage(service, token, message, headers);
  if (reply.message?.jsonrpc === '2.0') expect(reply.message.id).toBe(id);
  return reply;
}

/** Calls a tool, and reads its result. */
export async function callTool(
  service: WireService,
  era: Era,
  token: string,
  name: string,
  args: object = {},
): Promise<Json> {
  const reply = await callMethod(service, era, token, 'tools/call', { name, arguments: args });
  expect(reply.status, reply.text).toBe(200);
  expect(reply.message.result, reply.text).toBeDefined();
  return reply.message.result;
}
