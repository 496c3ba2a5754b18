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
      description: 'where a Postgres of its own keeps its data (default .data)',
    },
    processes: {
      type: 'string',
      value: 'N',
      description:
        'run N processes on the one port; SIGHUP replaces them one by one, a crashed one is replaced',
    },
  },
} as const;

await runCommand(COMMAND, async (context) => {
  const supervised = findSupervisor();
  try {
    await runProcess(context, supervised);
  } catch (error) {
    // Its log says why it stops a roll-out.
    if (error instanceof ConfigurationError) await supervised?.cannotServe(tell(error));
    throw error;
  }
});

function tell({ problems }: ConfigurationError): string {
  return problems.map(({ setting, problem }) => `${setting} ${problem}`).join(' ');
}

async function runProcess(context: CommandContext, supervised: Supervised | undefined): Promise<void> {
  const { options, env, warnOfTypo } = context;
  const processes = readProcesses(options['processes']);
  // The supervisor has told it already.
  const settings = connectorOptions(env, supervised === undefined ? warnOfTypo : () => undefined);
  if (processes !== undefined && supervised === undefined) {
    await superviseConnector(context, settings, processes);
    return;
  }
  // Only here: a supervisor serves nothing, and has no use for what it takes to serve.
  const { serveConnector } = await import('./serve-connector.ts');
  await serveConnector(context, settings, supervised);
}
