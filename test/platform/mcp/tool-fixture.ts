import { expect } from 'vitest';
import { z } from 'zod';
import { SERVICE_TOOLS, TOOL_NAMES } from '../../../src/contract/service/tools.ts';

/** What the protocol says of itself in a request of its 2026-07-28 revision. */
export const MODERN = '2026-07-28';

const message = z.looseObject({ jsonrpc: z.literal('2.0') });
const result = z.looseObject({
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })).length(1),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
});

/** What a request was answered with. */
export interface ToolReply {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it is, where it is no JSON-RPC. */
  readonly body: unknown;
  /** All messages of the answer, in their order. */
  readonly messages: readonly z.infer<typeof message>[];
}

/** What a tool answered. */
export interface ToolResult {
  readonly text: string;
  readonly output: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

function parseMessages(text: string, type: string): unknown[] {
  if (type.startsWith('application/json')) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']): unknown => JSON.parse(data));
}

/** Sends bytes to the tool server at an origin, as any client might. */
export async function post(
  origin: string,
  token: string | null,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ToolReply> {
  const credential = token === null ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${origin}/api/mcp`, {
    method: 'POST',
    headers: { ...HEADERS, ...credential, ...headers },
    body,
  });
  const text = await answer.text();
  const parsed = text === '' ? [] : parseMessages(text, answer.headers.get('content-type') ?? '');
  const messages = parsed.map((one) => message.safeParse(one)).flatMap(({ data }) => data ?? []);
  return { status: answer.status, headers: answer.headers, body: parsed[0] ?? null, messages };
}

const shape = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
});

/** Fails on a key that the shape does not list: outputs may gain fields, but not unseen. */
function expectListedKeys(schema: unknown, value: unknown): void {
  const { properties, items } = shape.parse(schema);
  if (Array.isArray(value)) for (const one of value) expectListedKeys(items, one);
  if (properties === undefined || typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    expect(Object.keys(properties)).toContain(key);
    expectListedKeys(properties[key], inner);
  }
}

/** What a tool answered, checked against the contract. */
export function readResult(name: string, { messages }: ToolReply): ToolResult {
  const { content, structuredContent = {}, isError = false } = result.parse(messages.at(-1)?.['result']);
  const [{ text = '' } = {}] = content;
  if (!isError) {
    const { output } = SERVICE_TOOLS[z.enum(TOOL_NAMES).parse(name)];
    output.parse(structuredContent);
    expectListedKeys(z.toJSONSchema(output), structuredContent);
    expect(JSON.parse(text)).toEqual(structuredContent);
  }
  return { text, output: structuredContent, isError };
}

export interface CallOptions {
  /** Which era of the protocol speaks; unless told, that of 2025. */
  readonly modern?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request of either era, as text and with the headers that go with it. */
export function request(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { modern = false }: CallOptions = {},
): { readonly body: string; readonly headers: Readonly<Record<string, string>> } {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const meta = modern ? envelope : {};
  const name = params['name'];
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    headers: modern
      ? {
          'mcp-protocol-version': MODERN,
          'mcp-method': method,
          ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
        }
      : {},
  };
}

/** Calls a tool. Fails for an answer that is no result. */
export async function callTool(
  origin: string,
  token: string,
  name: string,
  given: unknown = {},
  options: CallOptions = {},
): Promise<ToolResult> {
  const { body, headers } = request('tools/call', { name, arguments: given }, options);
  const reply = await post(origin, token, body, { ...headers, ...options.headers });
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  return readResult(name, reply);
}
