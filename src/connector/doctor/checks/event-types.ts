import { EVENT_TYPES } from '../../../contract/service/events.ts';
import { WEBHOOK_SEEN } from '../../db/facts.ts';
import type { ServiceFacts } from '../facts.ts';
import { type Check, notChecked, ok, problem } from '../finding.ts';
import { count, howToConsent } from '../wording.ts';

const LATELY_MS = 7 * 24 * 3_600_000;
/** Newest messages of each direction of a connection that are looked at, and connections. */
const SAMPLE = 100;
const CONNECTIONS = 200;
/** So many of a kind without any told by a webhook are no accident. */
const ENOUGH = 3;

const STATUS_EVENTS = WEBHOOK_SEEN.sent | WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read | WEBHOOK_SEEN.failed;

interface Told {
  /** Incoming messages that a webhook told of. */
  readonly received: number;
  /** Outgoing messages with a status, and those of them whose status a webhook told. */
  readonly withStatus: number;
  readonly statusTold: number;
}

/**
 * All event types are delivered. Subscriptions from before the cut-over get `message.received` alone until their
 * owner consents anew. Implements `Events`: subscriptions.
 */
export const eventTypes: Check<ServiceFacts> = {
  id: 'events',
  title: 'event types that are delivered',
  async look({ account, service, database, clock }) {
    const asked = await service.webhook();
    const listed = asked.ok ? asked.value.events : [];
    const absent = listed.length === 0 ? [] : EVENT_TYPES.filter((type) => !listed.includes(type));
    const told = database === null ? null : await readTold(database, account, clock.now() - LATELY_MS);
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

async function readTold(
  db: { query: NonNullable<ServiceFacts['database']>['query'] },
  { id }: ServiceFacts['account'],
  since: number,
): Promise<Told> {
  const [row] = await db.query<Told>(
    `select count(*) filter (where m.direction = 'incoming' and m.webhook_seen <> 0) as received,
            count(*) filter (where m.direction = 'outgoing' and m.status is not null) as "withStatus",
            count(*) filter (where m.direction = 'outgoing' and m.webhook_seen & ${STATUS_EVENTS} <> 0) as "statusTold"
       from (select connection_id from connector.connections
              where account_id = $1 and provider = 'qr' order by connection_id limit ${CONNECTIONS}) c
      cross join (values ('incoming'), ('outgoing')) d(direction)
      cross join lateral (
        select n.direction, n.status, n.webhook_seen from connector.messages n
         where n.connection_id = c.connection_id and n.direction = d.direction and n.created_at >= $2::bigint
         order by n.created_at desc limit ${SAMPLE}) m`,
    [id, since],
  );
  return row ?? { received: 0, withStatus: 0, statusTold: 0 };
}
