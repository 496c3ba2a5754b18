import { createKeyRing, SealingError } from '../../../runtime/sealing/key-ring.ts';
import { listSealed } from '../../db/sealed-columns.ts';
import { count, some } from '../../state/wording.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';

/** The key ring decrypts every stored secret. */
export const sealingCheck: Check<StoreCheckInput> = {
  id: 'sealing',
  title: 'sealing keys and stored secrets',
  async run({ database, settings }) {
    if (settings.sealingKeys.length === 0) return notChecked('CONNECTOR_SEALING_KEYS is missing or invalid.');
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
    const evidence = [`${count(opened, 'stored secret')} can be opened.`];
    if (closed.length > 0) {
      return problem(`${count(closed.length, 'stored secret')} cannot be opened, so no process can start.`, {
        evidence: [`Affected: ${some(closed)}.`, ...evidence],
        advice: [
          'Add the key that sealed them to CONNECTOR_SEALING_KEYS again, after the first key, separated by a comma.',
          'If that key is lost, follow "A sealing key is lost" in docs/operations.md.',
        ],
      });
    }
    if (old > 0) {
      return warning('Some secrets are still sealed with an older key.', {
        evidence: [...evidence, `${count(old, 'secret is', 'secrets are')} sealed with an older key.`],
        advice: [
          'Keep the older key in the key ring and restart one process: it seals the secrets with the current key.',
        ],
      });
    }
    return ok('Every stored secret can be opened.', { evidence });
  },
};
