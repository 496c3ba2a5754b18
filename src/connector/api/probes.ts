import type { Request, Response } from 'express';
import type { HealthAnswer } from '../../contract/connector/sync.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** A probe that does not finish in this time has failed. */
const PROBE_MS = 2_000;
/** Probes are evaluated at most once in this time, however many requests arrive. */
const LOOK_MS = 1_000;

/** `GET /healthz`: the process is running. */
export function healthz(_request: Request, response: Response): void {
  response.json({ ok: true } satisfies HealthAnswer);
}

/**
 * `GET /readyz`: the database responds, the service accepts the configured credentials, and the webhook is registered.
 * Nothing without which deliveries are still stored makes a process unready: all of them would be at the same time, and
 * a proxy would have nowhere to send a delivery. It takes no token, so it does not report what failed; the log does.
 */
export function readyz(options: {
  readonly database: Database;
  readonly clock: Clock;
  /** Settings and webhook registration. */
  readonly isReady: () => Promise<boolean>;
}) {
  const { database, clock } = options;
  const probe = shareReads(
    async () => {
      const deadline = new Deadline(clock, PROBE_MS);
      const answers = (probe: Promise<unknown>): Promise<boolean> =>
        deadline.within(probe).then(
          (answer) => answer !== false,
          () => false,
        );
      const found = await Promise.all([answers(database.ping(PROBE_MS)), answers(options.isReady())]);
      deadline.done();
      return !found.includes(false);
    },
    { clock, ms: LOOK_MS },
  );
  return async (_request: Request, response: Response): Promise<void> => {
    const ok = await probe();
    response.status(ok ? 200 : 503).json({ ok } satisfies HealthAnswer);
  };
}

/** `GET /metrics`, in the text format of Prometheus. */
export function serveMetrics(metrics: Metrics, clock: Clock) {
  const render = shareReads(() => metrics.render(), { clock, ms: LOOK_MS });
  return async (_request: Request, response: Response): Promise<void> => {
    const { contentType, text } = await render();
    response.setHeader('Content-Type', contentType);
    response.end(text);
  };
}
