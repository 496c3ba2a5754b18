import { createConsoleApp } from '../console-host/console-app.ts';
import { createConsoleDoor } from '../console-host/console-door.ts';
import { startHttpServer } from '../runtime/http-server/http-server.ts';
import { callConnectorAt } from './call-connector.ts';
import { readInteger } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { CONNECTOR_OPTIONS, readConnectorUrl, readToken } from './connector-target.ts';
import { runCommand } from './run-command.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';

const SHUTDOWN_MS = 2_000;
const DEFAULT_PORT = 4030;

const COMMAND = {
  name: 'console',
  summary: COMMANDS.console,
  options: {
    connector: CONNECTOR_OPTIONS.connector,
    port: {
      type: 'string',
      value: 'N',
      description: `listen on this port of 127.0.0.1 (default ${DEFAULT_PORT}); 0 uses a free one`,
    },
    write: {
      type: 'boolean',
      description: 'also forward calls that change something; without it, the console only reads',
    },
    environment: {
      type: 'string',
      value: 'NAME',
      description: 'name of the environment, shown on every screen (default: production)',
    },
    'token-file': CONNECTOR_OPTIONS['token-file'],
    json: {
      type: 'boolean',
      description:
        'print a JSON line when ready, {"url", "connectorUrl", "write"}, and {"url"} for each further URL',
    },
  },
  more: `
The token of the connector stays in this process; the page never has it. Only this machine can open the page, and
only with the printed URL, which admits one browser, once, within 10 minutes. For another browser, open the address
without its token there: the command then prints another URL. All sessions end with the command.
`,
} as const;

await runCommand(COMMAND, async ({ options, env, clock, print, typos }) => {
  const connector = { url: readConnectorUrl(options['connector']), token: readToken(options, env) };
  const port =
    readInteger(options, 'port', '0 or a number up to 65535', (given) => given <= 65_535) ?? DEFAULT_PORT;
  const write = options['write'] === true;
  const environment = String(options['environment'] ?? 'production');
  // A wrong address or token is reported here, and not by every screen.
  await callConnectorAt(connector.url, connector.token)('listChanges', {
    query: { after: 'latest', limit: '1' },
  });
  const serving = {
    level: 'error',
    name: 'console',
    destination: 'stderr',
    typos,
    clock,
    shutdownMs: SHUTDOWN_MS,
  } as const;
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    let ownUrl = '';
    const announce = (url: string): void =>
      print(options['json'] ? `${JSON.stringify({ url })}\n` : `console     ${url}\n`);
    const door = createConsoleDoor({ ownUrl: () => ownUrl, clock, announce });
    const app = createConsoleApp({ ownUrl: () => ownUrl, connector, environment, write, door });
    const starting = startHttpServer({ app, host: '127.0.0.1', port, portSetting: '--port', clock, logger });
    const server = await lifecycle.whenStarted('console', starting, (started) => started.drain());
    ownUrl = server.url;
    const url = door.issueUrl();
    const rights = write ? 'reads and writes' : 'reads only; --write permits changes';
    const lines = [
      `console     ${url}`,
      `            opens one browser within 10 minutes; for another, open ${ownUrl}/ there`,
      `connector   ${connector.url}, ${environment}, ${rights}`,
    ];
    print(
      options['json']
        ? `${JSON.stringify({ url, connectorUrl: connector.url, write })}\n`
        : `${lines.join('\n')}\n`,
    );
  });
});
