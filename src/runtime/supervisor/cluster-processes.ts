import cluster, { type Worker } from 'node:cluster';
import type { Clock } from '../clock/clock.ts';
import { mergeMetrics } from './merge-metrics.ts';
import { type FromProcess, type FromSupervisor, isMessage, NUMBER_VARIABLE } from './messages.ts';
import { presentScript } from './present-script.ts';
import { createProcessRequests } from './process-requests.ts';
import type { ProcessEnd, SupervisedProcess } from './supervisor.ts';

export interface ClusterOptions {
  /** The script that each process runs, and its arguments. */
  readonly script: string;
  readonly words: readonly string[];
  readonly clock: Clock;
}

/** A process that is too busy to report its metrics is left out. */
const METRICS_MS = 2_000;
/** The exit code of a shell for a missing program. */
const NOT_STARTED = 127;

/**
 * Prepares Node's `cluster`: this process opens the ports, and each of its processes accepts connections from
 * them by itself. A port therefore stays open, with all pending connections, as long as any process listens.
 * Each process runs `script`.
 *
 * The round-robin default of `cluster` is not used: there this process accepts the connections and hands them
 * on, and a connection that is being handed to a process which dies is never closed. Its client would wait
 * until its timeout.
 */
export function createClusterProcesses(options: ClusterOptions) {
  const { clock } = options;
  const exec = presentScript(options.script);
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec, args: [...options.words], windowsHide: true });
  /** By number. Of two processes with the same number the newer one counts: the other one is about to exit. */
  const serving = new Map<number, Worker>();
  const requests = createProcessRequests(clock, METRICS_MS);
  let url: string | undefined;

  async function showMetrics(to: Worker, request: number): Promise<void> {
    const inOrder = [...serving].sort(([a], [b]) => a - b);
    const texts = await Promise.all(
      inOrder.map(([, worker]) =>
        requests.send((number) => notify(worker, { says: 'own metrics wanted', request: number })),
      ),
    );
    notify(to, { says: 'metrics', request, text: mergeMetrics(texts.filter((text) => text !== undefined)) });
  }

  return {
    launch(number: number): SupervisedProcess {
      const worker = cluster.fork({ [NUMBER_VARIABLE]: String(number) });
      const ready = Promise.withResolvers<void>();
      let isReady = false;
      let failure: string | undefined;
      worker.on('message', (message: unknown) => {
        if (!isMessage<FromProcess>(message)) return;
        if (message.says === 'ready') {
          url = message.url;
          isReady = true;
          serving.set(number, worker);
          ready.resolve();
        } else if (message.says === 'cannot serve') failure = message.why;
        else if (message.says === 'metrics wanted') void showMetrics(worker, message.request);
        else requests.resolve(message.request, message.text);
      });
      const ended = Promise.withResolvers<ProcessEnd>();
      worker.once('exit', (code, signal: NodeJS.Signals | null) => ended.resolve(signal ?? code));
      worker.on('error', () => {
        // The process was never started. A channel that breaks later is followed by the exit of the process.
        if (worker.process.pid === undefined) ended.resolve(NOT_STARTED);
      });
      void ended.promise.then(() => {
        if (serving.get(number) === worker) serving.delete(number);
      });
      return {
        pid: worker.process.pid,
        ready: ready.promise,
        ended: ended.promise,
        failure: () => failure,
        drain() {
          notify(worker, { says: 'drain' });
          // A process that is still loading does not listen yet and has nothing to finish.
          if (!isReady) worker.process.kill('SIGTERM');
        },
        kill: () => void worker.process.kill('SIGKILL'),
      };
    },
    /** The addresses of the processes, once one of them is ready. */
    url: () => url,
  };
}

function notify(worker: Worker, message: FromSupervisor): void {
  // A process that has just died receives nothing; the callback handles the error.
  if (worker.isConnected()) worker.send(message, () => undefined);
}
