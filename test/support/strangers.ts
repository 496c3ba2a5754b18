import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What clients that nobody invited do. */
export interface Strangers {
  /**
   * `silent`: connect and say nothing. `idle`: ask once and keep the connection. `unsigned`, `forged`: bodies of 1 MiB
   * without a signature, or with a wrong one. `metrics`, `readyz`: requests on one connection without waiting for
   * answers. `slowHeaders`, `slowBodies`: a byte now and then. `brackets`: 16 MiB of nesting for the API.
   */
  readonly kind:
    | 'silent'
    | 'idle'
    | 'unsigned'
    | 'forged'
    | 'metrics'
    | 'readyz'
    | 'slowHeaders'
    | 'slowBodies'
    | 'brackets';
  readonly port: number;
  /** Connections, or requests. */
  readonly count: number;
  /** The address they come from; a star stands for each of 200. */
  readonly from: string;
  /** Of the API, for `brackets`. */
  readonly token: string;
}

export interface RunningStrangers {
  /** Answers by status, and connections that failed, until now. */
  report(): Promise<{ readonly answers: Readonly<Record<string, number>>; readonly refused: number }>;
  leave(): Promise<void>;
}

const SCRIPT = new URL('./stranger.ts', import.meta.url).pathname;

/** Starts them in a process of their own. Resolves when they are at it. */
export async function startStrangers(strangers: Strangers): Promise<RunningStrangers> {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(strangers)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async report() {
      child.kill('SIGUSR2');
      const { value } = await lines.next();
      return JSON.parse(String(value));
    },
    async leave() {
      child.stdin.end();
      await ended;
    },
  };
}
