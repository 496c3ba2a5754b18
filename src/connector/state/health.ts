import { CONNECTION_HEALTH } from '../../contract/connector/connections.ts';
import type { Facts } from './facts.ts';
import { oldestWaitMs } from './figures.ts';
import {
  ageIn,
  describeConsumers,
  describeLapsed,
  describeLateSends,
  describeLetters,
  isLapsed,
  listDelayed,
  listNumbersOf,
  mustPair,
  ofConnections,
  ofConsumers,
  ofQuotas,
  type Read,
} from './read-health.ts';
import { ago, count, some, span } from './wording.ts';

/** The sentence about a value above its limit. */
type Says = string | ((value: number) => string);

/** The doctor's checks that only compare figures with their limits. */
export type FigureCheck =
  | 'connections'
  | 'processes'
  | 'feed'
  | 'sends'
  | 'handler'
  | 'files'
  | 'numbers'
  | 'reading';

/** One figure of the connector's health: where it is read and shown, and what is said above its limits. */
export interface Figure {
  /** Its name, text and labels in `GET /metrics`. */
  readonly metric?: string;
  readonly help?: string;
  readonly labels?: readonly string[];
  readonly read: Read;
  /** The doctor's check that compares it with its limits, and the code of what it finds. The highest sample counts. */
  readonly check?: FigureCheck;
  readonly code?: string;
  readonly warning?: Says;
  /** Default: 0. */
  readonly warningAbove?: number;
  readonly problem?: Says;
  readonly problemAbove?: number;
  readonly evidence?: (facts: Facts) => Promise<readonly string[]>;
  /** `{portal}` stands for the place where people manage licenses. */
  readonly advice?: readonly string[];
}

const UNREADABLE = [
  'The column reason of connector.inbox, the trace of a message, and the log name the fields.',
  'Report this to the operators of the service. If its format has changed, a newer version of the connector may be able to read it; it reads what was kept or left out again by itself.',
];

/** Two pools, and a connection that listens if Postgres carries notifications. */
const CONNECTIONS_OF_PROCESS = 15;

/**
 * The health of the connector: the figures of all processes, as stored in the database. Every process shows the
 * same. The alert rules for these metrics use the same limits.
 */
