import type { Queryable } from '../../../runtime/database/database.ts';
import { passed, recognized } from '../../kernel/decision-trace.ts';
import { type App, findApp } from '../apps.ts';
import { PageRefusal } from '../oauth-error.ts';
import type { Parameters } from '../parameters.ts';

/** Whom a request came from and where its answer goes. */
export interface Client {
  readonly app: App;
  readonly redirectUri: string;
}

/**
 * Check 1: the client. Check 2: the address to return to, the same characters as registered. Throws
 * `PageRefusal`: whoever asks is told on a page of ours, and nothing leaves for an unchecked address.
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
