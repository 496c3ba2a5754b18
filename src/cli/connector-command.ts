import { findSupervisor } from '../runtime/supervisor/supervised.ts';
import { COMMANDS } from './commands.ts';
import { connectorOptions } from './connector-options.ts';
import { runCommand } from './run-command.ts';
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
  const { options, env, warnOfTypo } = context;
  const processes = readProcesses(options['processes']);
  const supervised = findSupervisor();
  // The supervisor has told it already.
  const settings = connectorOptions(env, supervised === undefined ? warnOfTypo : () => undefined);
  if (processes !== undefined && supervised === undefined) {
    await superviseConnector(context, settings, processes);
    return;
  }
  // Only here: a supervisor serves nothing, and has no use for what it takes to serve.
  const { serveConnector } = await import('./serve-connector.ts');
  await serveConnector(context, settings, supervised);
});
