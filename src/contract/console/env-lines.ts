import type { SandboxInfo } from '../sandbox/info.ts';

/** What an application needs to call the service and, if one is attached, the connector: lines of its `.env`. */
export function envLines(
  info: Pick<SandboxInfo, 'baseUrl' | 'apiKey' | 'connectorUrl' | 'connectorToken'>,
): string[] {
  const { baseUrl, apiKey, connectorUrl, connectorToken } = info;
  return [
    `SERVICE_BASE_URL=${baseUrl}`,
    `SERVICE_API_KEY=${apiKey}`,
    ...(connectorUrl === null ? [] : [`CONNECTOR_URL=${connectorUrl}`]),
    ...(connectorToken === null ? [] : [`CONNECTOR_API_TOKEN=${connectorToken}`]),
  ];
}
