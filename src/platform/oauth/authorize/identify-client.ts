import type { Queryable } from '../../../runtime/database/database.ts';
import { passed, recognized } from '../../kernel/decision-trace.ts';
import { type App, findApp } from '../apps.ts';
import { PageRefusal } from '../oauth-error.ts';
import type { Parameters } from '../parameters.ts';

/** The client of a request and the redirect URI of its answer. */
export interface Client {
  readonly app: App;
  readonly redirectUri: string;
}

/**
 * Check 1: the client. Check 2: the redirect URI, which must equal a registered one. Throws `PageRefusal`: the user
 * sees a page, and nothing is redirected to an unchecked address.
 */
export async function identifyClient(db: Queryable, parameters: Parameters): Promise<Client> {
  const app = await findApp(db, parameters.get('client_id') ?? '');
  if (app === null) throw new PageRefusal('client', 'No app with this client_id is registered.');
  recognized(app.id);
  passed('client');
  const redirectUri = parameters.get('redirect_uri');
  if (redirectUri === null || !app.redirectUris.includes(redirectUri)) {
    throw new PageRefusal('redirect_uri', 'The redirect_uri is not registered for this app.');
  }
  passed('redirect_uri');
  return { app, redirectUri };
}
