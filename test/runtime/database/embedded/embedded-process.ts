import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { exists, findPostmaster as find } from '../../../../src/runtime/database/embedded/postmaster.ts';

/** Another process that uses the embedded Postgres. */
export interface EmbeddedProcess {
  readonly url: string;
  readonly location: string;
  readonly joined: boolean;
  readonly note?: string;
  readonly child: ChildProcess;
  /** Stops it regularly. */
  stop(): Promise<void>;
  /** Kills it with a signal, and waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

const SCRIPT = join(import.meta.dirname, 'use-embedded.ts');

/** Starts a process that uses the embedded Postgres in `dataDir`. Throws an error with its output if it fails. */
export async function startProcess(
  dataDir: string,
  account: { uid?: number; gid?: number } = {},
): Promise<EmbeddedProcess> {
  const child = spawn(process.execPath, [SCRIPT, dataDir], {
    ...account,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    void text(child.stderr).then((errors) => reject(new Error(errors)));
  });
  const got: Pick<EmbeddedProcess, 'url' | 'location' | 'joined' | 'note'> = JSON.parse(line);
  return {
    ...got,
    child,
    async stop() {
      child.stdin.end();
      await exited;
    },
    async kill(signal) {
      // The whole group, as a terminal does.
      process.kill(-(child.pid ?? 0), signal);
      await exited;
    },
  };
}

/** The pid of the server of a cluster; undefined if none runs. */
export async function findPostmaster(location: string): Promise<number | undefined> {
  return (await find(join(location, 'cluster')))?.pid;
}

/** Resolves when the process is gone. */
export async function untilGone(pid: number | undefined): Promise<void> {
  while (pid !== undefined && exists(pid)) await setImmediate();
}
