import { callPortAt, callSandboxAt } from './call-sandbox.ts';
import { UsageError } from './command-line.ts';
import type { CommandStreams } from './run-command.ts';
import { runSubcommand } from './run-subcommand.ts';
import { SUBCOMMANDS } from './sandbox-subcommands.ts';

const DEFAULT_URL = 'http://127.0.0.1:4000';

const COMMON = {
  json: { type: 'boolean', description: 'print the response of the control API as one JSON line' },
  url: {
    type: 'string',
    value: 'URL',
    description: `address of the sandbox (default: SANDBOX_URL, or ${DEFAULT_URL})`,
  },
} as const;

/** The address of a sandbox. @throws UsageError */
export function originOf(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new UsageError(`--url or SANDBOX_URL must be an address such as ${DEFAULT_URL}, not "${text}".`);
  }
  return new URL(text).origin;
}

/** Runs the subcommand that the words of a command line name, as `runCommand` does. */
export async function runSandbox(given: readonly string[], streams?: CommandStreams): Promise<void> {
  await runSubcommand(
    {
      name: 'sandbox',
      common: COMMON,
      subcommands: SUBCOMMANDS,
      more: '<connection> is an id, a phone number or a label.',
      open(options, env) {
        const url = originOf(String(options['url'] ?? (env['SANDBOX_URL'] || DEFAULT_URL)));
        return { call: callSandboxAt(url), callPort: callPortAt(url) };
      },
    },
    given,
    streams,
  );
}
