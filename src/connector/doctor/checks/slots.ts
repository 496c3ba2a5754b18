import { readQuotas } from '../../accounts/quota.ts';
import type { AccountFacts } from '../facts.ts';
import { type Check, notChecked, ok, warning } from '../finding.ts';
import { ago, count } from '../wording.ts';

/** There are slots left for new numbers. Implements `Account`. */
export const slots: Check<AccountFacts> = {
  id: 'slots',
  title: 'slots for numbers',
  async look({ account, database, clock }) {
    const quota = (await readQuotas(database)).find(({ accountId }) => accountId === account.id);
    if (quota === undefined) return notChecked('The service has not told of its slots yet.');
    const evidence = [
      `${quota.slotsUsed} of ${count(quota.slotsTotal, 'slot')} used, read ${ago(quota.readAt, clock.now())}.`,
    ];
    if (quota.slotsAvailable > 0)
      return ok(`${count(quota.slotsAvailable, 'slot is', 'slots are')} free.`, { evidence });
    return warning('No slot is free: a new connection would have no licence.', {
      evidence,
      advice: [
        'Buy a slot before you create a connection, or delete one that is not needed: its slot returns.',
      ],
    });
  },
};
