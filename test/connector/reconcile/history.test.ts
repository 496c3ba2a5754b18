import { beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { releaseConnections } from '../../../src/connector/db/connection-rows.ts';
import { received } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;
const PAGE = 10;
const bench = pollBenchOfTest();
let start: number;

beforeEach(async () => {
  start = bench.clock.now();
  bench.service.pageSize = PAGE;
  bench.service.addConnection('c1');
});

/** Ids of the stored messages that are history, and of the others. */
async function stored(): Promise<{ historic: string[]; others: string[] }> {
  const rows = await bench.database.query<{ id: string; historic: boolean }>(
    'select id, historic from connector.messages order by created_at, id',
  );
  const ids = (historic: boolean) => rows.filter((row) => row.historic === historic).map(({ id }) => id);
  return { historic: ids(true), others: ids(false) };
}

/** So many messages of a connection, one for each day, the first one a day before now; their ids, oldest first. */
function daily(count: number, connectionId = 'c1'): string[] {
  const ages = Array.from({ length: count }, (_, index) => count - index);
  return ages.map((days) => bench.service.addMessage(connectionId, start - days * DAY).id);
}

const pagesRead = (): number => bench.service.requests.filter(({ path }) => path === '/messages').length;

describe('messages that are older than the first listing of their connection', () => {
  it('are historic if polling finds them; what arrives during the walk is not', async () => {
    const old = daily(25);
    let during: string | undefined;
    bench.service.onRequest = ({ path, query }) => {
      if (path !== '/messages' || query.get('cursor') === null || during !== undefined) return;
      during = bench.service.addMessage('c1', bench.clock.now() + 1).id;
    };
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
    await bench.clock.advance(MINUTE);
    const after = bench.service.addMessage('c1', bench.clock.now()).id;
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
    expect(await stored()).toEqual({ historic: old, others: [during, after] });
  });

  it('are not historic if a webhook reports them, however old they are', async () => {
    await bench.poll();
    const { id } = bench.service.addMessage('c1', start - 30 * DAY);
    const message = received('c1', id, { accountId: ACCOUNT, createdAt: start - 30 * DAY });
    await commitBatch(bench.database, { now: bench.clock.now(), messages: [message] });
    await bench.poll({ onDemand: true });
    expect(await stored()).toEqual({ historic: [], others: [id] });
  });

  it('are historic as well if the connection is added to the account later', async () => {
    const first = daily(3);
    await bench.poll();
    await bench.clock.advance(2 * DAY);
    bench.service.addConnection('c2');
    const between = bench.service.addMessage('c2', start + DAY).id;
    const older = daily(3, 'c2');
    const after = bench.service.addMessage('c1', start + DAY).id;
    await bench.poll();
    const { historic, others } = await stored();
    expect(historic.toSorted()).toEqual([...first, ...older, between].toSorted());
    expect(others).toEqual([after]);
  });

  it.each([
    ['was removed', () => releaseConnections(bench.database, ACCOUNT, start)],
    ['no longer lists it', () => bench.database.query('update connector.connections set visible = false')],
  ])(
    'are not those that came before an account takes the connection over from one that %s',
    async (_, lose) => {
      const old = daily(3);
      await bench.poll();
      await lose();
      await bench.database.query(`update connector.connections set account_id = 'another'`);
      await bench.clock.advance(2 * DAY);
      const between = bench.service.addMessage('c1', start + DAY).id;
      await bench.poll();
      expect(await stored()).toEqual({ historic: old, others: [between] });
    },
  );

  it('keep being historic in their changes, with what happens to them later', async () => {
    const { id } = bench.service.addSent('c1', start - DAY);
    await bench.poll();
    const [message] = bench.service.messages;
    if (message !== undefined) message.status = 'read';
    await bench.poll({ onDemand: true });
    const changes = await bench.database.query(
      'select type, historic from connector.changes where message_id = $1 order by batch, position',
      [id],
    );
    expect(changes).toEqual([
      { type: 'message.created', historic: true },
      { type: 'message.status', historic: true },
    ]);
  });

  it('are measured by the clock of the service if it is behind', async () => {
    bench.service.date = start - 10 * MINUTE;
    const before = bench.service.addMessage('c1', start - 11 * MINUTE).id;
    const after = bench.service.addMessage('c1', start - 9 * MINUTE).id;
    await bench.poll();
    expect(await stored()).toEqual({ historic: [before], others: [after] });
  });
});

describe('a limit of the history', () => {
  const limited = { historyDays: 30 };

  it('ends the first walk there, and stores nothing older', async () => {
    const ids = daily(400);
    await bench.poll({}, limited);
    expect(await stored()).toEqual({ historic: ids.slice(-30), others: [] });
    // The pages of 30 days, those of the overlap, and one that lies completely below.
    expect(pagesRead()).toBeLessThanOrEqual(5);
    const read = pagesRead();
    await bench.clock.advance(MINUTE);
    await bench.poll({}, limited);
    expect(pagesRead() - read).toBeLessThanOrEqual(2);
    expect((await stored()).historic).toHaveLength(30);
  });

  it('stays where it was: what an outage of polling hides later is found', async () => {
    daily(40);
    await bench.poll({}, limited);
    await bench.clock.advance(90 * DAY);
    const missed = Array.from(
      { length: 60 },
      (_, day) => bench.service.addMessage('c1', start + (day + 1) * DAY).id,
    );
    for (let polls = 0; polls < 3; polls += 1) await bench.poll({ onDemand: true }, limited);
    expect(await stored()).toMatchObject({ others: missed });
    expect((await stored()).historic).toHaveLength(30);
  });

  it('applies to a connection that is added later, from then on', async () => {
    await bench.poll({}, limited);
    await bench.clock.advance(10 * DAY);
    bench.service.addConnection('c2');
    daily(40, 'c2');
    await bench.poll({}, limited);
    // Thirty days before its first listing are twenty before the start.
    expect((await stored()).historic).toHaveLength(20);
  });

  it('of 0 days stores nothing from before, and everything from then on', async () => {
    daily(15);
    await bench.poll({}, { historyDays: 0 });
    await bench.clock.advance(MINUTE);
    const { id } = bench.service.addMessage('c1', bench.clock.now());
    await bench.poll({}, { historyDays: 0 });
    expect(await stored()).toEqual({ historic: [], others: [id] });
  });

  it('does not hide a message whose time cannot be read', async () => {
    const { id } = bench.service.addMessage('c1', start - 60 * DAY, { shown: { createdAt: 'long ago' } });
    await bench.poll({}, limited);
    expect(await stored()).toEqual({ historic: [], others: [id] });
  });

  it('is not changed for known connections by another setting', async () => {
    daily(60);
    await bench.poll({}, limited);
    await bench.poll({ onDemand: true }, { historyDays: 5 });
    await bench.poll({ onDemand: true });
    expect((await stored()).historic).toHaveLength(30);
  });
});
