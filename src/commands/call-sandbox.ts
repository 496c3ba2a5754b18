import { type AnswerOf, type EndpointInput, fillAddress } from '../client/call-endpoint.ts';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import { type SandboxErrorBody, sandboxErrorBody } from '../contract/sandbox/errors.ts';
import { ERRORS, type ErrorCode, errorBody } from '../contract/service/errors.ts';
import { invoke } from './invocation.ts';

/** An advance of time is answered after everything that was due has happened. */
const DEADLINE_MS = 120_000;

/** Endpoints whose answer is one JSON object. */
type Name = Exclude<SandboxEndpointName, 'streamEvents'>;

export interface SandboxRequest extends EndpointInput {
  readonly body?: object;
}

/** Calls an endpoint of the control API by its name in the contract. @throws Error with the reason for a failure. */
export type CallSandbox = <Called extends Name>(
  name: Called,
  request?: SandboxRequest,
) => Promise<AnswerOf<(typeof SANDBOX_ENDPOINTS)[Called]>>;

/** Any call of the sandbox's port. `body` is JSON. */
export interface PortRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: string;
  /** The workspace whose API key a call below `/service` uses. */
  readonly workspaceId?: string;
}

/** Makes a call of the sandbox's port, and resolves with its JSON response. @throws Error with the reason for a failure. */
export type CallPort = (request: PortRequest) => Promise<unknown>;

/** A client of the sandbox's port at a base address. */
export function callPortAt(url: string): CallPort {
  return async ({ method, path, body, workspaceId }) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(workspaceId === undefined ? {} : { 'x-workspace-id': workspaceId }),
      },
      body: body ?? null,
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).catch((error: unknown) => {
      throw explainNoAnswer(url, error);
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw explainRefusal(url, response.status, answer);
    if (answer === undefined)
      throw new Error(
        `${method} ${path} of the server at ${url} is not answered with JSON. Is a sandbox there?`,
      );
    return answer;
  };
}

/** A client of the control API at a base address, without its prefix. */
export function callSandboxAt(url: string): CallSandbox {
  const callPort = callPortAt(url);
  return async (name, { body, ...input } = {}) => {
    const endpoint = SANDBOX_ENDPOINTS[name];
    const { method, answers } = endpoint;
    const answer = await callPort({
      method,
      path: `/sandbox/v1${fillAddress(endpoint, input)}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const read = answers[0].schema.safeParse(answer);
    if (!read.success) throw new Error(`The server at ${url} is not a sandbox of this version.`);
    return read.data as never;
  };
}

function explainNoAnswer(url: string, error: unknown): Error {
  // fetch refuses some calls without making them, such as a GET with a body.
  if (error instanceof TypeError && error.cause === undefined) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new Error(`The sandbox at ${url} did not answer within ${DEADLINE_MS / 1_000} s.`);
  }
  return new Error(
    `No sandbox listens at ${url}. Start one with ${invoke('start')}, or without a connector with ${invoke('platform')}. ` +
      'If it listens elsewhere, pass its address as --url.',
  );
}

/** The service answers with a code, and a field and a hint where there are any. */
function describeServiceError(answer: unknown): SandboxErrorBody | undefined {
  const { error, field, hint } = errorBody.safeParse(answer).data ?? {};
  if (error === undefined) return undefined;
  const { meaning } = ERRORS[error as ErrorCode] ?? { meaning: '' };
  const named = field === undefined ? '' : `'${field}': `;
  return { error, message: `${named}${hint ?? meaning}` };
}

function explainRefusal(url: string, status: number, answer: unknown): Error {
  const refusal = sandboxErrorBody.safeParse(answer).data ?? describeServiceError(answer);
  if (refusal === undefined)
    return new Error(`The server at ${url} is not a sandbox: it returned status ${status}.`);
  return new Error(`${refusal.error}: ${refusal.message}`);
}
