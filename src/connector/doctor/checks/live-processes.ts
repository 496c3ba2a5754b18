import type { StoreFacts } from '../facts.ts';
import { type Check, ok, problem } from '../finding.ts';
import { ago, count } from '../wording.ts';

/** A process gives a sign of life twice a second; its clock may be another one than ours. */
const SILENT_MS = 60_000;

/** At least one process that polls and sends gives signs of life. */
export const liveProcesses: Check<StoreFacts> = {
  id: 'processes',
  title: 'processes that poll and send',
  async look({ database, clock }) {
    const now = clock.now();
    const [row] = await database.query<{ alive: number; last: number | null }>(
      `select count(*) filter (where beat_at > $1::bigint) as alive, max(beat_at) as last
         from connector.processes where works`,
      [now - SILENT_MS],
    );
    const { alive, last } = row ?? { alive: 0, last: null };
    if (alive > 0) {
      return ok(
        `${count(alive, 'process that polls and sends gives', 'processes that poll and send give')} signs of life.`,
      );
    }
    return problem('No process polls or sends.', {
      evidence: [`The last sign of life was ${ago(last, now)}.`],
      advice: ['Start a connector with CONNECTOR_ROLE all or worker; web processes take webhooks only.'],
    });
  },
};
