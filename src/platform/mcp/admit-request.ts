import type { Request } from 'express';
import { isToolName, SERVICE_TOOLS, type ToolName } from '../../contract/service/tools.ts';
import { checkAddress, checkScope } from '../calls/check-caller.ts';
import { readJsonBody } from '../calls/read-body.ts';
import type { Credential } from '../credentials/credential.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveToolCredential } from '../credentials/resolve-credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** A message as it came in, from a caller who may send one. */
export interface AdmittedRequest {
  readonly credential: Credential;
  /** Parsed JSON; undefined without a body. */
  readonly message: unknown;
  /** The arguments of a call as they were sent. */
  readonly given: unknown;
  /** The tool that it calls; null: it calls none that there is. */
  readonly tool: ToolName | null;
  /** It asks for a stream that stands open until somebody closes it. */
  readonly listens: boolean;
}

/** A refusal of what was sent, for the protocol's own kind of answer. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
  /** It is no JSON at all; else it is, and no message that is taken. */
  readonly unparsed: boolean;

  constructor(message: string, unparsed: boolean, cause?: unknown) {
    super(message, { cause });
    this.unparsed = unparsed;
  }
}

/** A refusal for want of a scope, with all scopes that a client must ask for to have it beside its own. */
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
    throw new UnreadableMessage('one message a request; batches are not taken', false);
  return message;
}

// [choice.tools.scope]
function requireToolScope(credential: Credential, tool: ToolName): void {
  const { scope } = SERVICE_TOOLS[tool];
  try {
    checkScope(credential, scope, 'tool');
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    // With those it has: a client that asks for the missing one alone would lose the others.
    throw new ScopeMissing(error, [...credential.scopes, scope]);
  }
}

/**
 * The checks before any tool, in the order of all endpoints: credential, address, scope. The name of the tool
 * stands in the body, so the body is read in between, and only from a caller with a good token. Throws
 * `PlatformError`, `ScopeMissing`, or `UnreadableMessage`. [service.tools.offered]
 */
export async function admitRequest(sources: CredentialSources, request: Request): Promise<AdmittedRequest> {
  const credential = await resolveToolCredential(sources, request.headersDistinct['authorization']);
  checkAddress(credential, request);
  if (request.method !== 'POST')
    throw new PlatformError('method_not_allowed', { why: 'the address takes POST' });
  const message = await readMessage(request);
  const tool = calledTool(message);
  if (tool !== null) requireToolScope(credential, tool);
  const given = fieldOf(fieldOf(message, 'params'), 'arguments');
  return { credential, message, given, tool, listens: fieldOf(message, 'method') === 'subscriptions/listen' };
}
