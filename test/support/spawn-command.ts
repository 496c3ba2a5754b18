import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './root.ts';

const { NODE_OPTIONS = '', NODE_COMPILE_CACHE = '' } = process.env;
/** The environment in which sources that are no program of the project are imported as quickly as by one. */
export const QUICK_IMPORTS = { NODE_OPTIONS, NODE_COMPILE_CACHE };

export interface SpawnOptions {
  /** Its environment, besides PATH, HOME and the cache of compiled code. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a folder without an `.env`. */
  readonly cwd?: string;
  /** True opens its standard input. */
  readonly stdin?: boolean;
}

/** How a command ended. */
export interface Ended {
  /** The exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command in its own process group. */
export interface SpawnedCommand {
  /** Of its first process. */
  readonly pid: number | undefined;
  /** Its standard output so far. */
  stdout(): string;
  /** Its standard error so far. */
  stderr(): string;
  /** Resolves with the line of standard output that matches. Rejects with its output if it exits before. */
  said(pattern: RegExp): Promise<string>;
  /** Writes to its standard input, which `stdin` in the options has opened. */
  type(text: string): void;
  /** Sends a signal to all its processes, as a terminal does. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when all its processes are gone and its output was read. */
  readonly ended: Promise<Ended>;
  /** Ends it in any state. For the end of a test. */
  kill(): Promise<void>;
}

/** Starts a command. `PATH` begins with the tools that npm installed, so `node` is the one of the project. */
export function spawnCommand(
  command: string,
  words: readonly string[],
  options: SpawnOptions = {},
): SpawnedCommand {
  const child = spawn(command, words, {
    cwd: options.cwd ?? tmpdir(),
    detached: true,
    stdio: 'pipe',
    env: {
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE,
      ...options.env,
    },
  });
  if (options.stdin !== true) child.stdin.end();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const lines = createInterface({ input: child.stdout });
  const seen: string[] = [];
  lines.on('line', (line) => seen.push(line));
  // Not at 'exit': its last output may not have arrived yet.
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code ?? signal, stdout, stderr }));
  const send = (signal: NodeJS.Signals): void => signalGroup(child, signal);
  return {
    pid: child.pid,
    stdout: () => stdout,
    stderr: () => stderr,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const take = (line: string): void => void (pattern.test(line) && resolve(line));
        for (const line of seen) take(line);
        lines.on('line', take);
        void ended.then((end) =>
          reject(new Error(`ended with ${end.code} before ${pattern}\n${end.stdout}\n${end.stderr}`)),
        );
      }),
    type: (text) => void child.stdin.write(text),
    signal: send,
    ended,
    async kill() {
      send('SIGKILL');
      await ended;
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What Ctrl-C makes one of the project's commands print for a person. */
export const STOPPED =
  /^stopping {4}press Ctrl-C again to stop at once\nstopped {5}in \d+\.\d s; the data is kept\n$/;

/** Starts one of the project's commands without npm. */
export function spawnCli(
  name: 'start' | 'connector' | 'consumers' | 'platform' | 'sandbox',
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): SpawnedCommand {
  return spawnCommand('node', [join(ROOT, `src/cli/${name}.ts`), ...words], { env });
}
