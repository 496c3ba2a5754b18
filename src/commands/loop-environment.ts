import { sandboxInfo } from '../contract/sandbox/info.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { readLocalSecrets } from './local-secrets.ts';

const DEADLINE_MS = 5_000;

/**
 * The settings that a running `npm start` made for its connector: addresses and keys as its sandbox tells them,
 * and the sealing key from its data folder. `secretsFile` must be there: nothing is made.
 * @throws Error when there is no sandbox at this address, or it has no connector attached.
 */
export async function readLoopEnvironment(sandboxUrl: string, secretsFile: string): Promise<Environment> {
  const url = `${sandboxUrl.replace(/\/+$/, '')}/sandbox/v1/info`;
  const info = sandboxInfo.safeParse(await ask(url)).data;
  if (info === undefined) throw new Error(`no sandbox answers at ${url}`);
  const { baseUrl, apiKey, connectorUrl, connectorToken, webhookUrl } = info;
  if (connectorUrl === null || connectorToken === null)
    throw new Error(`the sandbox at ${sandboxUrl} has no connector attached`);
  const { hostname, port } = new URL(connectorUrl);
  return {
    SERVICE_BASE_URL: baseUrl,
    SERVICE_API_KEY: apiKey,
    CONNECTOR_API_TOKEN: connectorToken,
    CONNECTOR_HOST: hostname,
    CONNECTOR_PORT: port,
    CONNECTOR_SEALING_KEYS: readLocalSecrets(secretsFile).sealingKey,
    ...(webhookUrl === null ? {} : { WEBHOOK_PUBLIC_URL: webhookUrl }),
  };
}

async function ask(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) });
    return await response.json();
  } catch {
    return undefined;
  }
}
