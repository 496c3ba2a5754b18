import { type ChildProcess, fork } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The functions that a child process offers: one input and one answer, both plain data. */
export type Commands = Record<string, (input: never) => Promise<unknown>>;

/** A child process that answers commands over its IPC channel. */
export interface Child<C extends Commands> {
  /** Runs a command in the child. Rejects with the child's message if it fails or if the child ends. */
  ask<Name extends keyof C & string>(
    name: Name,
    input: Parameters<C[Name]>[0],
  ): Promise<Awaited<ReturnType<C[Name]>>>;
  readonly pid: number | undefined;
  /** Asks the child to end and waits until it has. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** The module the child runs; it calls `serveParent`. */
  readonly module: URL;
  /** A folder for the child's CPU profile; none is taken without it. */
  readonly profileFolder?: string | undefined;
  /** Kills the child when it aborts. */
  readonly signal?: AbortSignal;
}

interface Answer {
  readonly call: number;
  readonly value?: unknown;
  readonly error?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Starts a module as a process of its own, on the same Node as this one. */
export function startChild<C extends Commands>(options: ChildOptions): Child<C> {
  const name = basename(fileURLToPath(options.module), '.ts');
  const child = fork(options.module, {
    execArgv: profileFlags(options.profileFolder, name),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    ...(options.signal === undefined ? {} : { signal: options.signal, killSignal: 'SIGKILL' }),
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const calls = trackCalls(child, name);

  return {
    pid: child.pid,
    ask: (command, input) =>
      // The child module implements C; the channel itself carries untyped data.
      calls.send(command, input) as Promise<Awaited<ReturnType<C[typeof command]>>>,
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function profileFlags(folder: string | undefined, name: string): string[] {
  if (folder === undefined) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}

function trackCalls(
  child: ChildProcess,
  name: string,
): { send(command: string, input: unknown): Promise<unknown> } {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let over: Error | undefined;

  const fail = (error: Error): void => {
    over = error;
    for (const call of waiting.values()) call.reject(error);
    waiting.clear();
  };
  child.on('message', (answer: Answer) => {
    const call = waiting.get(answer.call);
    waiting.delete(answer.call);
    if (answer.error === undefined) call?.resolve(answer.value);
    else call?.reject(new Error(`${name}: ${answer.error}`));
  });
  child.once('error', fail);
  child.once('exit', (code, signal) => fail(new Error(`${name} ended with ${signal ?? `code ${code}`}`)));

  return {
    send(command, input) {
      if (over !== undefined) return Promise.reject(over);
      const call = ++last;
      return new Promise((resolve, reject) => {
        waiting.set(call, { resolve, reject });
        child.send({ call, command, input });
      });
    },
  };
}
