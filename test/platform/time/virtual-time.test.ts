import { beforeEach, describe, expect, test } from 'vitest';
import { sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { insertTimers } from '../../../src/platform/time/timers.ts';
import { createMuteDatabase } from '../../support/mute-database.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('virtual time', () => {
  const clock = new WatchedClock();
  const service = ofFile(() =>
    startTestPlatform({
      clock,
      ports: { random: () => 0.999 },
      wrapDatabase(database) {
        muted = createMuteDatabase(database);
        return muted.database;
      },
    }),
  );
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  let muted: ReturnType<typeof createMuteDatabase>;
  beforeEach(async () => {
    await service.platform.reset();
    await service.platform.time.run();
    seeded = await seedWorkspace(service);
  });

  const to = (digit: number): string => `491560000000${digit}`;

  async function send(digit: number): Promise<string> {
    const body = { connectionId: seeded.connectionId, to: to(digit), text: `to ${digit}` };
    const answer = await service.call('POST', '/messages', { key: seeded.key, body });
    return sendMessageAnswer.parse(answer.body).messageId ?? '';
  }

  async function behave(digit: number, deliverAfterMs: number | null, readAfterMs: number | null = null) {
    await service.platform.contacts.put(to(digit), { deliverAfterMs, readAfterMs });
  }

  /** Runs `work`, during which the first query with these words fails. */
  async function failOne<T>(words: string, work: () => Promise<T>): Promise<T> {
    const heard = muted.mute(words);
    const working = work();
    await heard;
    muted.speak();
    muted.giveUp();
    return working;
  }

  const ledger = async () => (await service.platform.ledger.read({}, 100_000)).slice(0);

  test('an advance fires due timers in order, each at its own time', async () => {
    const start = service.platform.time.now();
    await behave(1, 3 * HOUR);
    await behave(2, 1 * HOUR, 4 * HOUR);
    await behave(3, 2 * HOUR, 100 * DAY);
    const [one, two, three] = [await send(1), await send(2), await send(3)];
    const { now, fired } = await service.platform.time.advance({ ms: 5 * HOUR });
    expect(now).toBe(start + 5 * HOUR);
    expect(fired.map(({ at, what }) => [(at - start) / HOUR, what])).toEqual([
      [1, 'receipt.delivered'],
      [2, 'receipt.delivered'],
      [3, 'receipt.delivered'],
      [4, 'receipt.read'],
    ]);
    const told = (await ledger()).filter((entry) => entry.status !== 'sent');
    expect(told.map((entry) => [entry.messageId, entry.status, (entry.at - start) / HOUR])).toEqual([
      [two, 'delivered', 1],
      [three, 'delivered', 2],
      [one, 'delivered', 3],
      [two, 'read', 4],
    ]);
  });

  test('a message that is written during an advance has the time of its timer', async () => {
    const start = service.platform.time.now();
    await service.platform.contacts.put(to(1), { deliverAfterMs: HOUR, readAfterMs: null, autoReply: 'hi' });
    await behave(2, 3 * HOUR);
    await send(1);
    await send(2);
    await service.platform.time.advance({ ms: 5 * HOUR });
    const page = await service.call('GET', '/messages?limit=1', { key: seeded.key });
    expect(page.body).toMatchObject({
      messages: [{ text: 'hi', createdAt: new Date(start + HOUR + 1_000).toISOString() }],
    });
  });

  test('thousands fire in order', async () => {
    const start = service.platform.time.now();
    const count = 3_000;
    const message = await send(9);
    await insertTimers(
      service.database,
      Array.from({ length: count }, (_, index) => ({
        kind: 'receipt.delivered',
        dueAt: start + ((index * 7_919) % count),
        payload: { messageId: message, status: 'delivered', at: start },
      })),
    );
    const { fired } = await service.platform.time.advance({ to: start + count });
    const times = fired.map((timer) => timer.at);
    expect(times.length).toBeGreaterThanOrEqual(count);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('only moves forward', async () => {
    const { time } = service.platform;
    const now = time.now();
    const tries = [
      { ms: -1 },
      { ms: 1.5 },
      { ms: Number.NaN },
      { ms: 1e300 },
      { to: now - 1 },
      { to: 8.64e15 },
    ];
    for (const step of tries) {
      await expect(time.advance(step)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    expect(time.now()).toBe(now);
    expect(await time.advance({ ms: 0 })).toEqual({ now, fired: [] });
    expect((await time.advance({ to: now + 7 })).now).toBe(now + 7);
  });

  test('says what is due next', async () => {
    await behave(1, HOUR, 2 * HOUR);
    await send(1);
    const start = service.platform.time.now();
    expect((await service.platform.time.due(10)).map(({ at, what }) => [at - start, what])).toEqual([
      [HOUR, 'receipt.delivered'],
      [2 * HOUR, 'receipt.read'],
    ]);
    expect(await service.platform.time.due(1)).toHaveLength(1);
  });

  test('timers that cannot be read fire a second after they can', async () => {
    await behave(1, 5_000);
    await send(1);
    const rename = (from: string, to: string) =>
      service.database.query(`ALTER TABLE platform.${from} RENAME TO ${to}`);
    await rename('timers', 'lost_timers');
    try {
      clock.forget();
      await clock.advance(5_000);
      await clock.timerSet(1_000);
    } finally {
      await rename('lost_timers', 'timers');
    }
    await clock.advance(1_000);
    await expect
      .poll(async () => (await ledger()).map(({ status }) => status))
      .toEqual(['sent', 'delivered']);
  });

  test('timers that could not be read fire first, whatever else is armed meanwhile', async () => {
    await behave(1, 5_000);
    await behave(2, DAY);
    await send(1);
    clock.forget();
    await failOne('from platform.timers', () => clock.advance(5_000));
    await clock.timerSet(1_000);
    await send(2);
    await clock.advance(1_000);
    await expect.poll(async () => (await ledger()).map(({ status }) => status)).toContain('delivered');
  });

  test('time goes on after an advance whose end could not be saved', async () => {
    const { time } = service.platform;
    const start = time.now();
    await behave(1, HOUR, HOUR + 5_000);
    await send(1);
    await failOne('update platform.service_state', () =>
      expect(time.advance({ ms: HOUR })).rejects.toThrow('the database did not respond'),
    );
    expect(time.now()).toBe(start + HOUR);
    await clock.advance(5_000);
    await service.platform.settle();
    expect(time.now()).toBe(start + HOUR + 5_000);
    expect((await ledger()).map(({ status }) => status)).toEqual(['sent', 'delivered', 'read']);
  });

  test('timers fire after time was started, even if the next one could not be read', async () => {
    const { time } = service.platform;
    await behave(1, 5_000);
    await send(1);
    await time.freeze();
    clock.forget();
    await failOne('from platform.timers', () => time.run());
    await clock.pass(1_000);
    await clock.pass(4_000);
    await expect.poll(async () => (await ledger()).map(({ status }) => status)).toContain('delivered');
  });

  test('runs with the wall clock, and fires timers', async () => {
    await behave(1, 5_000);
    const message = await send(1);
    const before = service.platform.time.now();
    await service.clock.advance(5_000);
    await service.platform.settle();
    expect(service.platform.time.now()).toBe(before + 5_000);
    expect((await ledger()).map((entry) => [entry.messageId, entry.status])).toEqual([
      [message, 'sent'],
      [message, 'delivered'],
    ]);
  });

  test('timers fire after the clock of the machine was set back', async () => {
    await behave(1, 5_000);
    await send(1);
    service.clock.jump(-HOUR);
    await service.clock.advance(5_000);
    await service.platform.settle();
    expect((await ledger()).map((entry) => entry.status)).toEqual(['sent', 'delivered']);
    service.clock.jump(HOUR);
  });

  test('a frozen clock fires nothing, moves only when advanced, and continues from there', async () => {
    const { time } = service.platform;
    await behave(1, 5_000, 20_000);
    await send(1);
    const at = await time.freeze();
    await service.clock.advance(HOUR);
    await service.platform.settle();
    expect([time.now(), time.frozen, (await ledger()).length]).toEqual([at, true, 1]);
    const { fired } = await time.advance({ ms: 6_000 });
    expect([time.now(), time.frozen, fired.length]).toEqual([at + 6_000, true, 1]);
    expect(await time.run()).toBe(at + 6_000);
    await service.clock.advance(14_000);
    await service.platform.settle();
    expect([time.now(), time.frozen, (await ledger()).length]).toEqual([at + 20_000, false, 3]);
  });

  test('a restart keeps the time, frozen or running', async () => {
    await service.platform.time.advance({ ms: 30 * DAY });
    const advanced = service.platform.time.now();
    await service.restart();
    expect(service.platform.time.now()).toBe(advanced);
    const frozen = await service.platform.time.freeze();
    await service.clock.advance(HOUR);
    await service.restart();
    expect([service.platform.time.now(), service.platform.time.frozen]).toEqual([frozen, true]);
  });

  test('a restart fires what became due in the meantime', async () => {
    await behave(1, 5_000);
    await send(1);
    await service.restart();
    await service.clock.advance(HOUR);
    await service.platform.settle();
    expect((await ledger()).map((entry) => entry.status)).toEqual(['sent', 'delivered']);
  });

  test('a reset does not move it back, and leaves nothing due', async () => {
    await behave(1, HOUR);
    await send(1);
    await service.platform.time.advance({ ms: DAY });
    await send(1);
    const before = service.platform.time.now();
    await service.platform.reset();
    expect(service.platform.time.now()).toBe(before);
    expect(await service.platform.time.due(10)).toEqual([]);
    expect(await ledger()).toEqual([]);
    const { key } = await seedWorkspace(service);
    expect((await service.call('GET', '/messages', { key })).body).toMatchObject({ messages: [] });
    expect((await service.call('GET', '/messages', { key: seeded.key })).status).toBe(401);
  });

  test('a timer that cannot be fired is removed and does not stop the others', async () => {
    const start = service.platform.time.now();
    await insertTimers(service.database, [
      { kind: 'receipt.delivered', dueAt: start + 1, payload: { broken: true } },
      { kind: 'unheard.of', dueAt: start + 2, payload: {} },
    ]);
    await behave(1, 3);
    await send(1);
    const { fired } = await service.platform.time.advance({ ms: 10 });
    expect(fired.map((timer) => timer.what)).toEqual(['receipt.delivered']);
    expect(await service.platform.time.due(10)).toEqual([]);
    expect((await ledger()).map((entry) => entry.status)).toEqual(['sent', 'delivered']);
  });

  test('writes wait while time moves, and have the time afterwards', async () => {
    const start = service.platform.time.now();
    await behave(1, HOUR);
    for (let index = 0; index < 20; index += 1) await send(1);
    const advance = service.platform.time.advance({ ms: 2 * HOUR });
    const written = service.platform.messages.receive(seeded.connectionId, {
      from: to(1),
      text: 'meanwhile',
    });
    await Promise.all([advance, written]);
    const page = await service.call('GET', '/messages?limit=1', { key: seeded.key });
    expect(page.body).toMatchObject({
      messages: [{ text: 'meanwhile', createdAt: new Date(start + 2 * HOUR).toISOString() }],
    });
  });

  test('each time is stored before anything happens at it', async () => {
    const start = service.platform.time.now();
    const wall = service.clock.now();
    await service.database.query('CREATE TABLE platform.witness (offset_ms bigint, created_at bigint)');
    await service.database.query(
      `CREATE FUNCTION platform.witness() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO platform.witness SELECT clock_offset_ms, NEW.created_at FROM platform.service_state;
         RETURN NEW; END $$`,
    );
    await service.platform.contacts.put(to(1), { deliverAfterMs: HOUR, readAfterMs: null, autoReply: 'hi' });
    await send(1);
    await service.database.query(
      'CREATE TRIGGER witness AFTER INSERT ON platform.messages FOR EACH ROW EXECUTE FUNCTION platform.witness()',
    );
    await service.platform.time.advance({ ms: 5 * HOUR });
    const at = start + HOUR + 1_000;
    expect(await service.database.query('SELECT * FROM platform.witness')).toEqual([
      { offset_ms: at - wall, created_at: at },
    ]);
    await service.database.query('DROP FUNCTION platform.witness() CASCADE');
    await service.database.query('DROP TABLE platform.witness');
  });

  test('a license that lapses during an advance stops later events, and no earlier ones', async () => {
    const start = service.platform.time.now();
    await service.platform.licenses.set(seeded.connectionId, { expiresAt: start + 2 * HOUR });
    await behave(1, HOUR, 3 * HOUR);
    await behave(2, 2 * HOUR - 1, 2 * HOUR);
    const [one, two] = [await send(1), await send(2)];
    await service.platform.time.advance({ ms: DAY });
    const told = (await ledger()).filter((entry) => entry.status !== 'sent');
    expect(told.map((entry) => [entry.messageId, entry.status])).toEqual([
      [one, 'delivered'],
      [two, 'delivered'],
    ]);
  });

  test('an event that was due while the service was stopped depends on the license at the time it is sent', async () => {
    const start = service.platform.time.now();
    await service.platform.licenses.set(seeded.connectionId, { expiresAt: start + HOUR });
    await behave(1, 1_000);
    await send(1);
    await service.platform.time.freeze();
    await service.restart();
    await service.platform.time.run();
    service.clock.jump(2 * HOUR);
    await service.platform.settle();
    expect((await ledger()).map((entry) => entry.status)).toEqual(['sent']);
  });
});