export const HEALTH: readonly Figure[] = [
  {
    check: 'connections',
    code: 'database_full',
    read: async ({ sessions }) => {
      const { allowed, used } = await sessions();
      return CONNECTIONS_OF_PROCESS - (allowed - used);
    },
    problem: 'The database has almost no free connections.',
    evidence: async ({ sessions }) => {
      const { allowed, used, ours } = await sessions();
      return [
        `${used} of ${allowed} connections are in use, ${ours} of them by connectors. A process uses up to ${CONNECTIONS_OF_PROCESS}.`,
      ];
    },
    advice: [
      'Raise max_connections, run fewer processes, or put pgbouncer in front (transaction mode, ?prepare=false in DATABASE_URL).',
    ],
  },
  {
    check: 'connections',
    code: 'idle_transactions',
    read: async ({ sessions }) => (await sessions()).idleInTransaction,
    warning: (idle) =>
      `${count(idle, 'transaction has', 'transactions have')} been idle for more than a minute.`,
    advice: [
      "Find it with: select pid, usename, application_name, query from pg_stat_activity where state like 'idle in transaction%'.",
    ],
  },
  {
    metric: 'connector_oldest_snapshot_seconds',
    help: 'Age of the oldest transaction that keeps dead rows in the database; 0 if there is none.',
    read: async ({ snapshot, now }) => ageIn(now(), (await snapshot())?.since),
  },
  {
    check: 'processes',
    code: 'no_worker',
    // A process sends a heartbeat every second; its clock may differ from ours.
    read: async ({ workers, now }) => (now() - ((await workers()).last ?? Number.NEGATIVE_INFINITY)) / 1_000,
    problemAbove: 60,
    problem: 'No process polls or sends.',
    evidence: async ({ workers, now }) => [`Last heartbeat: ${ago((await workers()).last, now())}.`],
    advice: ['Start a connector with CONNECTOR_ROLE all or worker. A web process neither polls nor sends.'],
  },
  {
    metric: 'connector_polls_oldest_due_seconds',
    help: 'How late the latest poll is that is due and that no failure delays; 0 if none is.',
    read: async ({ polls, now }) => ageIn(now(), (await polls()).oldestAt),
  },
  {
    check: 'feed',
    code: 'feed_late',
    metric: 'connector_feed_lag_seconds',
    help: 'Age of the oldest committed change without a number; 0 if there is none.',
    read: async ({ feed, now }) => ageIn(now(), (await feed()).oldestAt),
    warningAbove: 10,
    warning: 'Changes are numbered late.',
    problemAbove: 30,
    problem: 'Changes are not numbered, so no reader sees them.',
    evidence: async ({ feed, now }) => {
      const { waiting, oldestAt, lastSeq } = await feed();
      return [
        `${count(waiting, 'batch waits', 'batches wait')} for numbers, the oldest for ${span(oldestWaitMs({ oldestAt }, now()))}; the last number is ${lastSeq}.`,
      ];
    },
    advice: [
      'If no process of the connector runs, start one: every process numbers changes.',
      'Otherwise look in pg_stat_activity for a session that hangs in connector.number_changes: it numbers alone.',
    ],
  },
  {
    metric: 'connector_feed_last_seq',
    help: 'Number of the newest change of the feed.',
    read: async ({ feed }) => (await feed()).lastSeq,
  },
  {
    metric: 'connector_sends_waiting',
    help: 'Sends that are queued or in flight; 10000 means 10000 or more.',
    read: async ({ sends }) => (await sends()).waiting,
  },
  {
    metric: 'connector_sends_oldest_waiting_seconds',
    help: 'Age of the oldest send that is queued or in flight; 0 if there is none.',
    read: async ({ sends, now }) => ageIn(now(), (await sends()).oldestAt),
  },
  {
    check: 'sends',
    code: 'sends_late',
    metric: 'connector_sends_oldest_due_seconds',
    help: 'How late the latest send is that is due, next in its queue, and has not begun; 0 if none is.',
    read: async ({ lateSends, now }) => ageIn(now(), (await lateSends()).oldestAt),
    warningAbove: 60,
    warning: (late) => `Sends are due and have not begun, the latest for ${span(late * 1_000)}.`,
    problemAbove: 300,
    problem: (late) => `Sends stand still, the longest for ${span(late * 1_000)}.`,
    evidence: describeLateSends,
    advice: [
      'The processes are at their limit, files wait for memory, or no process sends (see the check processes). Start another one with CONNECTOR_ROLE worker.',
      'Otherwise look for these connections in the logs of the processes. The metric connector_sends_oldest_due_seconds shows how late sends begin.',
    ],
  },
  {
    check: 'sends',
    code: 'sends_delayed',
    read: async (facts) => (await listDelayed(facts)).length,
    warning: (queues) =>
      `${count(queues, 'queue waits', 'queues wait')} to retry a send that was refused temporarily.`,
    evidence: async (facts) => [
      `${some((await listDelayed(facts)).map((queue) => `${queue.connectionId}: ${queue.lastError}, next attempt in ${span((queue.nextAttemptAt ?? 0) - facts.now())}`))}.`,
    ],
    advice: ['The queue continues by itself. warmup_limited applies to new numbers and ends within hours.'],
  },
  {
    check: 'sends',
    code: 'sends_unknown',
    read: async ({ failedSends }) => (await failedSends()).unknown,
    warning: (unknown) =>
      `${count(unknown, 'send')} of the last 24 h ended as unknown: nobody knows whether the contact received it.`,
    advice: [
      'Check the phone or ask the contact, then call POST /v1/outbound/{id}/retry for those that did not arrive. GET /v1/outbound?state=unknown lists them.',
    ],
  },
  {
    check: 'sends',
    code: 'sends_rejected',
    read: async ({ failedSends }) => (await failedSends()).rejected,
    warning: (rejected) => `${count(rejected, 'send')} of the last 24 h ended as rejected.`,
    evidence: async ({ failedSends }) => [
      `The most frequent reason is ${(await failedSends()).code ?? 'not known'}.`,
    ],
    advice: ['GET /v1/outbound?state=rejected lists them with their reasons.'],
  },
  {
    metric: 'connector_consumer_waiting',
    help: 'Changes that wait for the consumer.',
    labels: ['consumer'],
    read: ofConsumers(({ waiting }) => waiting),
  },
  {
    check: 'handler',
    code: 'consumer_late',
    metric: 'connector_consumer_oldest_waiting_seconds',
    help: 'Age of the oldest change that waits for the consumer; 0 if there is none.',
    labels: ['consumer'],
    read: ofConsumers(({ oldestAt }, now) => ageIn(now, oldestAt)),
    problemAbove: 300,
    problem: 'A consumer does not take changes in time.',
    evidence: describeConsumers,
    advice: [
      'GET /v1/consumers/{id} shows since when it is unavailable, and the errors of its calls; the log of the worker shows their places. The changes of a connection wait until a call succeeds or the change is set aside.',
      'connector_consumer_seconds shows how long calls take. Connections do not delay each other. A handler is called only by processes for which CONNECTOR_HANDLERS is set.',
      'While a consumer is paused or disabled, changes that it has not taken are never deleted: resume it, or delete it with DELETE /v1/consumers/{id}.',
    ],
  },
  {
    metric: 'connector_consumer_parked',
    help: 'Connections that wait because a call of the consumer failed, or are far behind.',
    labels: ['consumer'],
    read: ofConsumers(({ parked }) => parked),
  },
  {
    check: 'handler',
    code: 'dead_letters',
    metric: 'connector_consumer_dead_letters',
    help: 'Changes that the consumer could not process and that wait for an operator.',
    labels: ['consumer'],
    read: ofConsumers(({ deadLetters }) => deadLetters),
    warning: (letters) =>
      `${count(letters, 'change was', 'changes were')} set aside: the consumer failed on ${letters === 1 ? 'it' : 'them'} too often.`,
    evidence: describeLetters,
    advice: [
      'Fix the consumer, then call POST /v1/dead-letters/{id}/replay for each. GET /v1/dead-letters lists them.',
    ],
  },
  {
    check: 'files',
    code: 'files_wait',
    metric: 'connector_media_oldest_waiting_seconds',
    help: 'Age of the oldest file that a worker has not stored or removed yet; 0 if there is none.',
    read: async ({ files, now }) => ageIn(now(), (await files()).oldestAt),
    warningAbove: 3_600,
    warning: 'Files are not stored or removed in time.',
    evidence: async ({ files, now }) => {
      const all = await files();
      return [
        `${count(all.waiting, 'file waits', 'files wait')}, the oldest for ${span(oldestWaitMs(all, now()))}.`,
      ];
    },
    advice: [
      'mediaCopy.error of GET /v1/messages/{id} says what failed last: the service, or the store of MEDIA_STORE.',
      'If MEDIA_STORE is no longer set, no worker takes them: set it until nothing waits.',
    ],
  },
  {
    metric: 'connector_creations_in_doubt',
    help: 'Requests to create a connection whose answer was lost and whose outcome is unknown.',
    read: async ({ creations }) => await creations(),
  },
  {
    metric: 'connector_oauth_grants',
    help: 'OAuth grants, by state.',
    labels: ['state'],
    read: async ({ grants }) => {
      const { active, ended } = await grants();
      return [
        [{ state: 'active' }, active],
        [{ state: 'reauth_required' }, ended],
      ];
    },
  },
  {
    metric: 'connector_connections',
    help: 'Connections of the account, by health.',
    labels: ['account', 'health'],
    read: ofConnections('health', CONNECTION_HEALTH, ({ health }) => health),
  },
  {
    metric: 'connector_licenses_ending',
    help: 'Licenses that end within three days, or whose end has passed while the service was not reached.',
    labels: ['account', 'notice'],
    read: ofConnections('notice', ['ends_soon', 'end_passed'], ({ notice }) => notice),
  },
  {
    metric: 'connector_slots',
    help: 'Slots of the account, by state.',
    labels: ['account', 'state'],
    read: ofQuotas(({ accountId: account, slotsTotal, slotsUsed, slotsAvailable }) => [
      [{ account, state: 'total' }, slotsTotal],
      [{ account, state: 'used' }, slotsUsed],
      [{ account, state: 'available' }, slotsAvailable],
    ]),
  },
  {
    metric: 'connector_slots_next_expiry_timestamp_seconds',
    help: 'The earliest license end of the account.',
    labels: ['account'],
    read: ofQuotas(({ accountId: account, nextExpiry }) =>
      nextExpiry === null ? [] : [[{ account }, nextExpiry / 1_000]],
    ),
  },
  {
    metric: 'connector_connections_need_reconnect',
    help: 'Connections that wait for a scan, as counted by the service.',
    labels: ['account'],
    read: ofQuotas(({ accountId: account, connectionsNeedReconnect: waiting }) => [[{ account }, waiting]]),
  },
  {
    check: 'numbers',
    code: 'license_ended',
    read: async ({ numbers }) => (await numbers()).filter(isLapsed).length,
    problem: (lapsed) =>
      `${count(lapsed, 'connection is', 'connections are')} without a valid license or no longer listed by the service.`,
    evidence: describeLapsed,
    advice: [
      'Renew the license or the add-on {portal}. Until then, these numbers neither send nor receive.',
      'If they were deleted, or the key no longer covers them, no action is needed.',
      'Polling reads what they missed once they are listed again.',
    ],
  },
  {
    check: 'numbers',
    code: 'license_ends',
    read: async ({ numbers }) => (await numbers()).filter(({ notice }) => notice !== null).length,
    warning: (ending) => `${count(ending, 'license ends', 'licenses end')} within 3 days.`,
    evidence: async ({ numbers, now }) => [
      listNumbersOf(await numbers(), ({ notice, licenseExpires }) => {
        const left = (licenseExpires ?? 0) - now();
        return notice !== null && (left > 0 ? ` in ${span(left)}` : ' now');
      }),
    ],
    advice: ['Renew {portal} before then. A connection without a license neither sends nor receives.'],
  },
  {
    check: 'numbers',
    code: 'must_pair',
    read: async ({ numbers }) => (await numbers()).filter(mustPair).length,
    warning: (waiting) => `${count(waiting, 'connection needs', 'connections need')} to be paired again.`,
    evidence: async ({ numbers, now }) => [
      listNumbersOf(
        await numbers(),
        (row) =>
          mustPair(row) &&
          `, reported ${ago(row.since, now())}${row.reason === null ? '' : `: ${row.reason.slice(0, 40)}`}`,
      ),
    ],
    advice: [
      'Call POST /v1/connections/{id}/restart, then show its owner the QR code from GET /v1/connections/{id}/pairing.',
      'Until then its sends fail. They are retried where that is safe.',
    ],
  },
  {
    check: 'numbers',
    code: 'creation_in_doubt',
    read: async ({ abandoned }) => (await abandoned()).length,
    warning: (doubts) =>
      `${count(doubts, 'creation is', 'creations are')} in doubt: whether a connection was created is unknown.`,
    evidence: async ({ abandoned, now }) => [
      `${some((await abandoned()).map(({ label, createdAt, lastError }) => `${label?.slice(0, 40) || 'without label'}, requested ${ago(createdAt, now())} (${lastError ?? 'no answer'})`))}.`,
    ],
    advice: [
      'Compare the connections at the service with GET /v1/connections, and delete those that are not wanted.',
    ],
  },
  ...(['invalid', 'unread'] as const).map(
    (kind): Figure => ({
      check: 'reading',
      code: `deliveries_${kind}`,
      read: async ({ tallies }) => (await tallies()).get(kind)?.count ?? 0,
      warning: (deliveries) =>
        kind === 'invalid'
          ? `${count(deliveries, 'delivery', 'deliveries')} of the last 24 h had no readable id. They are stored as invalid and change nothing.`
          : `${count(deliveries, 'delivery', 'deliveries')} of the last 24 h had fields that could not be read. The fields are null; the rest was merged.`,
      evidence: async ({ tallies, now }) => [
        `The last one arrived ${ago((await tallies()).get(kind)?.lastAt ?? null, now())}.`,
      ],
      advice: UNREADABLE,
    }),
  ),
  {
    check: 'reading',
    code: 'records_unreadable',
    read: async ({ unreadDays }) => (await unreadDays()).length,
    warning: 'The message list contains records without a readable id or connection, which were left out.',
    evidence: async ({ unreadDays }) => [
      `Days on which their pages end: ${some((await unreadDays()).map(({ slot }) => slot.slice(slot.indexOf(':') + 1)))}.`,
    ],
    advice: UNREADABLE,
  },
];
