import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A connector at one address that is killed repeatedly. The clock of each process is ahead of the previous one's. */
export interface ConnectorLives {
  /** Kills the current process at once and starts the next one, `aheadMs` ahead of the wall clock. */
  next(aheadMs: number): Promise<void>;
  /** Moves the clock of the current process forward by this much. */
  pass(ms: number): void;
  /** Resolves when the current process serves. */
  serving(): Promise<void>;
  readonly kills: number;
  stop(): Promise<void>;
}

interface Life {
  readonly child: ChildProcess;
  readonly loaded: Promise<void>;
  readonly serves: Promise<void>;
}

const SCRIPT = new URL('./connector-ahead.ts', import.meta.url).pathname;

/** Prepares the first process, which `next` starts. `options` are those of `runConnector` that are plain data. */
export function startConnectorLives(options: object): ConnectorLives {
  const all = new Set<ChildProcess>();
  let prepared = prepare();
  let present: Life | undefined;
  let kills = 0;

  function prepare(): Life {
    const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.on('error', () => undefined);
    all.add(child);
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, 'exit').then(() => void all.delete(child));
    const said = (start: string): Promise<void> => {
      const word = new Promise<void>((resolve, reject) => {
        lines.on('line', (line) => line.startsWith(start) && resolve());
        void ended.then(() => reject(new Error('a connector ended')));
      });
      word.catch(() => undefined);
      return word;
    };
    return { child, loaded: said('loaded'), serves: said('http') };
  }

  async function kill({ child }: Life): Promise<void> {
    const dead = once(child, 'exit');
    if (!child.kill('SIGKILL')) throw new Error('a connector ended by itself');
    await dead;
    kills += 1;
  }

  return {
    get kills() {
      return kills;
    },
    async next(aheadMs) {
      await prepared.loaded;
      if (present !== undefined) await kill(present);
      present = prepared;
      present.child.stdin?.write(`${aheadMs}\n`);
      prepared = prepare();
    },
    pass: (ms) => void present?.child.stdin?.write(`${ms}\n`),
    serving: () => present?.serves ?? Promise.reject(new Error('none has begun')),
    async stop() {
      const ends = [...all].map((child) => once(child, 'exit'));
      for (const child of all) child.kill('SIGKILL');
      await Promise.all(ends);
    },
  };
}
