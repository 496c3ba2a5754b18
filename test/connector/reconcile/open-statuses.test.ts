import { beforeEach, describe, expect, it } from 'vitest';
import {
  dueHorizon,
  findOpenStatuses,
  HORIZONS,
  horizonsWithin,
} from '../../../src/connector/reconcile/sweep-statuses.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the horizon that is due', () => {
  const now = { at: 100 * DAY, reference: 130 * DAY };
  const swept = (minutesAgo: Partial<Record<string, number>>) =>
    new Map(
      Object.entries(minutesAgo).map(([name, minutes = 0]) => {
        const moment = { at: now.at - minutes * MINUTE, reference: now.reference - minutes * MINUTE };
        return [name, moment] as const;
      }),
    );
  const recent = { '7d': 1, '24h': 1, '1h': 1, '5m': 1 };

  it('is the widest one if there was no sweep', () => {
    expect(dueHorizon(new Map(), now)?.name).toBe('7d');
  });

  it.each([
    [recent, '5m'],
    [{ ...recent, '1h': 9.9 }, '5m'],
    [{ ...recent, '1h': 10 }, '1h'],
    [{ ...recent, '24h': 60 }, '24h'],
    [{ '7d': 1_440, '24h': 60, '1h': 10, '5m': 1 }, '7d'],
    [{ ...recent, '7d': -5 }, '7d'],
  ])('after sweeps %j minutes ago is %s', (minutesAgo, expected) => {
    expect(dueHorizon(swept(minutesAgo), now)?.name).toBe(expected);
  });

  it('becomes due by either clock', () => {
    expect(dueHorizon(swept(recent), { ...now, at: now.at + 9 * MINUTE })?.name).toBe('1h');
    expect(dueHorizon(swept(recent), { ...now, reference: now.reference + 2 * HOUR })?.name).toBe('24h');
  });

  it('includes the narrower ones', () => {
    expect(horizonsWithin('24h')).toEqual(['5m', '1h', '24h']);
    expect(horizonsWithin('full')).toEqual(HORIZONS.map((horizon) => horizon.name));
  });
});

describe('the open statuses of an account', () => {
  const database = databaseOfFile();

  it('are found by statements of 100 connections each, so that no statement grows with the account', async () => {
    await database.query(
      `insert into connector.connections (connection_id, account_id, visible, version, updated_at)
       select 'c' || i, 'a1', i <> 250, 1, 1 from generate_series(1, 250) i`,
    );
    await database.query(
      `insert into connector.messages (connection_id, id, account_id, direction, status, created_at, first_seen_by,
                                       first_seen_at, polled, change_mask, webhook_seen, status_conflict)
       select 'c' || i, 'm' || i, 'a1', 'outgoing', 'sent', 1000 - i, 'send', 1, true, 0, 0, false
         from generate_series(1, 250) i`,
    );
    let statements = 0;
    const counted: Queryable = {
      ...database,
      query: (...given: Parameters<Queryable['query']>) => {
        statements += 1;
        return database.query(...given);
      },
    } as Queryable;
    expect(await findOpenStatuses(counted, 'a1', 800)).toEqual({ open: 200, oldest: 800 });
    expect(statements).toBe(3);
    expect(await findOpenStatuses(database, 'a1', 1_000)).toEqual({ open: 0, oldest: null });
    expect(await findOpenStatuses(database, 'a1', 800, 900)).toEqual({ open: 100, oldest: 800 });
  });
});

