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

/**
 * `GET /readyz`: database and queue answer, the service takes what the settings name, and the webhook is registered.
 * It asks for no token, so it does not say which of these fails; the log does.
 */
export function readyz(options: {
  readonly database: Database;
  readonly queues: Queues;
  readonly clock: Clock;
  /** Settings and registration. */
  readonly isReady: () => Promise<boolean>;
}) {
  return async (_request: Request, response: Response): Promise<void> => {
    const checks = await Promise.all([
      answers(options.clock, options.database.ping(PROBE_MS)),
      answers(options.clock, options.queues.ping()),
      answers(options.clock, options.isReady()),
    ]);
    const ok = !checks.includes(false);
    response.status(ok ? 200 : 503).json({ ok } satisfies HealthAnswer);
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

/** Whether the probe came back well within its time; one that hangs or answers false is a no. */
async function answers(clock: Clock, probe: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(PROBE_MS, () => late.resolve(false));
  try {
    return await Promise.race([
      probe.then(
        (answer) => answer !== false,
        () => false,
      ),
      late.promise,
    ]);
  } finally {
    cancel();
  }
}
