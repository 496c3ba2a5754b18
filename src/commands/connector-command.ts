import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { findSupervisor, type Supervised } from '../runtime/supervisor/supervised.ts';
import { COMMANDS } from './commands.ts';
import { connectorOptions } from './connector-options.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { readProcesses, superviseConnector } from './supervise-connector.ts';

const COMMAND = {
  name: 'connector',
  summary: COMMANDS.connector,
  options: {
    json: { type: 'boolean', description: 'print one JSON line, {"connectorUrl"}, when ready' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'folder for the data of the embedded Postgres (default .data)',
    },
    processes: {
      type: 'string',
      value: 'N',
      description:
        'run N processes on one port; SIGHUP replaces them one by one, and a crashed process is replaced',
    },
  },
} as const;

await runCommand(COMMAND, async (context) => {
  const supervised = findSupervisor();
  try {
    await runProcess(context, supervised);
  } catch (error) {
    // Its log explains why it stops a roll-out.
    if (error instanceof ConfigurationError) await supervised?.cannotServe(describeProblems(error));
    throw error;
  }
});

function describeProblems({ problems }: ConfigurationError): string {
  return problems.map(({ setting, problem }) => `${setting} ${problem}`).join(' ');
}

async function runProcess(context: CommandContext, supervised: Supervised | undefined): Promise<void> {
  const { options, env, warnOfTypo } = context;
  const processes = readProcesses(options);
  // The supervisor has already reported it.
  const settings = connectorOptions(env, supervised === undefined ? warnOfTypo : () => undefined);
  if (processes !== undefined && supervised === undefined) {
    await superviseConnector(context, settings, processes);
    return;
  }
  // Imported only here: a supervisor serves nothing and does not need the server code.
  const { serveConnector } = await import('./serve-connector.ts');
  await serveConnector(context, settings, supervised);
}
