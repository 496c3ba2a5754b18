import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReconciler } from '../../src/connector/reconcile/reconciler.ts';

import { ManualNotifier } from '../connector/support/manual-notifier.ts';
import { type PollBench, pollBenchesOfFile } from '../connector/support/poll-bench.ts';
import type { Answer, ServiceRequest } from '../connector/support/scripted-service.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** In one of the longest steps below. A poll reads 40 pages of a gap at most. */
const MOST_REQUESTS = 60;

type Json = { readonly [field: string]: unknown };

/** What a service answers for a while in place of a field, an item or a body. Undefined leaves it out. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, '', 'x', 0, -1, 1e18, true, false, [], {}, 'a\0b', '\ud800', 'y'.repeat(20_000)],
  ...['1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z', '2026-01-15', 'read', 'failed'],
];
const PLACES = {
  '/messages': ['id', 'connectionId', 'direction', 'text', 'status', 'createdAt'],
  '/connections': ['id', 'status', 'phoneNumber', 'licenseValid', 'provider', 'licenseStatus'],
} as const;
type Path = keyof typeof PLACES;
const LISTS: readonly ((items: readonly unknown[]) => readonly unknown[])[] = [
  (items) => items.toReversed(),
  (items) => [...items, ...items],
  (items) => items.slice(0, -1),
  (items) => items.slice(1),
  () => [],
];
const WHOLE_ANSWERS: readonly Answer[] = [
  ...[201, 204, 302, 400, 403, 404, 405, 414, 418, 431, 500].map((status) => ({ status, body: '' })),
  { status: 200, body: '<html>' },
  ...[400, 404, 409, 500].map((status) => ({ status, body: { error: 'a_new_one' } })),
  { status: 400, body: { error: 'invalid_request', field: 'cursor' } },
  ...['0', '-5', 'soon', '86400', 'Thu, 01 Jan 1970 00:00:00 GMT'].map((after) => ({
    ...{ status: 503, body: '', headers: { 'retry-after': after } },
  })),
  ...['0', '60', 'soon'].map((after) => ({
    ...{ status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': after } },
  })),
];

/** How the answers to one path change. */
type Change = (answer: Answer, request: ServiceRequest) => Answer;

const listOf = (path: Path): string => path.slice(1);
const withField = (object: unknown, field: string, value: unknown): Json => {
  const { [field]: _, ...others } = object as Json;
  return value === undefined ? others : { ...others, [field]: value };
};

function inBody(change: (body: Json) => unknown): Change {
  return (answer) => (answer.status === 200 ? { ...answer, body: change(answer.body as Json) } : answer);
}

function inList(path: Path, change: (items: readonly unknown[]) => readonly unknown[]): Change {
  return inBody((body) => ({ ...body, [listOf(path)]: change(body[listOf(path)] as unknown[]) }));
}

function changesOf(path: Path): fc.Arbitrary<readonly [string, Change]> {
  const value = fc.constantFrom(...VALUES);
  const named = (what: string, of: unknown): string => `${path} ${what} ${JSON.stringify(of)?.slice(0, 40)}`;
  const field = fc
    .tuple(fc.constantFrom(...PLACES[path]), fc.constantFrom(0, -1), value)
    .map(([name, at, odd]): readonly [string, Change] => [
      named(`${name} of item ${at}`, odd),
      inList(path, (items) =>
        items.map((item, index) =>
          index === (at + items.length) % items.length ? withField(item, name, odd) : item,
        ),
      ),
    ]);
  const envelope = fc
    .tuple(fc.constantFrom(listOf(path), 'nextCursor', 'hasMore'), value)
    .map(([name, odd]): readonly [string, Change] => [
      named(name, odd),
      inBody((body) => withField(body, name, odd)),
    ]);
  const body = value.map((odd): readonly [string, Change] => [
    named('body', odd),
    (answer) => ({ ...answer, body: JSON.stringify(odd) ?? '' }),
  ]);
  const list = fc
    .constantFrom(...LISTS)
    .map((change): readonly [string, Change] => [`${path} ${change}`, inList(path, change)]);
  const whole = fc
    .tuple(fc.constantFrom(...WHOLE_ANSWERS), fc.boolean())
    .map(([odd, onlyCursors]): readonly [string, Change] => [
      named(onlyCursors ? 'by cursor' : '', odd),
      (answer, { query }) => (onlyCursors && !query.has('cursor') ? answer : odd),
    ]);
  return fc.oneof({ weight: 3, arbitrary: field }, envelope, body, list, { weight: 2, arbitrary: whole });
}

