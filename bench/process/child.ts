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

interface ChildOptions {
  /** The module the child runs; it calls `serveParent`. */
  readonly module: URL;
  /** Kills the child when it aborts. */
  readonly signal: AbortSignal;
}

/** Starts a module as a process of its own, on the same Node as this one. */
export function startChild<C extends Commands>({ module, signal }: ChildOptions): Child<C> {
  const name = basename(fileURLToPath(module), '.ts');
  const child = fork(module, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const send = trackCalls(child, name);
  return {
    pid: child.pid,
    ask: (command, input) =>
      // The child module implements C; the channel itself carries untyped data.
      send(command, input) as Promise<Awaited<ReturnType<C[typeof command]>>>,
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function trackCalls(
  child: ChildProcess,
  name: string,
): (command: string, input: unknown) => Promise<unknown> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  let over: Error | undefined;
  const fail = (error: Error): void => {
    over = error;
    for (const call of waiting.values()) call.reject(error);
    waiting.clear();
  };
  child.on(
    'message',
    (answer: { readonly call: number; readonly value?: unknown; readonly error?: string }) => {
      const call = waiting.get(answer.call);
      waiting.delete(answer.call);
      if (answer.error === undefined) call?.resolve(answer.value);
      else call?.reject(new Error(`${name}: ${answer.error}`));
    },
  );
  child.once('error', fail);
  child.once('exit', (code, signal) => fail(new Error(`${name} ended with ${signal ?? `code ${code}`}`)));
  return (command, input) => {
    if (over !== undefined) return Promise.reject(over);
    const call = ++last;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(call, answer);
    child.send({ call, command, input });
    return answer.promise;
  };
}
