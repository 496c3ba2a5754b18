import { styleText } from 'node:util';
import { z } from 'zod';
import { foreseeProblem } from '../console-host/build-page.ts';
import { envLines } from '../contract/console/env-lines.ts';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import { account } from '../contract/service/account.ts';
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

const DEADLINE_MS = 10_000;
const listed = z.object({ connections: z.array(z.object({ provider: z.string(), status: z.string() })) });

/** The call that resets a sandbox to its initial state. */
function resetCall({ sandboxUrl }: SandboxInfo): string {
  return `curl -X POST ${sandboxUrl}/sandbox/v1/reset -H 'content-type: application/json' -d '{}'`;
}

/**
 * Why no number of the sandbox can receive a message by webhook, and what to do; null if one can. The
 * service's list hides numbers without a license, but its account counts them.
 */
export async function explainNumbers(info: SandboxInfo): Promise<string | null> {
  const ask = async (path: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${info.apiKey}` };
    const signal = AbortSignal.timeout(DEADLINE_MS);
    return (await fetch(`${info.baseUrl}${path}`, { headers, signal })).json();
  };
  const { connections: licensed } = listed.parse(await ask('/connections'));
  const qr = licensed.filter(({ provider }) => provider === 'qr');
  if (qr.some(({ status }) => status === 'open')) return null;
  const { total, connected } = account.parse(await ask('/account')).connections;
  const why =
    total === 0
      ? 'all were deleted'
      : qr.length > 0
        ? 'those with a QR session must be paired again'
        : connected > licensed.length
          ? 'their licenses have expired'
          : 'none has a QR session';
  return `none can receive a message: ${why}. To start over: ${resetCall(info)}`;
}
