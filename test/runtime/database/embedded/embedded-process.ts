import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  identifyProcess,
  isRunning,
  type ProcessIdentity,
} from '../../../../src/runtime/database/embedded/process-identity.ts';

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

/** The server process of a cluster; undefined if none runs. */
export async function findPostmaster(location: string): Promise<ProcessIdentity | undefined> {
  const file = await readFile(join(location, 'cluster', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(file.split('\n')[0]);
  return pid > 0 ? await identifyProcess(pid) : undefined;
}

/** Resolves when the process is gone. */
export async function untilGone(identity: ProcessIdentity): Promise<void> {
  while (await isRunning(identity));
}
