#!/usr/bin/env node
import { COMMANDS, type CommandName } from './commands.ts';
import { oldestNode, refuseOldNode } from './node-version.ts';

// Nothing that an older Node cannot read may be imported before it was told so.
const RUN: Readonly<Record<CommandName, () => Promise<unknown>>> = {
  start: () => import('./start.ts'),
  connector: () => import('./connector.ts'),
  platform: () => import('./platform.ts'),
  doctor: () => import('./doctor.ts'),
  replay: () => import('./replay.ts'),
  conformance: () => import('./conformance.ts'),
};

const WRONG_USE = 2;

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const rows = Object.entries(COMMANDS).map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
  return `messaging-connector <command> [options]\n\n${rows.join('\n')}\n\nEach command answers --help.\n`;
}

async function main(word: string | undefined): Promise<void> {
  const refusal = refuseOldNode(process.versions.node, oldestNode());
  if (refusal !== undefined) return refuse(refusal);
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
  // The command reads its own words from the third one on.
  process.argv.splice(2, 1);
  await RUN[word as CommandName]();
}

function refuse(reason: string): void {
  process.stderr.write(`${reason.trimEnd()}\n`);
  process.exitCode = WRONG_USE;
}

await main(process.argv[2]);
