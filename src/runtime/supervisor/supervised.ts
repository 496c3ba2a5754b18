import cluster, { type Worker } from 'node:cluster';
import type { Clock } from '../clock/clock.ts';
import { shareReads } from '../clock/share-reads.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { type FromProcess, type FromSupervisor, isMessage, NUMBER_VARIABLE } from './messages.ts';
import { createProcessRequests } from './process-requests.ts';

/** The link from a process to the supervisor that started it. */
export type Supervised = ReturnType<typeof joinSupervisor>;

/** The supervisor waits 2 s for each process. */
const METRICS_MS = 4_000;
/** Our own metrics are rendered at most once in this time. */
const OWN_METRICS_MS = 1_000;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The supervisor link of this process; undefined for a process that runs without one. */
export function findSupervisor(): Supervised | undefined {
  const { worker } = cluster;
  return worker === undefined ? undefined : joinSupervisor(worker);
}

function joinSupervisor(worker: Worker) {
  // Ctrl-C in a terminal and the closing of a terminal reach every process. The supervisor decides what they
  // mean.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  const asked = Promise.withResolvers<void>();
  // A service manager may send every process the signal that it sends the supervisor: both mean the same.
  process.on('SIGTERM', () => asked.resolve());
  worker.on('message', (message: unknown) => {
    if (isMessage<FromSupervisor>(message) && message.says === 'drain') asked.resolve();
  });
  worker.once('disconnect', () => {
    // Otherwise Node ends this process at once, together with the requests in flight.
    worker.exitedAfterDisconnect = true;
    asked.resolve();
  });
  return {
    /** Its number, from 1. A process that replaces it gets the same number. */
    number: Number(process.env[NUMBER_VARIABLE]),
    /** Reports that this process is serving. */
    ready: (url: string) => void notify(worker, { says: 'ready', url }),
    /** Reports why this process cannot serve, before it exits. Resolves once the report was sent. */
    cannotServe: (why: string) => notify(worker, { says: 'cannot serve', why }),
    /** Calls `drain` once this process is asked to stop by its supervisor or a signal, or its supervisor is gone. */
    onDrain: (drain: () => void) => void asked.promise.then(drain),
    /** Metrics of all processes; `own` if the supervisor does not respond. */
    shareMetrics: (own: Metrics, clock: Clock) => shareMetrics(worker, own, clock),
  };
}

function shareMetrics(worker: Worker, own: Metrics, clock: Clock): Metrics {
  const requests = createProcessRequests(clock, METRICS_MS);
  worker.on('message', (message: unknown) => {
    if (!isMessage<FromSupervisor>(message)) return;
    if (message.says === 'metrics') requests.resolve(message.request, message.text);
    if (message.says === 'own metrics wanted') void answer(message.request);
  });

  // Each process of the supervisor may request the metrics of all.
  const renderOwn = shareReads(() => own.render(), { clock, ms: OWN_METRICS_MS });

  async function answer(request: number): Promise<void> {
    const { text } = await renderOwn().catch(() => ({ text: '' }));
    void notify(worker, { says: 'own metrics', request, text });
  }

  return {
    ...own,
    async render() {
      const text = await requests.send((request) => void notify(worker, { says: 'metrics wanted', request }));
      return text === undefined ? await own.render() : { contentType: CONTENT_TYPE, text };
    },
  };
}

/** Resolves when the message has been sent or cannot be sent. */
function notify(worker: Worker, message: FromProcess): Promise<void> {
  return new Promise((resolve) => {
    if (worker.isConnected()) worker.send(message, undefined, () => resolve());
    else resolve();
  });
}
