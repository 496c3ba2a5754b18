import type { Clock } from '../runtime/clock/clock.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { readEnvironment } from '../runtime/config/read-environment.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { describeTypo, type NearName } from '../runtime/config/similar-names.ts';
import { type CommandDefinition, type GivenLine, readCommandLine, UsageError } from './command-line.ts';

/** The context that every command gets. */
export interface CommandContext extends GivenLine {
  readonly env: Environment;
  readonly clock: Clock;
  /** Writes to standard output. */
  print(text: string): void;
  /** Records a variable whose name resembles a setting. */
  warnOfTypo(found: string, meant: string): void;
  /**
   * The variables recorded and not reported yet. A command that serves logs them; the rest is printed on
   * standard error at the end.
   */
  readonly typos: NearName[];
}

/** Where a command writes, and how it ends. */
export interface CommandStreams {
  /** Writes to standard output. */
  print(text: string): void;
  /** Writes to standard error. */
  printError(text: string): void;
  /** Called once, at the end of a command that failed. */
  exit(code: number): void;
}

/** Those of this process. */
export const PROCESS_STREAMS: CommandStreams = {
  print: (text) => void process.stdout.write(text),
  printError: (text) => void process.stderr.write(text),
  exit: (code) => process.exit(code),
};

/**
 * Runs a command. An error that stops it is printed on standard error in one paragraph, so that the log of a
 * server contains only JSON. The exit code is 2 for an invalid command line or setting, and 1 for everything
 * else.
 */
export async function runCommand(
  command: CommandDefinition,
  main: (context: CommandContext) => Promise<void>,
  argv: readonly string[] = process.argv.slice(2),
  { print, printError, exit }: CommandStreams = PROCESS_STREAMS,
): Promise<void> {
  const typos: NearName[] = [];
  const warnAboutTypos = (): void => {
    for (const typo of typos.splice(0)) printError(`${describeTypo(typo)}\n`);
  };
  try {
    const given = readCommandLine(command, argv, print);
    if (given === null) return;
    await main({
      ...given,
      env: readEnvironment(process.cwd(), process.env),
      clock: systemClock,
      print,
      warnOfTypo: (found, meant) => void typos.push({ found, meant }),
      typos,
    });
    warnAboutTypos();
  } catch (error) {
    warnAboutTypos();
    const ours = error instanceof UsageError || error instanceof ConfigurationError;
    printError(`${error instanceof Error ? error.message : String(error)}\n`);
    exit(ours ? 2 : 1);
  }
}
