import type { z } from 'zod';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import { sandboxErrorBody } from '../contract/sandbox/errors.ts';
import { invoke } from './invocation.ts';

/** An advance of time is answered after everything that was due has happened. */
const DEADLINE_MS = 120_000;

/** Endpoints whose answer is one JSON object. */
type Name = Exclude<SandboxEndpointName, 'streamEvents'>;

type AnswerOf<Called extends Name> = (typeof SANDBOX_ENDPOINTS)[Called]['answers'][0] extends {
  readonly schema: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : never;

/** The input of a call. */
export interface SandboxRequest {
  /** Parameters of the path by their names. */
  readonly params?: Readonly<Record<string, string>>;
  /** Undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
}

/** Calls an endpoint of the control API by its name in the contract. @throws Error with the reason for a failure. */
export type CallSandbox = <Called extends Name>(
  name: Called,
  request?: SandboxRequest,
) => Promise<AnswerOf<Called>>;

/** A client of the control API at a base address, without its prefix. */
export function callSandboxAt(url: string): CallSandbox {
  return async (name, { params = {}, query = {}, body } = {}) => {
    const { method, path, answers } = SANDBOX_ENDPOINTS[name];
    const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''));
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const response = await fetch(`${url}/sandbox/v1${filled}${search}`, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).catch((error: unknown) => {
      throw explainSilence(url, error);
    });
    const answer: unknown = await response.json().catch(() => null);
    if (!response.ok) throw explainRefusal(url, response.status, answer);
    const read = answers[0].schema.safeParse(answer);
    if (!read.success) throw new Error(`The server at ${url} is not a sandbox of this version.`);
    return read.data as never;
  };
}

function explainSilence(url: string, error: unknown): Error {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new Error(`The sandbox at ${url} did not answer within ${DEADLINE_MS / 1_000} s.`);
  }
  return new Error(
    `No sandbox listens at ${url}. Start one with ${invoke('start')}, or without a connector with ${invoke('platform')}. ` +
      'If it listens elsewhere, pass its address as --url.',
  );
}

function explainRefusal(url: string, status: number, answer: unknown): Error {
  const refusal = sandboxErrorBody.safeParse(answer).data;
  if (refusal === undefined)
    return new Error(`The server at ${url} is not a sandbox: it returned status ${status}.`);
  return new Error(`${refusal.error}: ${refusal.message}`);
}
