import type { Queryable } from '../../../runtime/database/database.ts';
import { type App, findApp } from '../apps.ts';
import type { Parameters } from '../parameters.ts';

/** Whom a request came from and where its answer goes. */
export interface Client {
  readonly app: App;
  readonly redirectUri: string;
}

/** A request that must not be answered by a redirect: nobody knows where to. */
export class UnknownClient extends Error {
  override readonly name = 'UnknownClient';
}

/**
 * Check 1: the client. Check 2: the address to return to, the same characters as registered. Throws
 * `UnknownClient`: whoever asks is told on a page of ours, and nothing leaves for an unchecked address.
 */
export async function identifyClient(db: Queryable, parameters: Parameters): Promise<Client> {
  const app = await findApp(db, parameters.get('client_id') ?? '');
  if (app === null) throw new UnknownClient('No app with this client_id is registered.');
  const redirectUri = parameters.get('redirect_uri');
  if (redirectUri === null || !app.redirectUris.includes(redirectUri)) {
    throw new UnknownClient('The redirect_uri is not one that the app has registered.');
  }
  return { app, redirectUri };
}
