import { Skip } from '../../runner/check.ts';
import { entriesOf, type IntegrationContext, type Mark, type RecordedCall, violate } from '../context.ts';
import { inSection, TIMEOUT_MS } from '../integration-check.ts';

const SECTION = 'Delivery and signature';
/** The longest interval between two polls, with some seconds for the poll itself. */
const LONGEST_MS = 65_000;
const SHORTEST_MS = 28_000;
/** How long a poll may take. */
const ONE_POLL_MS = 10_000;
/** A page that is read so soon after another one belongs to the same poll. */
const NEXT_PAGE_MS = 2_000;
const WATCHED_MS = 200_000;
/** More than two of the largest pages. */
const LOST = 201;
const PAGES = 3;
/** How often the delivery of an event is looked up. */
const DELIVERY_READS = 10;

/** When polls began: calls that follow each other closely are one poll. */
const startsOf = (calls: readonly RecordedCall[]): readonly number[] =>
  calls
    .map(({ at }) => at)
    .filter((at, index, all) => index === 0 || at - (all[index - 1] ?? at) > NEXT_PAGE_MS);

/** How many pages the longest of these polls has read. Each begins without a cursor. */
function mostPages(calls: readonly RecordedCall[]): number {
  let pages = 0;
  return Math.max(
    0,
    ...calls
      .filter(({ status }) => status === 200)
      .map(({ query }) => (pages = /\bcursor=[^&]/.test(query) ? pages + 1 : 1)),
  );
}

/** The polls of one connection, or of all at once, while nothing happens. */
interface Watched {
  readonly calls: readonly RecordedCall[];
  readonly polls: number;
  /** The times between two of them, in milliseconds. */
  readonly between: readonly number[];
}

/** Each connection may be polled by itself. Those that are polled most often come first. */
function watch(context: IntegrationContext): Promise<readonly Watched[]> {
  return context.once('polls of some minutes', async () => {
    const mark = await context.mark();
    await context.sleep(WATCHED_MS);
    const all = await mark.calls('GET', '/messages');
    return [...Map.groupBy(all, ({ connectionId }) => connectionId).values()]
      .map((calls) => {
        const starts = startsOf(calls);
        const between = starts.slice(1).map((at, index) => at - (starts[index] ?? at));
        return { calls, polls: starts.length, between };
      })
      .toSorted((one, other) => other.polls - one.polls);
  });
}

/** Messages that no event has reported, and the calls since then. */
interface Gap {
  readonly mark: Mark;
  readonly ids: readonly string[];
}

