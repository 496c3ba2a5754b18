import type { Request, Response } from 'express';
import type { HealthAnswer } from '../../contract/connector/sync.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Queues } from '../../runtime/queue/queues.ts';

const PROBE_MS = 2_000;

/** `GET /healthz`: the process runs. */
export function healthz(_request: Request, response: Response): void {
  response.json({ ok: true } satisfies HealthAnswer);
}

/** `GET /readyz`: database and queue answer. */
export function readyz(options: {
  readonly database: Database;
  readonly queues: Queues;
  readonly clock: Clock;
}) {
  return async (_request: Request, response: Response): Promise<void> => {
    const [database, queue] = await Promise.all([
      answers(options.clock, options.database.ping(PROBE_MS)),
      answers(options.clock, options.queues.ping()),
    ]);
    const ok = database && queue;
    response.status(ok ? 200 : 503).json({ ok, checks: { database, queue } } satisfies HealthAnswer);
  };
}

/** `GET /metrics`, in the text format of Prometheus. */
export function serveMetrics(metrics: Metrics) {
  return async (_request: Request, response: Response): Promise<void> => {
    const { contentType, text } = await metrics.render();
    response.setHeader('Content-Type', contentType);
    response.end(text);
  };
}

/** Whether the probe came back well within its time; a probe that hangs is a no. */
async function answers(clock: Clock, probe: Promise<void>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(PROBE_MS, () => late.resolve(false));
  try {
    return await Promise.race([
      probe.then(
        () => true,
        () => false,
      ),
      late.promise,
    ]);
  } finally {
    cancel();
  }
}
