import type { Request, Response } from 'express';
import type { HealthAnswer } from '../../contract/connector/sync.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';

/** A probe that hangs is a no. */
const PROBE_MS = 2_000;
/** However many ask, there is one look in this time. */
const LOOK_MS = 1_000;

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
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** Settings and registration. */
  readonly isReady: () => Promise<boolean>;
}) {
  const { database, notifier, clock } = options;
  const look = shareReads(
    async () => {
      const deadline = new Deadline(clock, PROBE_MS);
      const answers = (probe: Promise<unknown>): Promise<boolean> =>
        deadline.within(probe).then(
          (answer) => answer !== false,
          () => false,
        );
      const found = await Promise.all([
        answers(database.ping(PROBE_MS)),
        answers(notifier.ping()),
        answers(options.isReady()),
      ]);
      deadline.done();
      return !found.includes(false);
    },
    { clock, ms: LOOK_MS },
  );
  return async (_request: Request, response: Response): Promise<void> => {
    const ok = await look();
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
