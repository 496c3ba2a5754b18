import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ROOT } from './root.ts';
import { QUICK_IMPORTS } from './spawn-command.ts';

export interface ConnectorProcessOptions {
  readonly databaseUrl: string;
  readonly port: number;
  readonly webhookSecret?: string;
  readonly apiToken: string;
  readonly sealingKey: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The connector's command in its own process. */
export interface ConnectorProcess {
  readonly url: string;
  readonly pid: number | undefined;
  /** Resolves when its modules are loaded; nothing has run yet. */
  readonly loaded: Promise<void>;
  /** Starts the command. */
  go(): void;
  /** Resolves when it reports that it serves. Rejects with its output if it exits before. */
  readonly ready: Promise<void>;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** The end of its standard error. */
  readonly errors: () => string;
  /** Sends a signal and resolves when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

const KEPT_ERRORS = 20_000;

/** Starts a process that waits for `go` with everything loaded. */
export function prepareConnector(options: ConnectorProcessOptions): ConnectorProcess {
  const gate = new URL('wait-for-go.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--import', gate, 'src/cli/connector.ts', '--json'], {
    cwd: ROOT,
    stdio: 'pipe',
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'test',
      ...QUICK_IMPORTS,
      DATABASE_URL: options.databaseUrl,
      CONNECTOR_PORT: String(options.port),
      CONNECTOR_API_TOKEN: options.apiToken,
      CONNECTOR_SEALING_KEYS: options.sealingKey,
      ...(options.webhookSecret === undefined ? {} : { WEBHOOK_SECRET: options.webhookSecret }),
      LOG_LEVEL: 'warn',
      ...options.env,
    },
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-KEPT_ERRORS);
  });
  // Writing to a process that has just died fails, and its exit is reported anyway.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const lines = createInterface({ input: child.stdout });
  const said = (word: string): Promise<void> =>
    new Promise((resolve, reject) => {
      lines.on('line', (line) => line.includes(word) && resolve());
      void ended.then((how) => reject(new Error(`a connector ended with ${how}\n${errors}`)));
    });
  const loaded = said('loaded');
  const ready = said('connectorUrl');
  // Callers that kill it do not wait for it to be ready.
  loaded.catch(() => undefined);
  ready.catch(() => undefined);
  return {
    url: `http://127.0.0.1:${options.port}`,
    pid: child.pid,
    loaded,
    go: () => void child.stdin.write('go\n'),
    ready,
    ended,
    errors: () => errors,
    async kill(signal) {
      child.kill(signal);
      return await ended;
    },
  };
}
