import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import {
  type ConnectorProcess,
  type ConnectorProcessOptions,
  prepareConnector,
} from './connector-process.ts';
import { findFreePort } from './find-free-port.ts';

/** How many processes were killed during startup, and how many while serving. */
export interface CrashReport {
  readonly starting: number;
  readonly serving: number;
}

/** A connector at one address that is killed repeatedly, and always restarts. */
export interface CrashingConnector {
  readonly url: string;
  /** Of the current process. */
  readonly pid: number | undefined;
  /** Resolves with the address when a process serves there. */
  live(): Promise<string>;
  /** Kills it this many times at random moments, sometimes during startup. The last process keeps running. */
  crash(times: number, random: () => number): Promise<CrashReport>;
  /** Stops it as an operator does and starts it again. Resolves with its exit code when it serves again. */
  restart(): Promise<number | NodeJS.Signals>;
  /** Kills it and starts it again. Resolves when it serves again. */
  kill(): Promise<void>;
  /** Stops it as an operator does. Resolves with its exit code, or the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals>;
}

/** The share of processes that are killed during startup; the others are killed while serving. */
const EARLY_SHARE = 0.25;
const EARLY_MS = 300;
const SERVING_MS = 600;
/** Loading the program takes longest, so some processes wait with it in memory. */
const SPARES = 2;

/**
 * Keeps processes prepared behind the one that runs, so that a restart only costs the startup. A process that
 * ends without being killed makes `live` reject.
 */
export async function startCrashingConnector(
  options: Omit<ConnectorProcessOptions, 'port'> & { readonly port?: number },
  spares = SPARES,
): Promise<CrashingConnector> {
  const { port = await findFreePort() } = options;
  const url = `http://127.0.0.1:${port}`;
  const prepare = (): ConnectorProcess => prepareConnector({ ...options, port });
  const prepared = Array.from({ length: spares }, prepare);
  let current: ConnectorProcess | undefined;
  let condemned: ConnectorProcess | undefined;
  let serves = false;
  let serving = openPromise();

  /** `left`: how many more processes this one is to be replaced by. */
  async function begin(left = spares): Promise<void> {
    const process = prepared.shift() ?? prepare();
    if (prepared.length < Math.min(spares, left)) prepared.push(prepare());
    current = process;
    await process.loaded;
    process.go();
    process.ready.then(
      () => {
        serves = true;
        serving.resolve();
      },
      (error: unknown) => process !== condemned && serving.reject(error),
    );
    void process.ended.then((how) => {
      if (process === condemned) return;
      // Rejects for callers that wait until it serves.
      if (serves) serving = openPromise();
      serves = false;
      serving.reject(new Error(`a connector ended by itself with ${how}\n${process.errors()}`));
    });
  }

  /** Later callers wait for the next process. */
  async function end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    condemned = current;
    if (serves) serving = openPromise();
    serves = false;
    return (await current?.kill(signal)) ?? signal;
  }

  async function crash(times: number, random: () => number): Promise<CrashReport> {
    let starting = 0;
    for (let life = 0; life < times; life += 1) {
      const early = random() < EARLY_SHARE;
      if (!early) await Promise.all([serving.promise, prepared[0]?.loaded]);
      await systemClock.sleep(random() * (early ? EARLY_MS : SERVING_MS));
      if (!serves) starting += 1;
      await end('SIGKILL');
      await begin(times - life - 1);
    }
    await serving.promise;
    return { starting, serving: times - starting };
  }

  await begin();
  return {
    url,
    get pid() {
      return current?.pid;
    },
    async live() {
      await serving.promise;
      return url;
    },
    crash,
    async restart() {
      await Promise.all([serving.promise, prepared[0]?.loaded]);
      const how = await end('SIGTERM');
      await begin();
      await serving.promise;
      return how;
    },
    async kill() {
      await end('SIGKILL');
      await begin();
      await serving.promise;
    },
    async stop() {
      const how = await end('SIGTERM');
      await Promise.all(prepared.map((process) => process.kill('SIGKILL')));
      return how;
    },
  };
}

function openPromise(): PromiseWithResolvers<void> {
  const open = Promise.withResolvers<void>();
  open.promise.catch(() => undefined);
  return open;
}