describe('a sweep', () => {
  const bench = pollBenchOfTest();
  beforeEach(async () => {
    bench.service.addConnection('c1', { provider: 'cloud_api' });
  });

  /** An open outgoing message of that age, with enough newer ones above it that no first page shows it. */
  function addOpen(ageMs: number, above = 250) {
    const sent = { direction: 'outgoing', status: 'sent' } as const;
    const message = bench.service.addMessage('c1', bench.clock.now() - ageMs, sent);
    // Well below the newest one, so that the walk of each poll ends among them.
    for (let index = 0; index < above; index += 1) {
      bench.service.addMessage('c1', bench.clock.now() - ageMs * 0.75 + index);
    }
    bench.service.addMessage('c1', bench.clock.now());
    return message;
  }

  async function statusOf(id: string): Promise<string | null> {
    const [row] = await bench.database.query<{ status: string | null }>(
      'select status from connector.messages where id = $1',
      [id],
    );
    return row?.status ?? null;
  }

  /** Polls as the period does, over this time. */
  async function pollFor(ms: number, everyMs = 45_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += everyMs) {
      await bench.clock.advance(everyMs);
      await bench.poll();
    }
  }

  it.each([
    ['four minutes', 4 * MINUTE, 45_000],
    ['half an hour', 30 * MINUTE, 10 * MINUTE + 45_000],
    ['twelve hours', 12 * HOUR, HOUR + 5 * MINUTE],
  ])('finds a late status of a message %s old', async (_what, ageMs, withinMs) => {
    const message = addOpen(ageMs);
    await bench.poll();
    message.status = 'read';
    await pollFor(withinMs, Math.min(withinMs, 5 * MINUTE));
    expect(await statusOf(message.id)).toBe('read');
  });

  it('finds a late status of a message three days old once a day has passed', async () => {
    const message = addOpen(3 * DAY);
    await bench.poll();
    message.status = 'delivered';
    await pollFor(HOUR, 30 * MINUTE);
    expect(await statusOf(message.id)).toBe('sent');
    await pollFor(DAY, 12 * HOUR);
    expect(await statusOf(message.id)).toBe('delivered');
  });

  it('gives up on a message older than seven days and counts it', async () => {
    const message = addOpen(8 * DAY);
    await bench.poll();
    message.status = 'read';
    await pollFor(2 * DAY, 12 * HOUR);
    expect(await statusOf(message.id)).toBe('sent');
    const [state] = await bench.database.query('select unresolved from connector.poll_states');
    expect(state).toEqual({ unresolved: 1 });
  });

  it('costs nothing beyond the walk if no status is open', async () => {
    bench.service.addMessages('c1', 250, (index) => bench.clock.now() - DAY + index);
    await bench.poll();
    bench.service.requests = [];
    await bench.clock.advance(HOUR);
    await bench.poll();
    expect(bench.service.countRequests('/messages')).toBe(3);
  });

  it('covers everything on demand', async () => {
    const message = addOpen(6 * DAY);
    await bench.poll();
    await bench.clock.advance(MINUTE);
    message.status = 'failed';
    await bench.poll({ onDemand: true });
    expect(await statusOf(message.id)).toBe('failed');
  });

  it('covers everything after a failure, including messages that became older than seven days in the meantime', async () => {
    const message = addOpen(6 * DAY);
    await bench.poll();
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await bench.clock.advance(3 * DAY);
    expect(await bench.poll()).toMatchObject({ kind: 'failed' });
    bench.service.fault = () => undefined;
    bench.service.addMessage('c1', bench.clock.now());
    message.status = 'read';
    await bench.clock.advance(MINUTE);
    await bench.poll();
    expect(await statusOf(message.id)).toBe('read');
  });

  it('does not trust times in the future: messages dated there are read with each poll', async () => {
    const ahead = 30 * DAY;
    bench.service.addMessage('c1', bench.clock.now() + ahead - 10 * MINUTE);
    const sent = { direction: 'outgoing', status: 'sent' } as const;
    const message = bench.service.addMessage('c1', bench.clock.now() + ahead - 50 * MINUTE, sent);
    for (let index = 0; index < 250; index += 1) {
      bench.service.addMessage('c1', bench.clock.now() + ahead - 40 * MINUTE + index);
    }
    bench.service.addMessage('c1', bench.clock.now() + ahead);
    await bench.poll();
    message.status = 'read';
    bench.service.requests = [];
    await pollFor(2 * MINUTE, MINUTE);
    // Three pages hold it all, so each poll costs three.
    expect(bench.service.countRequests('/messages')).toBe(6);
    expect(await statusOf(message.id)).toBe('read');
  });

  it('continues where its budget ended', async () => {
    const message = addOpen(3 * HOUR, 900);
    await bench.poll();
    message.status = 'read';
    await bench.clock.advance(90 * MINUTE);
    const small = { coverage: 40, visibility: 20, sweep: 2 };
    expect(await bench.poll({ budget: small })).toMatchObject({ kind: 'done', cycle: { closed: false } });
    expect(await statusOf(message.id)).toBe('sent');
    for (let polls = 0; polls < 5; polls += 1) await bench.poll({ budget: small });
    expect(await statusOf(message.id)).toBe('read');
    const open = `select count(*) as count from connector.gaps where account_id = $1 and kind = 'sweep'`;
    expect(await bench.database.query(open, [ACCOUNT])).toEqual([{ count: 0 }]);
  });

  it('skips hidden connections, about which the service reports nothing', async () => {
    addOpen(30 * MINUTE);
    const hidden = bench.service.addConnection('c2');
    bench.service.addSent('c2', bench.clock.now() - 25 * MINUTE);
    await bench.poll();
    for (const message of bench.service.messages) if (message.connectionId === 'c1') message.status = 'read';
    hidden.licenseValid = false;
    await pollFor(11 * MINUTE, MINUTE);
    bench.service.requests = [];
    await pollFor(11 * MINUTE, 11 * MINUTE);
    // The newest page alone.
    expect(bench.service.countRequests('/messages')).toBe(1);
  });
});
