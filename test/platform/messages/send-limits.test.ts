import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warmupStep } from '../../../src/platform/messages/send-allowance.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Of the first, second and third day. */
const CAPS = [30, 60, 120] as const;
const SENDS_PER_MINUTE = 135;
let nextPhone = 4915400000000;
const newPhone = (): string => String(nextPhone++);

describe('the send limits of a connection', () => {
  let service: TestPlatform;
  beforeAll(async () => {
    service = await startTestPlatform({ sendsPerMinute: SENDS_PER_MINUTE });
  });
  afterAll(() => service.close());

  const advance = (ms: number) => service.platform.time.advance({ ms });

  /** A workspace whose number pairs now for the first time, or paired some time ago. */
  async function seed(warmupUntil: number | null) {
    const phoneNumber = newPhone();
    const seeded = await seedWorkspace(service, { phoneNumber });
    const warmUp = (connectionId: string) =>
      service.database.query('UPDATE platform.connections SET warmup_until = $2 WHERE id = $1', [
        connectionId,
        warmupUntil,
      ]);
    await warmUp(seeded.connectionId);
    const to = newPhone();
    const send = (more: object = {}) =>
      service.call('POST', '/messages', {
        key: seeded.key,
        body: { connectionId: seeded.connectionId, to, text: 'hello', ...more },
      });
    const statuses = async (count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => send()));
      return Map.groupBy(answers, ({ status }) => status);
    };
    return { ...seeded, phoneNumber, warmUp, to, send, statuses };
  }
  const newNumber = () => seed(service.platform.time.now() + 3 * DAY);

  it('a new qr number has an hourly cap, which rises daily and ends after 72 hours', {
    ...proves('service.qr.warmup', 'limits.warmup', 'limits.warmup-figures', 'errors.warmup_limited'),
    timeout: 120_000,
  }, async () => {
    const { connectionId, send, statuses } = await newNumber();
    const end = service.platform.time.now() + 3 * DAY;
    await service.platform.licenses.set(connectionId, { status: 'active' });
    const [first, second, third] = CAPS;
    for (const cap of [first, second]) {
      const answers = await statuses(cap + 3);
      expect([answers.get(200)?.length, answers.get(429)?.length]).toEqual([cap, 3]);
      const [refused] = answers.get(429) ?? [];
      expect(refused?.body).toEqual({ error: 'warmup_limited' });
      expect(refused?.headers.get('retry-after')).toBe('3600');
      await advance(HOUR - 1);
      expect((await send()).status).toBe(429);
      await advance(1);
      expect((await send()).status).toBe(200);
      await advance(DAY - HOUR);
    }
    await service.platform.time.advance({ to: end - HOUR / 2 });
    const answers = await statuses(third + 3);
    expect([answers.get(200)?.length, answers.get(429)?.length]).toEqual([third, 3]);
    await advance(HOUR / 2 - 1);
    expect((await send()).status).toBe(429);
    await advance(1);
    expect((await send()).status).toBe(200);
  });

  it('the cap of a new number counts a sliding hour, and survives a restart', async () => {
    const { statuses, send } = await newNumber();
    await statuses(20);
    await advance(HOUR / 2);
    expect((await statuses(20)).get(200)).toHaveLength(10);
    await service.restart();
    expect((await send()).headers.get('retry-after')).toBe('1800');
    await advance(HOUR / 2);
    expect((await statuses(30)).get(200)).toHaveLength(20);
  });

  it('the sends of a new number still count after it is deleted and paired again', async () => {
    const { key, workspaceId, connectionId, phoneNumber, warmUp, send, statuses } = await newNumber();
    await statuses(30);
    expect((await service.call('DELETE', `/connections/${connectionId}`, { key })).status).toBe(200);
    const { id } = await service.platform.connections.createPaired(workspaceId, {
      provider: 'qr',
      phoneNumber,
    });
    await warmUp(id);
    expect((await send({ connectionId: id })).body).toEqual({ error: 'warmup_limited' });
  });

  it('a refused send does not count, and neither does a repeat that returns the first answer', async () => {
    const { send, statuses } = await newNumber();
    const nobody = newPhone();
    await service.platform.contacts.put(nobody, { onNetwork: false });
    for (let i = 0; i < 5; i++) expect((await send({ to: nobody })).status).toBe(422);
    for (let i = 0; i < 5; i++) expect((await send({ idempotencyKey: 'one' })).status).toBe(200);
    expect((await statuses(40)).get(200)).toHaveLength(29);
    expect((await send({ idempotencyKey: 'one' })).status).toBe(200);
  });

  it('a number without a warm-up has no such cap', proves('service.cloud-api.no-warmup'), async () => {
    const { statuses, workspaceId, key } = await seed(null);
    expect((await statuses(40)).get(200)).toHaveLength(40);
    const { id } = await service.platform.connections.createPaired(workspaceId, {
      provider: 'cloud_api',
      phoneNumber: newPhone(),
    });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        service.call('POST', '/messages', { key, body: { connectionId: id, to: newPhone(), text: 'hi' } }),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  });

  it('too many sends within a minute are refused, for each connection separately', {
    ...proves('errors.rate_limited', 'limits.abuse'),
    timeout: 120_000,
  }, async () => {
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

  it('the rate is checked after license and state', async () => {
    const { connectionId, send, statuses } = await newNumber();
    await statuses(30);
    await service.platform.outages.begin(connectionId, { cause: 'session_lost' });
    expect((await send()).body).toEqual({ error: 'send_failed' });
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    expect((await send()).body).toEqual({ error: 'license_inactive' });
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
