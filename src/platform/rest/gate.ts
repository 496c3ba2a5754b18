import type { Request } from 'express';
import type { Answer } from '../calls/answer.ts';
import { checkAddress, checkScope } from '../calls/check-caller.ts';
import { readJsonBody } from '../calls/read-body.ts';
import type { Credential } from '../credentials/credential.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Endpoint } from './endpoint.ts';

/** A request to be checked. */
export interface Entry {
  readonly request: Request;
  readonly endpoint: Endpoint;
}

function checkWorkspaceKind({ workspaceKind }: Credential, { onlyFor }: Endpoint): void {
  if (onlyFor === undefined) return;
  // [connections.create.standalone-only] [errors.forbidden_portal_kind]
  if (workspaceKind !== onlyFor) {
    const why = `the workspace is of kind ${workspaceKind}, only ${onlyFor} may do this`;
    throw new PlatformError('forbidden_portal_kind', { why });
  }
  passed('workspace_kind');
}

/** The query parameters that the endpoint knows. Throws `invalid_request` for a repeated one. */
function readQuery(request: Request, known: readonly string[]): Record<string, string> {
  const search = request.originalUrl.indexOf('?');
  const given = new URLSearchParams(search === -1 ? '' : request.originalUrl.slice(search));
  const query: Record<string, string> = {};
  for (const field of known) {
    const [value, second] = given.getAll(field);
    if (second !== undefined) throw new PlatformError('invalid_request', { field, hint: 'given twice' });
    if (value !== undefined) query[field] = value;
  }
  return query;
}

async function checkShape({ request, endpoint }: Entry) {
  const { row, readsOwnBody = false } = endpoint;
  const hasBody = row.body !== undefined && !readsOwnBody;
  const body = hasBody ? await readJsonBody(request, ASSUMPTIONS.bodyBytes.value.other) : undefined;
  const query = readQuery(request, Object.keys(row.query?.shape ?? {}));
  const handle = await endpoint.prepare({ params: request.params, query, body, request });
  passed('shape');
  return handle;
}

/**
 * The ordered checks of every call: credential, address, scope, workspace kind, shape. What follows
 * (connection visible, license, provider, state, rate) needs the endpoint's objects and is checked by the domain in
 * that order. The first refusal is the answer: later checks do not run, and the body of an unauthorized caller is not
 * read. Each check is recorded in the trace of the call. Returns the answer of the endpoint.
 * [choice.order]
 */
export async function passGate(sources: CredentialSources, entry: Entry): Promise<Answer> {
  const { request, endpoint } = entry;
  const credential = await resolveCredential(sources, request.headersDistinct['authorization']);
  checkAddress(credential, request);
  checkScope(credential, endpoint.row.scope, 'endpoint');
  checkWorkspaceKind(credential, endpoint);
  const handle = await checkShape(entry);
  return handle(credential);
}
