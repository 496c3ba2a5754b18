import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { issuerOf, resourcesOf } from '../oauth/addresses.ts';

/** Path of the tool server below `{auth_url}`. [versioning.auth-host] */
export const TOOLS_PATH = '/api/mcp';

/** Paths of the metadata of RFC 9728: that of the tool server, and that for clients that know only the host. */
export const RESOURCE_METADATA_PATHS = [
  `/.well-known/oauth-protected-resource${TOOLS_PATH}`,
  '/.well-known/oauth-protected-resource',
] as const;

/** The address of the metadata, for challenges. */
export function resourceMetadataUrl(baseUrls: BaseUrls): string {
  return issuerOf(baseUrls) + RESOURCE_METADATA_PATHS[0];
}

/** Metadata of the tool server as a protected resource (RFC 9728): its authorization server and its scopes. */
export function describeResource(baseUrls: BaseUrls): object {
  return {
    resource: resourcesOf(baseUrls).tools,
    authorization_servers: [issuerOf(baseUrls)],
    scopes_supported: ASSUMPTIONS.toolScopes.value,
    bearer_methods_supported: ['header'],
    resource_name: 'Messaging tools',
  };
}
