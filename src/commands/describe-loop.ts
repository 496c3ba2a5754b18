import { styleText } from 'node:util';
import { foreseeProblem } from '../console-host/build-page.ts';
import { envLines } from '../contract/console/env-lines.ts';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import { invoke } from './invocation.ts';
import type { LocalSecrets } from './local-secrets.ts';

/** The lines of a start with coloured labels, if standard output is a terminal and `NO_COLOR` is not set. */
export function colour(text: string): string {
  return text.replace(/^\w[\w -]{0,10}(?= {2})/gm, (label) =>
    styleText(label.trim() === 'ready' ? 'green' : 'dim', label, { stream: process.stdout }),
  );
}

/** The addresses and the API key of the service, one per line. */
export function describeService(info: SandboxInfo): string {
  return `console     ${info.sandboxUrl}/
service     ${info.baseUrl}
legacy      ${info.legacyBaseUrl}
tools       ${info.mcpUrl}
sandbox     ${info.sandboxUrl}/sandbox/v1
${info.connectorUrl === null ? '' : `connector   ${info.connectorUrl}\n`}API key     ${info.apiKey}
`;
}

/**
 * The last output of `npm start`: addresses, and what an application needs to call them, to be pasted into
 * its `.env`.
 */
export function describeLoop(info: SandboxInfo, problem = foreseeProblem()): string {
  return `
${describeService(info)}
# .env of an application that calls them
${envLines(info).join('\n')}

next        ${problem === null ? `open ${info.sandboxUrl}/ and follow the first steps` : `no console: ${problem}`}
`;
}

/** The public host of a connector that is started by hand. It is unreachable until a tunnel is opened. */
const OWN_HOST = 'my-connector.example.com';

/** The last output of `npm run platform`: addresses, and everything that a separate connector needs. */
export function describePlatform(
  info: SandboxInfo,
  secrets: LocalSecrets,
  { port, dataDir }: { readonly port: number; readonly dataDir: string },
): string {
  const tunnel = `${info.sandboxUrl}/sandbox/v1/hosts/${OWN_HOST}`;
  return `
${describeService(info)}
# .env of a connector of your own
SERVICE_BASE_URL=${info.baseUrl}
SERVICE_API_KEY=${info.apiKey}
WEBHOOK_PUBLIC_URL=https://${OWN_HOST}/webhooks/messaging
CONNECTOR_PORT=${port}
CONNECTOR_API_TOKEN=${secrets.connectorToken}
CONNECTOR_SEALING_KEYS=${secrets.sealingKey}

# Its tunnel, then the connector itself
curl -s -X PUT ${tunnel} -H 'content-type: application/json' -d '{"target":"http://127.0.0.1:${port}"}'
${invoke('connector', `--data-dir ${dataDir}`)}
`;
}

/** Printed after each reset. */
export function describeReset({ apiKey }: SandboxInfo): string {
  return `reset       API key ${apiKey}\n`;
}
