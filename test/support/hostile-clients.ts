import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Unauthenticated clients that misuse the server. */
export interface HostileClients {
  /**
   * `silent`: connect and send nothing. `idle`: send one request and keep the connection. `unsigned`, `forged`: bodies of 1 MiB
   * without a signature, or with a wrong one. `metrics`, `readyz`: requests on one connection without awaiting
   * answers. `slowHeaders`, `slowBodies`: a byte periodically. `crumbs`, `strayCrumbs`:
   * bodies in chunks of one byte, for the receiver or for an unknown path. `brackets`: 16 MiB of nesting for the API.
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
    | 'crumbs'
    | 'strayCrumbs'
    | 'brackets';
  readonly port: number;
  /** Connections, or requests. */
  readonly count: number;
  /** Their source address; a star stands for 200 different numbers. */
  readonly from: string;
  /** Token of the API, for `brackets`. */
  readonly token: string;
}

export interface RunningHostileClients {
  /** The number of answers by status, and of failed connections, so far. */
  report(): Promise<{ readonly answers: Readonly<Record<string, number>>; readonly refused: number }>;
  leave(): Promise<void>;
}

const SCRIPT = new URL('./hostile-client.ts', import.meta.url).pathname;

/** Starts them in another process. Resolves when they are active. */
export async function startHostileClients(clients: HostileClients): Promise<RunningHostileClients> {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(clients)], {
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
