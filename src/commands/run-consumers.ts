import { callConnectorAt } from './call-connector.ts';
import { CONNECTOR_OPTIONS, readConnectorUrl, readToken } from './connector-target.ts';
import { CONSUMER_SUBCOMMANDS } from './consumer-subcommands.ts';
import type { CommandStreams } from './run-command.ts';
import { runSubcommand } from './run-subcommand.ts';

const COMMON = {
  ...CONNECTOR_OPTIONS,
  json: { type: 'boolean', description: 'print the response of the connector as one JSON line' },
} as const;

/** Runs the subcommand that the words of a command line name, as `runCommand` does. */
export async function runConsumers(given: readonly string[], streams?: CommandStreams): Promise<void> {
  await runSubcommand(
    {
      name: 'consumers',
      common: COMMON,
      subcommands: CONSUMER_SUBCOMMANDS,
      more: '<from> is now, beginning, the number of a change, or a time such as 2026-01-31T12:00:00Z.',
      open: (options, env) => {
        const call = callConnectorAt(readConnectorUrl(options['connector']), readToken(options, env));
        return { call: (name, request) => call(name, request).catch(nameOption) };
      },
    },
    given,
    streams,
  );
}

/** Only of this field does the option have another name: a file contains its value. */
function nameOption(error: Error): never {
  throw new Error(error.message.replace(/^(\w+): redisUrl:/, '$1: --redis-url-file:'));
}
