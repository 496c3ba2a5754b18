import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Environment } from '../runtime/config/read-settings.ts';
import { invoke, RUNS_SOURCES } from './invocation.ts';

/** An option of a command: `--name` or `--name VALUE`. */
interface OptionDefinition {
  readonly type: 'boolean' | 'string';
  /** The placeholder for the value in the help text. */
  readonly value?: string;
  readonly description: string;
}

/** Name, summary and options of a command. */
export interface CommandDefinition {
  /** Its name, as in `COMMANDS`, and the words that always follow it. */
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, OptionDefinition>>;
}

/** The options given on the command line, by their long names. */
export type CommandOptions = Readonly<Record<string, string | boolean | undefined>>;

/** An invalid command line; `message` names the invalid word. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const COMMON: Readonly<Record<string, OptionDefinition>> = {
  help: { type: 'boolean', description: 'print this help and exit' },
  version: { type: 'boolean', description: 'print the version and exit' },
};

/** The version of this package. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}

/** The text that `--help` prints. */
export function helpText(command: CommandDefinition): string {
  const rows = Object.entries({ ...command.options, ...COMMON }).map(
    ([name, option]) => [`--${name}${option.value ? ` ${option.value}` : ''}`, option.description] as const,
  );
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
  const [word = '', ...words] = command.name.split(' ');
  const usage = invoke(word, [...words, '[options]'].join(' '));
  return [`${usage}: ${command.summary}`, '', ...lines, ''].join('\n');
}

/**
 * `npm start --port-base 4200`: npm treats an option without a preceding `--` as its own, passes on the rest,
 * and prints nothing. The option leaves a trace in the environment.
 * @throws UsageError with the command line that works.
 */
function refuseSwallowed(command: CommandDefinition, words: readonly string[], env: Environment): void {
  if (!RUNS_SOURCES) return;
  const traced = (name: string): string | undefined => env[`npm_config_${name.replaceAll('-', '_')}`];
  const swallowed = Object.entries(command.options).filter(
    // Options without a dash, such as json, also exist in npm.
    ([name]) => name.includes('-') && traced(name) !== undefined && !words.includes(`--${name}`),
  );
  if (swallowed.length === 0) return;
  const values = [...words];
  const line = swallowed.map(([name, { type }]) => {
    const value = traced(name) === 'true' && type === 'string' ? (values.shift() ?? 'VALUE') : traced(name);
    return type === 'boolean' ? `--${name}` : `--${name} ${value}`;
  });
  const names = swallowed.map(([name]) => `--${name}`).join(', ');
  throw new UsageError(
    `npm treated ${names} as its own option. Put -- before it: ${invoke(command.name, line.join(' '))}`,
  );
}

/**
 * Parses the command line.
 * @returns the options given; `null` if `--help` or `--version` was printed.
 * @throws UsageError for an unknown word, or an option without its value.
 */
export function readCommandLine(
  command: CommandDefinition,
  words: readonly string[],
  print: (text: string) => void,
  env: Environment = process.env,
): CommandOptions | null {
  refuseSwallowed(command, words, env);
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...COMMON }).map(([name, { type }]) => [name, { type }]),
  );
  let values: Record<string, string | boolean | undefined>;
  try {
    values = parseArgs({ args: [...words], options, strict: true, allowPositionals: false })
      .values as typeof values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. See --help.`);
  }
  if (values['help']) print(helpText(command));
  else if (values['version']) print(`${packageVersion()}\n`);
  else return values;
  return null;
}

/** A port base: with `N`, the servers listen on N, N+10, N+11 and N+20; with 0, on free ports. */
export function readPortBase(value: string | boolean | undefined): number | undefined {
  if (value === undefined) return undefined;
  const base = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (base === 0 || (base >= 1024 && base <= 65_515)) return base;
  throw new UsageError(`--port-base must be 0 or a number from 1024 to 65515, not "${String(value)}".`);
}
