import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';

/** Where the metadata of RFC 8414 stands. [oauth.discovery] [versioning.auth-host] */
export const DISCOVERY_PATH = '/.well-known/oauth-authorization-server';

/** Paths below the issuer. [oauth.paths] */
export const OAUTH_PATHS = ASSUMPTIONS.oauthPaths.value;

/** The one name of this server, the same bytes wherever it appears: no trailing slash. */
export function issuerOf({ auth }: BaseUrls): string {
  return auth.replace(/\/+$/, '');
}

/** What an access token can be for (RFC 8707). */
export interface Resources {
  readonly api: string;
  readonly tools: string;
}

/** The resources by their identifiers. The legacy address is another way to the same one. */
export function resourcesOf(baseUrls: BaseUrls): Resources {
  return { api: baseUrls.api.replace(/\/+$/, ''), tools: `${issuerOf(baseUrls)}/api/mcp` };
}