const oddity = fc
  .constantFrom(...(Object.keys(PLACES) as Path[]))
  .chain((path) => changesOf(path).map(([name, change]) => ({ path, name, change })));

/** What is missing or behind of what the service has. */
async function missing({ database, service }: PollBench): Promise<readonly string[]> {
  const rows = await database.query<{ id: string; connection_id: string; status: string | null }>(
    'select id, connection_id, status from connector.messages',
  );
  const stored = new Map(rows.map((row) => [`${row.connection_id}/${row.id}`, row]));
  const rank = (status: string | null): number =>
    ['sent', 'delivered', 'read', 'failed'].indexOf(status ?? '');
  return service.messages.flatMap(({ id, connectionId, direction, status }) => {
    const row = stored.get(`${connectionId}/${id}`);
    if (row === undefined) return [`${connectionId}/${id}`];
    return direction === 'outgoing' && rank(row.status) < rank(status) ? [`${id}: ${row.status}`] : [];
  });
}

const { openBench } = pollBenchesOfFile();

test('nothing is lost to answers that are odd for a while, and no poll asks without end', async () => {
  const seed = WHOLE ? {} : { seed: 1 };
  const property = fc.asyncProperty(oddity, async ({ path, change }) => {
    const bench = await openBench();
    const { service, clock } = bench;
    const reconciler = createReconciler({
      ...bench.poller,
      ...{ random: () => 0.5, notifier: new ManualNotifier(), intervalMs: 45 * SECOND },
    });
    const add = (count: number): void => {
      for (const connection of ['c1', 'c2'])
        for (let index = 0; index < count; index += 1)
          service.addMessage(connection, clock.now() - (count - index) * SECOND, {
            ...(index % 2 === 0 ? {} : { direction: 'outgoing', status: 'sent' }),
          });
    };
    const step = async (ms: number): Promise<void> => {
      const before = service.requests.length;
      await clock.advance(ms);
      await reconciler.settle();
      expect(service.requests.length - before).toBeLessThanOrEqual(MOST_REQUESTS);
    };
    try {
      service.pageSize = 3;
      service.addConnection('c1');
      service.addConnection('c2', { phoneNumber: '491701234568' });
      add(7);
      await reconciler.start();
      await reconciler.settle();
      await step(45 * SECOND);
      service.change = (request, answer) => (request.path === path ? change(answer, request) : answer);
      for (const round of [1, 2, 3, 4, 5]) {
        add(2);
        if (round === 3)
          for (const one of service.messages) if (one.status === 'sent') one.status = 'delivered';
        await step(45 * SECOND);
      }
      service.change = (_, answer) => answer;
      add(2);
      for (let minutes = 0; minutes < 60 && (await missing(bench)).length > 0; minutes += 5)
        await step(5 * MINUTE);
      expect(await missing(bench)).toEqual([]);
      const listed = await bench.database.query(
        `select connection_id as id from connector.connections
          where connection_id in ('c1', 'c2') and status = 'open' and visible order by 1`,
      );
      expect(listed).toEqual([{ id: 'c1' }, { id: 'c2' }]);
    } finally {
      await reconciler.close();
      await bench.close();
    }
  });
  await fc.assert(property, { numRuns: WHOLE ? 600 : 60, ...seed });
});
