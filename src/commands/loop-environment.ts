import type { Environment } from '../runtime/config/read-settings.ts';
import { equalSecrets } from '../runtime/sealing/equal-secrets.ts';
import { callSandboxAt } from './call-sandbox.ts';
import { readLocalSecrets } from './local-secrets.ts';

/**
 * The settings that a running `npm start` generated for its connector: addresses and keys as its sandbox returns them,
 * and the sealing key from its data folder. `secretsFile` must exist; nothing is created.
 * @throws Error if there is no sandbox at this address, no connector is attached to it, or its secrets are others.
 */
export async function readLoopEnvironment(sandboxUrl: string, secretsFile: string): Promise<Environment> {
  const info = await callSandboxAt(sandboxUrl.replace(/\/+$/, ''))('getInfo').catch(() => {
    throw new Error(`there is no sandbox at ${sandboxUrl}. Pass the address that npm start prints.`);
  });
  const { baseUrl, apiKey, connectorUrl, connectorToken, webhookUrl } = info;
  if (connectorUrl === null || connectorToken === null)
    throw new Error(
      `no connector is attached to the sandbox at ${sandboxUrl}. Omit --sandbox to check a connector that runs by itself.`,
    );
  const { connectorToken: expected, sealingKey } = readLocalSecrets(secretsFile);
  if (!equalSecrets(connectorToken, expected))
    throw new Error(`the data of the sandbox at ${sandboxUrl} is not in the folder of ${secretsFile}.`);
  const { hostname, port } = new URL(connectorUrl);
  return {
    SERVICE_BASE_URL: baseUrl,
    SERVICE_API_KEY: apiKey,
    CONNECTOR_API_TOKEN: connectorToken,
    CONNECTOR_HOST: hostname,
    CONNECTOR_PORT: port,
    CONNECTOR_SEALING_KEYS: sealingKey,
    ...(webhookUrl === null ? {} : { WEBHOOK_PUBLIC_URL: webhookUrl }),
  };
}