/** A contact writes more messages than fit on two pages, and no event reports them. */
async function loseEvents(context: IntegrationContext, connectionId: string): Promise<Gap> {
  await context.fault({ match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' });
  const from = context.newPhone();
  const body = { connectionId, text: 'Certify', times: LOST };
  const mark = await context.mark();
  await context.control('POST', `/contacts/${from}/messages`, body);
  await context.control('DELETE', '/faults');
  const written = entriesOf(
    await context.control('GET', `/messages?q=${encodeURIComponent(`contact:${from}`)}&limit=${LOST}`),
  );
  return { mark, ids: written.map(({ id }) => String(id)) };
}

/** @throws Violation unless all are stored once, or, without an observer, the next poll reads as many pages */
async function demandRepair(context: IntegrationContext, { mark, ids }: Gap): Promise<void> {
  const { observer } = context.inputs;
  const isDeep = (calls: readonly RecordedCall[]): boolean =>
    [...Map.groupBy(calls, ({ connectionId }) => connectionId).values()].some(
      (own) => mostPages(own) >= PAGES,
    );
  let counts: readonly number[] = [];
  const isRepaired = async (calls: readonly RecordedCall[]): Promise<boolean> => {
    if (observer === undefined) return isDeep(calls);
    const seen = await observer();
    counts = ids.map((id) => seen.get(id)?.count ?? 0);
    return counts.every((count) => count === 1);
  };
  if ((await mark.until('GET', '/messages', isRepaired, LONGEST_MS + ONE_POLL_MS)) !== undefined) return;
  const calls = await mark.calls('GET', '/messages');
  if (calls.length === 0) violate('GET /messages at least every 60 s', 'no GET /messages', calls, POLL);
  if (observer === undefined) violate(`${PAGES} pages are read`, 'fewer pages in each poll', calls);
  const [once, often] = [counts.filter((count) => count === 1), counts.filter((count) => count > 1)];
  const twice = often.length === 0 ? '' : `, ${often.length} are there more than once`;
  const found = `${once.length} are${twice}`;
  violate(`${ids.length} messages are stored once`, found, calls, often.length > 0 ? ONCE : undefined);
}

/** Polls that read back far enough. */
const readBack = (context: IntegrationContext): Promise<void> =>
  context.once('polls that read back far enough', async () =>
    demandRepair(context, await loseEvents(context, await context.connection('qr'))),
  );

const POLL =
  'Poll GET /messages every 30 to 60 s, and follow nextCursor until you reach what an earlier poll has seen: src/patterns/reconcile-walk.ts.';
const ONCE =
  'A message that an event and a poll report is one: a unique index on the message id, which is the same in both.';

/** How an integration reads what no event reported. Implements `Delivery and signature`. */
export const pollChecks = inSection(SECTION, [
  {
    id: 'poll.pages',
    rule: 'After events were lost, the next poll reads as many pages as the gap has, and what it reads is stored.',
    hint: POLL,
    run: readBack,
  },
  {
    id: 'poll.past-event',
    rule: 'A newer event that arrives does not hide the older ones that were lost.',
    hint: 'Only a poll may move the mark up to which everything was seen, never an event: src/patterns/reconcile-walk.ts.',
    async run(context) {
      await readBack(context);
      const connectionId = await context.connection('qr');
      const { mark, ids } = await loseEvents(context, connectionId);
      const body = { connectionId, text: 'Certify, after the gap' };
      const written = await context.control('POST', `/contacts/${context.newPhone()}/messages`, body);
      const { messageId } = written.json as { messageId: string };
      for (let reads = 0; ; reads++) {
        const list = await context.control('GET', `/deliveries?q=message:${messageId}&limit=1`);
        const [delivery] = entriesOf(list);
        if (delivery?.['outcome'] === 'delivered') break;
        if (delivery?.['reason'] === 'no_webhook')
          throw new Skip('the integration has no webhook, so no event hides anything', 'a webhook');
        if (reads < DELIVERY_READS) await context.sleep(500);
        else
          throw new Skip(
            `the webhook of the integration takes no events: ${delivery?.['outcome'] ?? 'none was sent'}`,
          );
      }
      await demandRepair(context, { mark, ids: [...ids, messageId] });
    },
  },
  {
    id: 'poll.often',
    rule: 'GET /messages is polled at least every 60 s.',
    needs: ['patience'],
    timeoutMs: WATCHED_MS + TIMEOUT_MS,
    hint: 'Events can be lost, so keep polling while events arrive: docs/patterns.md#reconcile-walk.',
    async run(context) {
      const [{ calls = [], between = [] } = {}] = await watch(context);
      if (between.length < 2)
        violate('several polls in 200 s', `${calls.length} calls of GET /messages`, calls);
      const longest = Math.max(...between);
      if (longest > LONGEST_MS)
        violate('at most 60 s', `${Math.round(longest / 1_000)} s between two polls`, calls);
    },
  },
  {
    id: 'poll.sparing',
    rule: 'While nothing is missing, GET /messages is polled at most every 30 s.',
    level: 'should',
    needs: ['patience'],
    timeoutMs: WATCHED_MS + TIMEOUT_MS,
    hint: 'Events report what is new within a second. A poll only repairs, so 30 to 60 s are enough.',
    async run(context) {
      const [{ calls = [], polls = 0 } = {}] = await watch(context);
      const limit = Math.ceil(WATCHED_MS / SHORTEST_MS);
      if (polls > limit) violate(`at most ${limit} polls in 200 s`, `${polls}`, calls);
    },
  },
]);
