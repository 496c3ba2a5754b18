import type { z } from 'zod';
import type { EndpointDefinition } from '../contract/schema/endpoint.ts';
import { type AnswerOf, fillAddress } from './call-endpoint.ts';

/** An API was called and did not answer with success. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';
  readonly status: number;
  /** `error` of the body; null if the answer has none. */
  readonly code: string | null;
  /** The parsed body; null if it is not JSON. */
  readonly body: unknown;

  /** `otherwise` is the reason if the body has none. */
  constructor(call: string, status: number, body: unknown, otherwise?: string) {
    const { error, message, field, hint } = (body ?? {}) as Readonly<Record<string, unknown>>;
    const code = typeof error === 'string' ? error : null;
    const reason =
      message ?? (field === undefined ? (otherwise ?? []) : [field, hint ?? []].flat().join(' '));
    super(`${call} answered ${[status, code ?? [], reason].flat().join(' ')}`);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

type Endpoints = Readonly<Record<string, EndpointDefinition>>;

type ParameterOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

type ParamsPart<Endpoint extends EndpointDefinition> = [ParameterOf<Endpoint['path']>] extends [never]
  ? { readonly params?: never }
  : { readonly params: Readonly<Record<ParameterOf<Endpoint['path']>, string>> };

type QueryPart<Endpoint> = Endpoint extends { readonly query: infer Schema extends z.ZodType }
  ? {
      readonly query?: {
        readonly [Key in keyof z.input<Schema>]?: string | number | boolean | undefined;
      };
    }
  : { readonly query?: never };

type BodyPart<Endpoint> = Endpoint extends {
  readonly body: { readonly schema: infer Schema extends z.ZodType; readonly required: infer Required };
}
  ? Required extends true
    ? { readonly body: z.input<Schema> }
    : { readonly body?: z.input<Schema> }
  : { readonly body?: never };

/** The input of an endpoint: parameters of its path, its query, its body, and further headers. */
export type CallInput<Endpoint extends EndpointDefinition> = ParamsPart<Endpoint> &
  QueryPart<Endpoint> &
  BodyPart<Endpoint> & { readonly headers?: Readonly<Record<string, string>> };

type Arguments<Endpoint extends EndpointDefinition> =
  Record<never, never> extends CallInput<Endpoint>
    ? [input?: CallInput<Endpoint>]
    : [input: CallInput<Endpoint>];

/**
 * A method for each endpoint of an API, with the types of its contract. Each resolves with the body of a success and
 * throws `CallRefused` for any other answer.
 */
export type Client<Table extends Endpoints> = {
  readonly [Name in keyof Table]: (...input: Arguments<Table[Name]>) => Promise<AnswerOf<Table[Name]>>;
};

/** The answer as text and, if it is JSON, as its value; what is cut off is none. */
async function readAnswer(response: Response): Promise<{ readonly text: string; readonly json?: unknown }> {
  const text = await response.text();
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return { text };
  try {
    return { text, json: JSON.parse(text) };
  } catch {
    return { text };
  }
}

/** Whether an endpoint answers with text, or without a body if the text is empty. */
function answersWith(text: string, { answers }: EndpointDefinition): boolean {
  return answers.some(({ schema, contentType }) =>
    text === ''
      ? schema === undefined && contentType === undefined
      : contentType !== undefined && contentType !== 'application/json',
  );
}

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A client of the API with these endpoints at the address that `locate` returns, with headers for each call and a limit
 * of its time, none by default. Do not call its streams: they do not end.
 */
export function createClient<const Table extends Endpoints>(
  endpoints: Table,
  locate: () => string,
  common: { readonly headers?: Readonly<Record<string, string>>; readonly timeoutMs?: number } = {},
): Client<Table> {
  const call = async (
    endpoint: EndpointDefinition,
    { body, headers, ...input }: AnyInput,
  ): Promise<unknown> => {
    const address = fillAddress(endpoint, input);
    const response = await fetch(`${locate()}${address}`, {
      method: endpoint.method,
      // `fetch` follows a redirect of a POST with a GET, whose success would be none of the call.
      redirect:
        endpoint.method === 'GET' || endpoint.answers.some(({ status }) => status >= 300)
          ? 'follow'
          : 'manual',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...common.headers,
        ...headers,
      },
      ...(common.timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(common.timeoutMs) }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { text, json } = await readAnswer(response);
    // What answers for the API, such as a proxy, says nothing about the call.
    if (response.ok && (json !== undefined || answersWith(text, endpoint)))
      return json === undefined ? text : json;
    const type = text === '' ? 'nothing' : (response.headers.get('content-type') ?? 'text');
    const otherwise = response.ok ? `with ${type} in place of JSON` : undefined;
    throw new CallRefused(`${endpoint.method} ${address}`, response.status, json ?? null, otherwise);
  };
  const methods = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    (input: AnyInput = {}) => call(endpoint, input),
  ]);
  return Object.fromEntries(methods) as Client<Table>;
}
