import type { Queryable } from '../../../runtime/database/database.ts';
import type { Answer } from '../../calls/answer.ts';
import { passed } from '../../kernel/decision-trace.ts';
import type { ChangeState } from '../../time/state-change.ts';
import type { App } from '../apps.ts';
import { codeAnswer, type Return, returnedRefusal } from '../oauth-answer.ts';
import { OauthError } from '../oauth-error.ts';
import { readParameters } from '../parameters.ts';
import { type PortalSession, type PortalSessions, readOwned } from '../portal-session.ts';
import { type Consent, giveConsent, readGrantable } from './give-consent.ts';
import { type Client, identifyClient } from './identify-client.ts';
import { type AuthorizationRequest, readRequest } from './read-request.ts';

/** A checked request that needs consent on a page. */
export interface OpenRequest {
  readonly client: Client;
  readonly request: AuthorizationRequest;
  readonly session: PortalSession | null;
}

export interface AuthorizeContext {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly portal: PortalSessions;
  /** Identifiers of all resources. */
  resources(): readonly string[];
  issuer(): string;
  /** Opens a consent and shows its page. */
  ask(open: OpenRequest): Promise<Answer>;
}

/**
 * Approves automatically if the developer of the app is signed in and owns exactly one standalone workspace with at
 * least one of the requested connections. Null if consent on a page is needed. [oauth.consent.automatic]
 * [choice.oauth.developer]
 */
async function approveAutomatically(
  db: Queryable,
  { ownerWorkspaceId }: App,
  request: AuthorizationRequest,
  session: PortalSession | null,
): Promise<Consent | null> {
  const owned = await readOwned(db, session);
  const [standalone, second] = owned.filter(({ kind }) => kind === 'standalone');
  if (standalone === undefined || second !== undefined || standalone.id !== ownerWorkspaceId) return null;
  const connections = await readGrantable(db, standalone.id, request);
  if (connections.length === 0) return null;
  return {
    workspaceId: standalone.id,
    scopes: request.scopes,
    connectionIds: connections.map(({ id }) => id),
  };
}

/**
 * The authorization endpoint (RFC 6749, 4.1.1): checks the client, checks the request, obtains the consent. Throws
 * `PageRefusal` if the answer must not be a redirect; every other refusal is redirected to the client.
 */
export async function authorize(context: AuthorizeContext, query: string): Promise<Answer> {
  const { database, changeState, portal } = context;
  const parameters = readParameters(query);
  const client = await identifyClient(database, parameters);
  const { redirectUri, app } = client;
  const back: Return = { redirectUri, state: parameters.get('state'), issuer: context.issuer() };
  try {
    const request = readRequest(parameters, client, context.resources());
    const session = portal.find(app);
    const consent = await approveAutomatically(database, app, request, session);
    if (consent === null) return await context.ask({ client, request, session });
    const code = await changeState((change) => giveConsent(change, request, consent));
    passed('consent', 'its developer owns one workspace, with connections');
    return codeAnswer(back, code);
  } catch (error) {
    if (error instanceof OauthError) return returnedRefusal(back, error);
    throw error;
  }
}
