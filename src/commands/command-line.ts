import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
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
  /** The program that runs it where its package is installed; default: `messaging-connector` and its name. */
  readonly program?: string;
  readonly summary: string;
  /**
   * Its arguments besides the options: `<required>`, then `[optional]`. The last one may be `<all...>`, which receives
   * the rest of the line. Absent if it has none.
   */
  readonly words?: string;
  readonly options: Readonly<Record<string, OptionDefinition>>;
  /** The end of the help text. */
  readonly more?: string;
}

/** The options given on the command line, by their long names. */
export type CommandOptions = Readonly<Record<string, string | boolean | undefined>>;

/** What was given on a command line. */
export interface GivenLine {
  readonly options: CommandOptions;
  /** The words, by the names that they have in `words` of the definition. */
  readonly words: Readonly<Record<string, string | undefined>>;
}

/** An invalid command line; `message` names the invalid word. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const COMMON: Readonly<Record<string, OptionDefinition>> = {
  help: { type: 'boolean', description: 'print this help and exit' },
  version: { type: 'boolean', description: 'print the version and exit' },
};

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
  const summary = `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}`;
  return [`Usage: ${usageOf(command)}`, '', summary, '', ...lines, command.more ?? ''].join('\n');
}

/** How the command is called. */
function usageOf({ name, program, words = '' }: CommandDefinition): string {
  const [word = '', ...more] = name.split(' ');
  return invoke(word, [...more, words, '[options]'].filter((part) => part !== '').join(' '), program);
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
 * @returns what was given; `null` if `--help` or `--version` was printed.
 * @throws UsageError for an unknown option, an option without its value, and a missing or unexpected word.
 */
export function readCommandLine(
  command: CommandDefinition,
  words: readonly string[],
  print: (text: string) => void,
  env: Environment = process.env,
): GivenLine | null {
  refuseSwallowed(command, words, env);
  const options = Object.fromEntries(
    Object.entries({ ...command.options, ...COMMON }).map(([name, { type }]) => [name, { type }]),
  );
  let parsed: { values: CommandOptions; positionals: string[] };
  try {
    const allowPositionals = command.words !== undefined;
    parsed = parseArgs({ args: [...words], options, strict: true, allowPositionals }) as typeof parsed;
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('. ');
    throw new UsageError(`${reason.replaceAll('\n', ' ').replace(/\.$/, '')}. See --help.`);
  }
  const { values, positionals } = parsed;
  if (values['help']) print(helpText(command));
  else if (values['version']) print(`${packageVersion()}\n`);
  else return { options: values, words: nameWords(command, positionals) };
  return null;
}

/** Names the words of a command line as its usage does. */
function nameWords(command: CommandDefinition, given: readonly string[]): GivenLine['words'] {
  const named: Record<string, string> = {};
  const left = [...given];
  for (const [usage, bracket, key = '', rest] of (command.words ?? '').matchAll(
    /([<[])(\w+)(\.\.\.)?[>\]]/g,
  )) {
    const value = rest === undefined ? left.shift() : left.splice(0).join(' ');
    if (value !== undefined && value !== '') named[key] = value;
    else if (bracket === '<') throw new UsageError(`${usage} is missing: ${usageOf(command)}`);
  }
  if (left.length > 0) throw new UsageError(`"${left[0]}" is an unexpected argument. See --help.`);
  return named;
}

/** Fails now for a file that cannot be written, instead of after the run. Leaves no empty file. @throws UsageError */
export function demandWritable(...paths: readonly (string | boolean | undefined)[]): void {
  for (const path of paths) {
    if (typeof path !== 'string') continue;
    try {
      const isNew = !existsSync(path);
      closeSync(openSync(path, 'a'));
      if (isNew) rmSync(path);
    } catch (error) {
      throw new UsageError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
    }
  }
}

/** The text of the file that an option names. @throws UsageError */
export function readGivenFile(path: string, option: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${option} cannot be read: ${(error as Error).message}`);
  }
}

/** The whole number of an option, undefined without it. `allowed` completes "must be …". @throws UsageError */
export function readInteger(
  options: CommandOptions,
  name: string,
  allowed: string,
  accepts: (given: number) => boolean = () => true,
): number | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  const given = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (given >= 0 && accepts(given)) return given;
  throw new UsageError(`--${name} must be ${allowed}, not "${String(value)}".`);
}

/** A port base: with `N`, the servers listen on N, N+10, N+11 and N+20; with 0, on free ports. */
export function readPortBase(options: CommandOptions): number | undefined {
  const isBase = (base: number): boolean => base === 0 || (base >= 1024 && base <= 65_515);
  return readInteger(options, 'port-base', '0 or a number from 1024 to 65515', isBase);
}
