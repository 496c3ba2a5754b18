import { readWorkers } from '../../state/figures.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, ok, problem } from '../finding.ts';
import { ago, count } from '../wording.ts';

/** A process sends a heartbeat every second; its clock may differ from ours. */
const SILENT_MS = 60_000;

/** At least one process that polls and sends is alive. */
export const processesCheck: Check<StoreCheckInput> = {
  id: 'processes',
  title: 'processes that poll and send',
  async run({ database, clock }) {
    const now = clock.now();
    const { alive, last } = await readWorkers(database, now - SILENT_MS);
    if (alive > 0) {
      return ok(
        `${count(alive, 'process that polls and sends is', 'processes that poll and send are')} alive.`,
      );
    }
    return problem('No process polls or sends.', {
      evidence: [`Last heartbeat: ${ago(last, now)}.`],
      advice: ['Start a connector with CONNECTOR_ROLE all or worker. A web process neither polls nor sends.'],
    });
  },
};
