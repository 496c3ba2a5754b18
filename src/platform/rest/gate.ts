import type { Request } from 'express';
import type { Queryable } from '../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import { allowsAddress } from '../credentials/address-allowlist.ts';
import type { Credential } from '../credentials/credential.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import { PlatformError } from '../platform-error.ts';
import type { Answer } from './answer.ts';
import type { ApiFault } from './api-faults.ts';
import type { Endpoint } from './endpoint.ts';
import { readJsonBody } from './read-body.ts';

/** A request on its way through the gate. */
export interface Entry {
  readonly request: Request;
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
  readonly faults: readonly ApiFault[];
}

function checkAddress(credential: Credential, request: Request): void {
  if (!allowsAddress(credential.ipAllowlist, request.ip)) throw new PlatformError('ip_not_allowed');
}

function checkScope(credential: Credential, { row }: Endpoint): void {
  if (!credential.scopes.includes(row.scope)) throw new PlatformError('insufficient_scope');
}

function checkWorkspaceKind(credential: Credential, { onlyFor }: Endpoint): void {
  if (onlyFor !== undefined && credential.workspaceKind !== onlyFor) {
    throw new PlatformError('forbidden_portal_kind');
  }
}

/** Query parameters; one given twice has no meaning and is refused. */
function readQuery(request: Request): Record<string, string> {
  const search = request.originalUrl.indexOf('?');
  const given = new URLSearchParams(search === -1 ? '' : request.originalUrl.slice(search));
  const query = Object.fromEntries(given);
  for (const field of Object.keys(query)) {
    if (given.getAll(field).length > 1)
      throw new PlatformError('invalid_request', { field, hint: 'given twice' });
  }
  return query;
}

async function checkShape({ request, endpoint, params }: Entry) {
  const limit = endpoint.bodyLimit ?? ASSUMPTIONS.bodyBytes.value.other;
  const body = endpoint.row.body === undefined ? undefined : await readJsonBody(request, limit);
  return endpoint.prepare({ params, query: readQuery(request), body });
}

/**
 * The ordered checks of every call: credential, address, scope, workspace kind, shape. What follows
 * (connection visible, licence, provider, state, rate) needs the endpoint's objects and is checked by the
 * domain in that order. The first refusal is the answer: nothing after it is looked at, and no body is read
 * for a caller who may not send one. A trace of the checks belongs here.
 */
export async function passGate(db: Queryable, entry: Entry): Promise<() => Promise<Answer>> {
  const { request, endpoint, faults } = entry;
  const credential = await resolveCredential(db, request.headersDistinct['authorization']);
  checkAddress(credential, request);
  checkScope(credential, endpoint);
  checkWorkspaceKind(credential, endpoint);
  const handle = await checkShape(entry);
  return () => handle({ credential, faults });
}
