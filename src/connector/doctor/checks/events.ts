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
    const { withStatus, statuses, received } = reported ?? { withStatus: 0, statuses: 0, received: 0 };
    if (withStatus > 0) {
      evidence.push(
        `In 7 days, webhooks reported the status of ${statuses} of ${count(withStatus, 'outgoing message')}, ` +
          `and ${count(received, 'incoming message')}.`,
      );
    }
    const isKnown = withStatus >= ENOUGH && (statuses > 0 || received >= ENOUGH);
    if (absent.length > 0 || (isKnown && statuses === 0)) {
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
    if (listed.length === 0 && !isKnown) {
      return notChecked(
        'The service lists no event types, and too few messages were sent or delivered recently to judge.',
      );
    }
    return ok('All event types are delivered.', { evidence });
  },
};
