import { describe, expect, it } from 'vitest';
import { warmupStep } from '../../../src/platform/messages/send-allowance.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SENDS_PER_MINUTE = 20;
let nextPhone = 4915400000000;
const newPhone = (): string => String(nextPhone++);

describe('the send limits of a connection', () => {
  const service = ofFile(() => startTestPlatform({ sendsPerMinute: SENDS_PER_MINUTE }));

  const advance = (ms: number) => service.platform.time.advance({ ms });

  /** A workspace with a number whose warm-up ends at this time, or that has none. */
  async function seed(warmupUntil: number | null) {
    const phoneNumber = newPhone();
    const seeded = await seedWorkspace(service, { phoneNumber });
    const { connectionId, key, workspaceId } = seeded;
    const warmUp = (id: string, until: number | null) =>
      service.database.query('UPDATE platform.connections SET warmup_until = $2 WHERE id = $1', [id, until]);
    await warmUp(connectionId, warmupUntil);
    const to = newPhone();
    const send = (more: object = {}) =>
      service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello', ...more } });
    return {
      ...seeded,
      phoneNumber,
      warmUp,
      send,
      /** Sends of two minutes ago, as a process before this one left them. */
      sent: (count: number) =>
        service.database.query(
          `INSERT INTO platform.messages
             (id, workspace_id, connection_id, direction, peer, text, status, receipts, created_at)
           SELECT $1 || ' ' || n, $2, $1, 'outgoing', $3, 'hello', 'read', 7, $4
             FROM generate_series(1, $5::integer) n`,
          [connectionId, workspaceId, to, service.platform.time.now() - 2 * MINUTE, count],
        ),
      statuses: async (count: number) => {
        const answers = await Promise.all(Array.from({ length: count }, () => send()));
        return Map.groupBy(answers, ({ status }) => status);
      },
      /** The number leaves, and comes back with another connection. */
      pairAgain: async (provider: 'qr' | 'cloud_api') => {
        expect((await service.call('DELETE', `/connections/${connectionId}`, { key })).status).toBe(200);
        return (await service.platform.connections.createPaired(workspaceId, { provider, phoneNumber })).id;
      },
    };
  }
  /** One that paired for the first time this long ago. */
  const newNumber = (age = 0) => seed(service.platform.time.now() + 3 * DAY - age);

  it('a new qr number has an hourly cap, which rises daily and ends after 72 hours', async () => {
    proves('service.qr.warmup', 'limits.warmup', 'limits.warmup-figures', 'errors.warmup_limited');
    for (const [age, cap] of [
      [0, 30],
      [DAY, 60],
      [2 * DAY, 120],
    ] as const) {
      const { sent, send, statuses } = await newNumber(age);
      await sent(cap - 2);
      const answers = await statuses(5);
      expect([answers.get(200)?.length, answers.get(429)?.length]).toEqual([2, 3]);
      const [refused] = answers.get(429) ?? [];
      expect(refused?.body).toEqual({ error: 'warmup_limited' });
      expect(refused?.headers.get('retry-after')).toBe('3480');
      await advance(58 * MINUTE - 1);
      expect((await send()).status).toBe(429);
      await advance(1);
      expect((await send()).status).toBe(200);
    }
    for (const [age, cap] of [
      [DAY, 30],
      [2 * DAY, 60],
      [3 * DAY, 120],
    ] as const) {
      const { sent, send } = await newNumber(age - HOUR / 2);
      await sent(cap);
      expect((await send()).headers.get('retry-after')).toBe('1800');
      await advance(HOUR / 2 - 1);
      expect((await send()).status).toBe(429);
      await advance(1);
      expect((await send()).status).toBe(200);
    }
  });

  it('the cap of a new number counts a sliding hour, and survives a restart', async () => {
    const { sent, statuses, send, connectionId } = await newNumber();
    expect((await statuses(2)).get(200)).toHaveLength(2);
    await advance(HOUR / 2);
    await sent(26);
    // What people write does not count.
    await service.platform.messages.receive(connectionId, { from: newPhone(), text: 'hello' });
    await service.restart();
    expect((await statuses(4)).get(200)).toHaveLength(2);
    expect((await send()).headers.get('retry-after')).toBe('1800');
    await advance(HOUR / 2);
    expect((await statuses(4)).get(200)).toHaveLength(2);
  });

  it('the sends of a new number still count after it is deleted and paired again', async () => {
    const { sent, pairAgain, warmUp, send } = await newNumber();
    await sent(29);
    expect((await send()).status).toBe(200);
    const connectionId = await pairAgain('qr');
    await warmUp(connectionId, service.platform.time.now() + 3 * DAY);
    expect((await send({ connectionId })).body).toEqual({ error: 'warmup_limited' });
  });

  it('a refused send does not count, and neither does a repeat that returns the first answer', async () => {
    const { sent, send, statuses } = await newNumber();
    await sent(27);
    const nobody = newPhone();
    await service.platform.contacts.put(nobody, { onNetwork: false });
    for (let i = 0; i < 3; i++) expect((await send({ to: nobody })).status).toBe(422);
    for (let i = 0; i < 3; i++) expect((await send({ idempotencyKey: 'one' })).status).toBe(200);
    expect((await statuses(5)).get(200)).toHaveLength(2);
    expect((await send({ idempotencyKey: 'one' })).status).toBe(200);
  });

  it('a number without a warm-up has no such cap', async () => {
    proves('service.cloud-api.no-warmup');
    const [old, moved] = [await newNumber(), await newNumber()];
    for (const { sent, send } of [old, moved]) {
      await sent(30);
      expect((await send()).body).toEqual({ error: 'warmup_limited' });
    }
    await old.warmUp(old.connectionId, null);
    expect((await old.send()).status).toBe(200);
    const connectionId = await moved.pairAgain('cloud_api');
    expect((await moved.send({ connectionId })).status).toBe(200);
  });

  it('too many sends within a minute are refused, for each connection separately', async () => {
    proves('errors.rate_limited', 'limits.abuse');
    const busy = await seed(null);
    const calm = await seed(null);
    const answers = await busy.statuses(SENDS_PER_MINUTE + 5);
    expect([answers.get(200)?.length, answers.get(429)?.length]).toEqual([SENDS_PER_MINUTE, 5]);
    const [refused] = answers.get(429) ?? [];
    expect([refused?.body, refused?.headers.get('retry-after')]).toEqual([{ error: 'rate_limited' }, '60']);
    expect((await calm.send()).status).toBe(200);
    await advance(60_000);
    expect((await busy.send()).status).toBe(200);
  });

  it.each([
    [0, 30],
    [DAY - 1, 30],
    [DAY, 60],
    [2 * DAY, 120],
    [3 * DAY - 1, 120],
    [3 * DAY, null],
  ])('%d ms after pairing the cap is %s', (age, cap) => {
    expect(warmupStep(3 * DAY, age)?.perHour ?? null).toBe(cap);
    expect(warmupStep(null, age)).toBeNull();
  });
});
