import { COMMANDS, type CommandName } from './commands.ts';

const RUN: Readonly<Record<CommandName, () => Promise<unknown>>> = {
  start: () => import('./start-command.ts'),
  connector: () => import('./connector-command.ts'),
  platform: () => import('./platform-command.ts'),
  doctor: () => import('./doctor-command.ts'),
  replay: () => import('./replay-command.ts'),
  sandbox: () => import('./sandbox-command.ts'),
  consumers: () => import('./consumers-command.ts'),
  console: () => import('./console-command.ts'),
  export: () => import('./export-command.ts'),
  mcp: () => import('./mcp-command.ts'),
  scenario: () => import('./scenario-command.ts'),
};

const WRONG_USE = 2;

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const rows = Object.entries(COMMANDS).map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: messaging-connector <command> [options]\n\n${rows.join('\n')}\n\nRun a command with --help for its options.\n`;
}

async function main(word: string | undefined): Promise<void> {
  if (word === '--help') return void process.stdout.write(usage());
  if (word === '--version') {
    const { packageVersion } = await import('./command-line.ts');
    return void process.stdout.write(`${packageVersion()}\n`);
  }
  if (word === undefined || !Object.hasOwn(COMMANDS, word)) {
    return refuse(
      `${word === undefined ? 'A command is missing' : `There is no command "${word}"`}.\n\n${usage()}`,
    );
  }
  // The command parses the command line from the third word on.
  process.argv.splice(2, 1);
  await RUN[word as CommandName]();
}

function refuse(reason: string): void {
  process.stderr.write(`${reason.trimEnd()}\n`);
  process.exitCode = WRONG_USE;
}

await main(process.argv[2]);
