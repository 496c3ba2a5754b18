import { createKeyRing, SealingError } from '../../../runtime/sealing/key-ring.ts';
import { listSealed } from '../../db/sealed-columns.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';
import { count, some } from '../wording.ts';

/** The key ring decrypts every stored secret. */
export const sealingCheck: Check<StoreCheckInput> = {
  id: 'sealing',
  title: 'sealing keys and stored secrets',
  async look({ database, settings }) {
    if (settings.sealingKeys.length === 0) return notChecked('CONNECTOR_SEALING_KEYS is missing or wrong.');
    const ring = createKeyRing(settings.sealingKeys);
    const closed: string[] = [];
    let opened = 0;
    let old = 0;
    for (const { id, what, context, sealed } of await listSealed(database)) {
      try {
        await ring.open(sealed, context);
        opened += 1;
        if (!ring.isCurrent(sealed)) old += 1;
      } catch (error) {
        if (!(error instanceof SealingError)) throw error;
        closed.push(`${what} of ${id} (${error.code})`);
      }
    }
    const evidence = [`${count(opened, 'stored secret opens', 'stored secrets open')}.`];
    if (closed.length > 0) {
      return problem(
        `${count(closed.length, 'stored secret does', 'stored secrets do')} not open: no process can start.`,
        {
          evidence: [`Closed: ${some(closed)}.`, ...evidence],
          advice: [
            'Put the key that sealed them back into CONNECTOR_SEALING_KEYS, after the first one, separated by a comma.',
            'If that key is gone for good: docs/operations.md tells how to begin anew (A sealing key is lost).',
          ],
        },
      );
    }
    if (old > 0) {
      return warning('Some secrets are still sealed with an older key.', {
        evidence: [...evidence, `${old} of them.`],
        advice: ['Leave the older key in the ring and restart one process: it seals them anew.'],
      });
    }
    return ok('Every stored secret opens.', { evidence });
  },
};
