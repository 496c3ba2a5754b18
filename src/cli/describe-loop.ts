import type { SandboxInfo } from '../contract/sandbox/info.ts';
import { invoke } from './invocation.ts';
import type { LocalSecrets } from './local-secrets.ts';

/** Where the service is reached, and by which key: a line for each. */
export function describeService(info: SandboxInfo): string {
  return `service     ${info.baseUrl}
legacy      ${info.legacyBaseUrl}
tools       ${info.mcpUrl}
sandbox     ${info.sandboxUrl}/sandbox/v1
${info.connectorUrl === null ? '' : `connector   ${info.connectorUrl}\n`}API key     ${info.apiKey}
`;
}

/** What `npm start` prints last: addresses, the key, and a block that can be pasted into `.env`. */
export function describeLoop(info: SandboxInfo, secrets: LocalSecrets): string {
  return `
${describeService(info)}
# .env for a connector of your own (${invoke('connector')})
SERVICE_BASE_URL=${info.baseUrl}
SERVICE_API_KEY=${info.apiKey}
CONNECTOR_API_TOKEN=${secrets.connectorToken}
CONNECTOR_SEALING_KEYS=${secrets.sealingKey}
`;
}
