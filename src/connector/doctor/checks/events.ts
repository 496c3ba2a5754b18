import { EVENT_TYPES } from '../../../contract/service/events.ts';
import { readTold } from '../../state/messages.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem } from '../finding.ts';
import { count, howToConsent } from '../wording.ts';

const LATELY_MS = 7 * 24 * 3_600_000;
/** If this many are missing, it is not a coincidence. */
const ENOUGH = 3;

/**
 * All event types are delivered. Subscriptions from before the cut-over only receive `message.received` until
 * their owner consents again.
 */
export const eventsCheck: Check<ServiceCheckInput> = {
  id: 'events',
  title: 'event types that are delivered',
  async look({ account, service, database, clock }) {
    const asked = await service.webhook();
    const listed = asked.ok ? asked.value.events : [];
    const absent = listed.length === 0 ? [] : EVENT_TYPES.filter((type) => !listed.includes(type));
    const told = database === null ? null : await readTold(database, account.id, clock.now() - LATELY_MS);
    const evidence: string[] = [];
    if (absent.length > 0) evidence.push(`GET /webhook names ${listed.join(', ')} alone.`);
    if (told !== null && told.withStatus > 0) {
      evidence.push(
        `Of ${count(told.withStatus, 'outgoing message')} of 7 days with a status, a webhook told the status of ${told.statusTold}; ` +
          `it told of ${count(told.received, 'incoming message')}.`,
      );
    }
    const silent =
      told !== null && told.withStatus >= ENOUGH && told.statusTold === 0 && told.received >= ENOUGH;
    if (absent.length > 0 || silent) {
      return problem('The service delivers message.received alone: this is an old consent.', {
        evidence,
        advice: [
          account.kind === 'oauth'
            ? `Subscriptions from before the cut-over need a new consent. ${howToConsent(account.id)}`
            : 'Have the owner of the connections consent to the app anew: subscriptions from before the cut-over need it.',
          'Until then statuses and outages are found by polling, so they come later.',
        ],
      });
    }
    if (listed.length === 0 && (told === null || told.withStatus < ENOUGH)) {
      return notChecked('The service names no event types, and too few messages were sent lately to tell.');
    }
    return ok('All event types are delivered.', { evidence });
  },
};
