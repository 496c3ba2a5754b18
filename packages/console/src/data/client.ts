import type { z } from 'zod';
import type { CONNECTOR_ENDPOINTS } from '../../../../src/contract/connector/endpoints.ts';
import type { ConsoleMode } from '../../../../src/contract/console/screens.ts';
import type { SANDBOX_ENDPOINTS } from '../../../../src/contract/sandbox/endpoints.ts';
import type { SERVICE_ENDPOINTS } from '../../../../src/contract/service/endpoints.ts';

type Endpoints = Readonly<Record<string, { readonly method: string; readonly path: string }>>;
type RowOf<Table extends Endpoints, Method, Path> = Extract<
  Table[keyof Table],
  { readonly method: Method; readonly path: Path }
>;
type PathOf<Table extends Endpoints, Method> = Extract<
  Table[keyof Table],
  { readonly method: Method }
>['path'];
type MethodOf<Table extends Endpoints> = Table[keyof Table]['method'];
type QueryOf<Row> = Row extends { readonly query: infer Query extends z.ZodType }
  ? Partial<z.input<Query>>
  : never;
type BodyOf<Row> = Row extends { readonly body: { readonly schema: infer Body extends z.ZodType } }
  ? z.input<Body>
  : never;
type AnswerOf<Row> = Row extends {
  readonly answers: readonly [{ readonly schema: infer Answer }, ...unknown[]];
}
  ? Answer extends z.ZodType
    ? z.output<Answer>
    : undefined
  : undefined;

/** The input of a call: parameters of the path by name, the query and the JSON body. */
export interface CallInput<Row> {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: QueryOf<Row>;
  readonly body?: BodyOf<Row>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response that is not a success, or none at all: then `status` is 0 and the server is gone. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** The invalid key of the query or body. */
  readonly field: string | undefined;
  /** `GET /deliveries`, for people. */
  readonly call: string;

  constructor(call: string, status: number, code: string, message: string, field?: string) {
    super(message);
    this.call = call;
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** Whether the server refused this field, or a part of it: `redirectUris.0` is a part of `redirectUris`. */
export function isOf(error: unknown, field: string): error is ApiError {
  return (
    error instanceof ApiError &&
    error.field !== undefined &&
    (error.field === field || error.field.startsWith(`${field}.`))
  );
}

/** Null for what does not exist. */
export async function ifKnown<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The same refusal at a field of the page. */
export const atField = (error: ApiError, field: string, words = error.message): ApiError =>
  new ApiError(error.call, error.status, error.code, words, field);

/** A request as data: what the page sends, and what "copy as" writes. */
export interface RequestShape {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

interface RawInput {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

/** The request of a call, with the path filled in. Absent and empty values of the query are left out. */
export function shapeRequest(prefix: string, method: string, path: string, input: RawInput): RequestShape {
  const { params = {}, query = {}, body } = input;
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(Object.fromEntries(given) as Record<string, string>).toString();
  const whole = `${prefix}${filled}${search === '' ? '' : `?${search}`}`;
  return { method, path: whole, ...(body === undefined ? {} : { body }) };
}

/** What to do about a refusal of the service, which says no more than its code. */
const REFUSALS: Readonly<Record<string, string>> = {
  already_connected: 'The connection is live already; there is nothing to pair.',
  forbidden_portal_kind: 'The connections of this workspace are created by the admin of its CRM portal.',
  internal_error: 'The server failed. Its log says why.',
  invalid_phone_number: 'Enter international digits without a plus sign.',
  not_found: 'It does not exist any more.',
  not_supported_for_provider: 'Numbers of the business platform do not support this.',
  pairing_code_unavailable: 'No pairing code can be had now. Scan the QR code.',
  rate_limited: 'There were too many requests. Try again later.',
};

/** How long a read may take, in milliseconds. Writes may wait for a poll or for time to pass, so they have no limit. */
export const READ_LIMIT_MS = 4_500;

async function send(
  { method, path, body }: RequestShape,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const call = `${method} ${path.split('?')[0]}`;
  const limit = method === 'GET' ? AbortSignal.timeout(READ_LIMIT_MS) : undefined;
  const fail = (): never => {
    if (limit?.aborted !== true) throw new ApiError(call, 0, 'unreachable', 'The server does not respond.');
    throw new ApiError(call, 0, 'timeout', `There was no response within ${READ_LIMIT_MS / 1_000} s.`);
  };
  const response = await fetch(path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(limit === undefined ? {} : { signal: limit }),
  }).catch(fail);
  const answer: unknown = await response.json().catch(() => (limit?.aborted === true ? fail() : undefined));
  const { ok, status } = response;
  if (ok && (answer !== undefined || status === 204)) return answer;
  // A proxy before the server answers with a page.
  if (ok) throw new ApiError(call, status, 'not_json', `The response of ${path.split('?')[0]} is not JSON.`);
  const { error, message, field, hint } = (answer ?? {}) as Readonly<Record<string, string | undefined>>;
  // The command was started again: the server replaces this page by one that says how to be admitted.
  if (error === 'session_required') location.reload();
  const words = message ?? hint ?? REFUSALS[error ?? ''] ?? `The server responded with status ${status}.`;
  const named = field ?? (error === 'invalid_phone_number' ? 'phoneNumber' : undefined);
  throw new ApiError(call, status, error ?? String(status), words, named);
}

/** A client of a table of endpoints below a prefix. */
function clientOf<Table extends Endpoints>(prefix: string) {
  return <Method extends MethodOf<Table>, Path extends PathOf<Table, Method>>(
    method: Method,
    path: Path,
    input: CallInput<RowOf<Table, Method, Path>> = {},
  ): Promise<AnswerOf<RowOf<Table, Method, Path>>> =>
    send(shapeRequest(prefix, method, path, input), input.headers) as Promise<
      AnswerOf<RowOf<Table, Method, Path>>
    >;
}

export const SANDBOX_PREFIX = '/sandbox/v1';

/** Calls the control API. @throws {ApiError} */
export const sandbox = clientOf<typeof SANDBOX_ENDPOINTS>(SANDBOX_PREFIX);

/** Calls the REST API of the service with a key of the workspace in `x-workspace-id`. @throws {ApiError} */
export const service = clientOf<typeof SERVICE_ENDPOINTS>('/service');

/** Calls the connector through the server of this page, which adds the token. @throws {ApiError} */
export const connector = clientOf<typeof CONNECTOR_ENDPOINTS>('/connector');

/** What this page is connected to. */
export async function readMode(): Promise<ConsoleMode> {
  return (await send({ method: 'GET', path: '/console.json' })) as ConsoleMode;
}
