import { EVENT_TYPES } from '../../../contract/service/events.ts';
import { readReported } from '../../state/messages.ts';
import { count } from '../../state/wording.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem } from '../finding.ts';
import { howToConsent } from '../places.ts';

const LATELY_MS = 7 * 24 * 3_600_000;
/** If this many are missing, it is not a coincidence. */
const ENOUGH = 3;

/**
 * All event types are delivered. Subscriptions from before the cut-over only receive `message.received` until
 * their owner consents again.
 */
export const eventsCheck: Check<ServiceCheckInput> = {
  id: 'events',
  title: 'delivered event types',
  async run({ account, service, database, clock }) {
    const asked = await service.webhook();
    const listed = asked.ok ? asked.value.events : [];
    const absent = listed.length === 0 ? [] : EVENT_TYPES.filter((type) => !listed.includes(type));
    const reported =
      database === null ? null : await readReported(database, account.id, clock.now() - LATELY_MS);
    const evidence: string[] = [];
    if (absent.length > 0) evidence.push(`GET /webhook lists only ${listed.join(', ')}.`);
    if (reported !== null && reported.withStatus > 0) {
      evidence.push(
        `In 7 days, webhooks reported the status of ${reported.statuses} of ${count(reported.withStatus, 'outgoing message')} that have one, ` +
          `and ${count(reported.received, 'incoming message')}.`,
      );
    }
    const silent =
      reported !== null &&
      reported.withStatus >= ENOUGH &&
      reported.statuses === 0 &&
      reported.received >= ENOUGH;
    if (absent.length > 0 || silent) {
      return problem('The service delivers only message.received, because the consent is old.', {
        evidence,
        advice: [
          account.kind === 'oauth'
            ? `Subscriptions from before the cut-over need a new consent. ${howToConsent(account.id)}`
            : 'Ask the owner of the connections to consent to the app again: subscriptions from before the cut-over require it.',
          'Until then, statuses and outages are found by polling, which takes longer.',
        ],
      });
    }
    if (listed.length === 0 && (reported === null || reported.withStatus < ENOUGH)) {
      return notChecked(
        'The service lists no event types, and too few messages were sent recently to judge.',
      );
    }
    return ok('All event types are delivered.', { evidence });
  },
};
