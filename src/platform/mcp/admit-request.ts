import type { Request } from 'express';
import { isToolName, SERVICE_TOOLS, type ToolName } from '../../contract/service/tools.ts';
import { checkAddress, checkScope } from '../calls/check-caller.ts';
import { readJsonBody } from '../calls/read-body.ts';
import type { Credential } from '../credentials/credential.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveToolCredential } from '../credentials/resolve-credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** A message to the tool server from an authorized caller. */
export interface AdmittedRequest {
  readonly credential: Credential;
  /** Parsed JSON; undefined without a body. */
  readonly message: unknown;
  /** The arguments of the call, unchecked. */
  readonly given: unknown;
  /** The tool that it calls; null if it calls none, or an unknown one. */
  readonly tool: ToolName | null;
}

/** Thrown for an invalid message, which is answered with an error of the protocol. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
  /** True if it is not JSON; false if it is JSON but not an accepted message. */
  readonly unparsed: boolean;

  constructor(message: string, unparsed: boolean, cause?: unknown) {
    super(message, { cause });
    this.unparsed = unparsed;
  }
}

/** Thrown for a missing scope, with all scopes that the client must request: its present ones and the missing one. */
export class ScopeMissing extends Error {
  override readonly name = 'ScopeMissing';
  readonly scopes: readonly string[];
  readonly refusal: PlatformError;

  constructor(refusal: PlatformError, scopes: readonly string[]) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
    this.scopes = scopes;
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

function calledTool(message: unknown): ToolName | null {
  if (fieldOf(message, 'method') !== 'tools/call') return null;
  const name = fieldOf(fieldOf(message, 'params'), 'name');
  return isToolName(name) ? name : null;
}

async function readMessage(request: Request): Promise<unknown> {
  const message = await readJsonBody(request, ASSUMPTIONS.bodyBytes.value.other).catch((error: unknown) => {
    if (!(error instanceof PlatformError) || error.code !== 'invalid_request') throw error;
    throw new UnreadableMessage(`the body ${error.hint ?? 'cannot be read'}`, true, error);
  });
  if (Array.isArray(message))
    throw new UnreadableMessage('one message per request; batches are not accepted', false);
  return message;
}

// [choice.tools.scope]
function requireToolScope(credential: Credential, tool: ToolName): void {
  const { scope } = SERVICE_TOOLS[tool];
  try {
    checkScope(credential, scope, 'tool');
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    // Includes the present scopes: a client that requests only the missing one would lose the others.
    throw new ScopeMissing(error, [...credential.scopes, scope]);
  }
}

/**
 * The checks before any tool, in the order of all endpoints: credential, address, scope. The body contains the name of
 * the tool, so it is read before the scope check, and only from a caller with a valid token. Throws `PlatformError`,
 * `ScopeMissing`, or `UnreadableMessage`. [service.tools.offered]
 */
export async function admitRequest(sources: CredentialSources, request: Request): Promise<AdmittedRequest> {
  const credential = await resolveToolCredential(sources, request.headersDistinct['authorization']);
  checkAddress(credential, request);
  if (request.method !== 'POST')
    throw new PlatformError('method_not_allowed', { why: 'the address accepts only POST' });
  const message = await readMessage(request);
  const tool = calledTool(message);
  if (tool !== null) requireToolScope(credential, tool);
  const given = fieldOf(fieldOf(message, 'params'), 'arguments');
  return { credential, message, given, tool };
}
