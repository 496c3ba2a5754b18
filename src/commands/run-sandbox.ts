import { callPortAt, callSandboxAt } from './call-sandbox.ts';
import { type CommandDefinition, UsageError } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { type CommandStreams, PROCESS_STREAMS, runCommand } from './run-command.ts';
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

function listSubcommands(): string {
  const rows = Object.entries(SUBCOMMANDS).map(
    ([name, { words, summary }]) => [`${name} ${words}`.trimEnd(), summary] as const,
  );
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, summary]) => `  ${left.padEnd(width)}  ${summary}`);
  return `\n${lines.join('\n')}\n\n  <connection> is an id, a phone number or a label. Run a subcommand with --help for its options.\n`;
}

function baseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new UsageError(`--url or SANDBOX_URL must be an address such as ${DEFAULT_URL}, not "${text}".`);
  }
  return new URL(text).origin;
}

/** Runs the subcommand that the words of a command line name, as `runCommand` does. */
export async function runSandbox(
  given: readonly string[],
  streams: CommandStreams = PROCESS_STREAMS,
): Promise<void> {
  // Options may also precede the subcommand.
  const place = given.findIndex((word, index) => !word.startsWith('-') && given[index - 1] !== '--url');
  const name = given[place] ?? '';
  const chosen = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;

  const command: CommandDefinition =
    chosen === undefined
      ? {
          name: 'sandbox',
          words: '[subcommand...]',
          summary: COMMANDS.sandbox,
          options: COMMON,
          more: listSubcommands(),
        }
      : {
          name: `sandbox ${name}`,
          words: chosen.words,
          summary: chosen.summary,
          options: { ...chosen.options, ...COMMON },
        };

  await runCommand(
    command,
    async ({ options, words, env, print }) => {
      if (chosen === undefined) {
        const what = name === '' ? 'A subcommand is missing' : `There is no subcommand "${name}"`;
        throw new UsageError(`${what}.\n${listSubcommands()}`);
      }
      const url = baseUrl(String(options['url'] ?? env['SANDBOX_URL'] ?? DEFAULT_URL));
      const {
        json,
        text,
        failed = false,
      } = await chosen.run({
        call: callSandboxAt(url),
        callPort: callPortAt(url),
        word: (of) => words[of] ?? '',
        optional: (of) => words[of],
        options,
      });
      print(options['json'] ? `${JSON.stringify(json)}\n` : `${text}\n`);
      if (failed) streams.exit(1);
    },
    chosen === undefined ? given : given.toSpliced(place, 1),
    streams,
  );
}
