import type { Request, RequestHandler } from 'express';
import type { z } from 'zod';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../../contract/sandbox/endpoints.ts';
import type { EndpointDefinition } from '../../contract/schema/endpoint.ts';
import { inputWords } from '../../contract/schema/input-words.ts';
import { sqlState } from '../../runtime/database/errors.ts';
import { refuseInput, refuseUnknown, SandboxError } from './sandbox-error.ts';

type Table = typeof SANDBOX_ENDPOINTS;

type BodyOf<Name extends SandboxEndpointName> = Table[Name] extends {
  readonly body: { readonly schema: infer Schema extends z.ZodType; readonly required: infer Required };
}
  ? Required extends true
    ? z.output<Schema>
    : z.output<Schema> | undefined
  : undefined;

type QueryOf<Name extends SandboxEndpointName> = Table[Name] extends {
  readonly query: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : undefined;

type AnswerOf<Name extends SandboxEndpointName> = Table[Name]['answers'][0] extends {
  readonly schema: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : never;

/** One call, with query and body as the contract's schemas read them. */
export interface SandboxCall<Name extends SandboxEndpointName> {
  /** A parameter of the path. */
  readonly param: (name: string) => string;
  readonly query: QueryOf<Name>;
  readonly body: BodyOf<Name>;
  /** Aborts when the client closes the connection before the answer. */
  readonly gone: AbortSignal;
}

type Handler<Name extends SandboxEndpointName> = (
  call: SandboxCall<Name>,
) => AnswerOf<Name> | Promise<AnswerOf<Name>>;

/** The endpoints that answer with JSON; the other one writes its answer itself. */
type Name = Exclude<SandboxEndpointName, 'streamEvents'>;

/** What the endpoints do, by the names of the contract's table. An endpoint without a handler does not exist. */
export type Handlers = { readonly [Served in Name]?: Handler<Served> };

function read(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, { error: inputWords });
  if (!result.success) throw refuseInput(result.error);
  return result.data;
}

/** Rejects unknown fields of a body. */
function refuseFields(body: unknown): void {
  const fields = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  if (fields.length > 0) throw refuseUnknown(fields);
}

/** The SQLSTATE of a text with a NUL. */
const UNSTORABLE = '22021';

/** A text with a NUL cannot be stored, and an id with one names nothing. All else is thrown as it is. */
function refuseUnstorable(error: unknown, params: readonly unknown[]): never {
  if (sqlState(error) !== UNSTORABLE) throw error;
  if (params.some((value) => String(value).includes('\u0000'))) throw new SandboxError('not_found');
  throw new SandboxError('invalid_request', 'A text contains a character that cannot be stored.');
}

/** Called when a call arrives. If the call succeeds, what it returns is called with the response before that is sent. */
export type WatchCalls = (
  name: SandboxEndpointName,
  request: Pick<Request, 'method' | 'url'> & { readonly body?: unknown },
) => (answer: unknown) => void;

/** One call as it arrived. */
export type GivenCall = Parameters<WatchCalls>[1] & Pick<Request, 'params' | 'query'>;

/** Reads the input of a call by the schemas of its endpoint, and runs the handler. Throws what is refused. */
export async function callEndpoint<Name extends SandboxEndpointName>(
  name: Name,
  handle: Handler<Name>,
  given: GivenCall,
  { gone, watch }: { readonly gone: AbortSignal; readonly watch: WatchCalls },
): Promise<AnswerOf<Name>> {
  const served = watch(name, given);
  const { query, body }: EndpointDefinition = SANDBOX_ENDPOINTS[name];
  const isAbsent = body?.required === false && given.body === undefined;
  if (body === undefined) refuseFields(given.body);
  const call = {
    gone,
    param: (key: string) => String(given.params[key] ?? ''),
    query: read(query, given.query),
    body: isAbsent ? undefined : read(body?.schema, given.body),
  } as SandboxCall<Name>;
  const answer = await Promise.resolve(handle(call)).catch((error: unknown) =>
    refuseUnstorable(error, Object.values(given.params)),
  );
  served(answer);
  return answer;
}

/** Serves one endpoint: reads the call by its schemas, runs the handler, answers with the table's status. */
export function serveEndpoint<Name extends SandboxEndpointName>(
  name: Name,
  handle: Handler<Name>,
  watch: WatchCalls,
): RequestHandler {
  const endpoint: EndpointDefinition = SANDBOX_ENDPOINTS[name];
  const status = endpoint.answers[0]?.status ?? 200;
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.status(status).json(await callEndpoint(name, handle, request, { gone: gone.signal, watch }));
  };
}
