import type { CommandStreams } from '../../src/commands/run-command.ts';

/** Runs a command in this process. Resolves with what it printed, and with its exit code. */
export async function runInProcess(
  command: (words: readonly string[], streams: CommandStreams) => Promise<void>,
  words: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const ended = { code: 0, stdout: '', stderr: '' };
  await command(words, {
    print(text) {
      ended.stdout += text;
    },
    printError(text) {
      ended.stderr += text;
    },
    exit(code) {
      ended.code = code;
    },
  });
  return ended;
}
