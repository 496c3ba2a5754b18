import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { serveParent } from '../process/serve-parent.ts';
import { percentile } from '../report/statistics.ts';
import { buildRequests, type RequestPlan } from './build-requests.ts';
import { createPostConnection } from './post-connection.ts';

/** One stretch of load. */
export interface LoadInput extends Omit<RequestPlan, 'now'> {
  /** How long to send, in ms; the requests under way at the end are waited for. */
  readonly forMs: number;
  /** Requests to build. The stretch ends early when they run out. */
  readonly atMost: number;
}

export interface LoadResult {
  /** Events sent: the first `used` of the run. */
  readonly used: number;
  /** Answers 2xx. */
  readonly acknowledged: number;
  /** Everything else, counted by status or error. */
  readonly refused: Readonly<Record<string, number>>;
  readonly eventsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export type LoadCommands = { load(input: LoadInput): Promise<LoadResult> };

const CONNECTIONS = 64;

/** Sends one event after the other on each of 64 connections and records every latency. */
async function load(input: LoadInput): Promise<LoadResult> {
  const requests = buildRequests({ ...input, now: systemClock.now() }, input.atMost);
  const latencies = new Float64Array(requests.length);
  const refused: Record<string, number> = {};
  let used = 0;
  let acknowledged = 0;
  const began = systemClock.elapsed();
  const until = began + input.forMs;

  const sendAll = async (connection: ReturnType<typeof createPostConnection>): Promise<void> => {
    for (let sentAt = systemClock.elapsed(); sentAt < until; sentAt = systemClock.elapsed()) {
      const request = requests[used];
      if (request === undefined) break;
      used++;
      const outcome = await connection.post(request).catch((error: Error) => error.message);
      if (typeof outcome === 'number' && outcome >= 200 && outcome < 300) {
        latencies[acknowledged++] = systemClock.elapsed() - sentAt;
      } else {
        refused[outcome] = (refused[outcome] ?? 0) + 1;
      }
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, () => sendAll(createPostConnection(input.port))));

  const elapsedMs = systemClock.elapsed() - began;
  const sorted = latencies.subarray(0, acknowledged).sort();
  return {
    used,
    acknowledged,
    refused,
    eventsPerSecond: (acknowledged / elapsedMs) * 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
}

serveParent({ load } satisfies LoadCommands);
