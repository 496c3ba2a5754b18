import type { Environment } from '../runtime/config/read-settings.ts';
import { findNearest } from '../runtime/config/similar-names.ts';
import { type CommandDefinition, type CommandOptions, UsageError } from './command-line.ts';
import { COMMANDS, type CommandName } from './commands.ts';
import { type CommandStreams, PROCESS_STREAMS, runCommand } from './run-command.ts';
import type { Subcommand } from './subcommand.ts';

/** A command that consists of subcommands. */
export interface SubcommandFamily<Target> {
  readonly name: CommandName;
  readonly common: CommandDefinition['options'];
  readonly subcommands: Readonly<Record<string, Subcommand<Target>>>;
  /** The end of the help text, after the list of subcommands. */
  readonly more: string;
  /** What the subcommands call. @throws UsageError */
  readonly open: (options: CommandOptions, env: Environment) => Target;
}

/** Runs the subcommand that the words of a command line name, as `runCommand` does. `--json` prints its JSON. */
export async function runSubcommand<Target>(
  family: SubcommandFamily<Target>,
  given: readonly string[],
  streams: CommandStreams = PROCESS_STREAMS,
): Promise<void> {
  const { common, subcommands } = family;
  // Options may also precede the subcommand.
  const takesValue = (word = ''): boolean => common[word.slice(2)]?.type === 'string';
  const place = given.findIndex((word, index) => !word.startsWith('-') && !takesValue(given[index - 1]));
  const name = given[place] ?? '';
  const chosen = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  const list = listSubcommands(family);

  const command: CommandDefinition =
    chosen === undefined
      ? {
          name: family.name,
          words: '[subcommand...]',
          summary: COMMANDS[family.name],
          options: common,
          more: list,
        }
      : {
          name: `${family.name} ${name}`,
          words: chosen.words,
          summary: chosen.summary,
          options: { ...chosen.options, ...common },
        };

  await runCommand(
    command,
    async ({ options, words, env, print }) => {
      if (chosen === undefined) {
        if (name === '') throw new UsageError(`A subcommand is missing.\n${list}`);
        const nearest = findNearest(name, Object.keys(subcommands), 2);
        const hint = nearest === undefined ? `\n${list}` : ` Did you mean "${nearest}"? See --help.`;
        throw new UsageError(`There is no subcommand "${name}".${hint}`);
      }
      const { json, text, failed } = await chosen.run({
        ...family.open(options, env),
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

function listSubcommands<Target>({ subcommands, more }: SubcommandFamily<Target>): string {
  const rows = Object.entries(subcommands).map(
    ([name, { words, summary }]) => [`${name} ${words}`.trimEnd(), summary] as const,
  );
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, summary]) => `  ${left.padEnd(width)}  ${summary}`);
  return `\n${lines.join('\n')}\n\n  ${more} Run a subcommand with --help for its options.\n`;
}
