import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { issuerOf, resourcesOf } from '../oauth/addresses.ts';

/** Path of the tool server below `{auth_url}`. [versioning.auth-host] */
export const TOOLS_PATH = '/api/mcp';

/** Where the metadata of RFC 9728 stands: for the tool server, and where clients look that know the host alone. */
export const RESOURCE_METADATA_PATHS = [
  `/.well-known/oauth-protected-resource${TOOLS_PATH}`,
  '/.well-known/oauth-protected-resource',
] as const;

/** The address of the metadata, for challenges. */
export function resourceMetadataUrl(baseUrls: BaseUrls): string {
  return issuerOf(baseUrls) + RESOURCE_METADATA_PATHS[0];
}

/** What the tool server says of itself as a protected resource (RFC 9728): who issues its tokens, for which scopes. */
export function describeResource(baseUrls: BaseUrls): object {
  return {
    resource: resourcesOf(baseUrls).tools,
    authorization_servers: [issuerOf(baseUrls)],
    scopes_supported: ASSUMPTIONS.toolScopes.value,
    bearer_methods_supported: ['header'],
    resource_name: 'Messaging tools',
  };
}
