import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteOldSends } from '../../../src/connector/outbox/delete-old-sends.ts';
import { cancelSend, retrySend } from '../../../src/connector/outbox/queue-send.ts';
import { ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { ofFile } from '../../support/of-file.ts';
import { lose, OutboxBench, PICTURE, refuse, sentAs } from './outbox-bench.ts';

const HOUR = 3_600_000;

const bench = ofFile(() => OutboxBench.open());
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

const filesOf = (id: string) =>
  bench.database.query('select from connector.outbound_media where outbound_id = $1', [id]);

describe('a file', () => {
  it.each([
    ['sent', sentAs('m1')],
    ['delivered_not_stored', { ...sentAs('m1'), messageId: null, persisted: false }],
  ])('that is %s was sent with its bytes, which are deleted', async (state, taken) => {
    bench.answer = () => taken;
    const id = await bench.queueFile(await bench.addConnection(), 'look');
    await bench.sendAll(await bench.running());
    expect(bench.calls[0]?.media).toEqual({
      filename: 'a.png',
      mimetype: 'image/png',
      data: PICTURE,
      caption: 'look',
    });
    expect(await bench.read(id)).toMatchObject({ state, media: { filename: 'a.png', caption: 'look' } });
    expect(await filesOf(id)).toEqual([]);
  });

  it('of several megabytes is sent whole', async () => {
    const large = randomBytes(2_500_000);
    await bench.queueFile(await bench.addConnection(), undefined, undefined, undefined, large);
    await bench.sendAll(await bench.running());
    expect(large.equals(bench.calls[0]?.media?.data ?? PICTURE)).toBe(true);
  });

  it('of 12 MB waits for its answer while four others of the same service do', async () => {
    const all = Promise.withResolvers<void>();
    bench.answer = async () => {
      if (bench.calls.length === 5) all.resolve();
      await all.promise;
      return sentAs(randomUUID());
    };
    const ids: string[] = [];
    for (let files = 0; files < 5; files += 1) ids.push(await bench.queueFile(await bench.addConnection()));
    const enlarge = `update connector.outbound_media set bytes = convert_to(repeat('a', 12582912), 'UTF8')`;
    await bench.database.query(`${enlarge} where outbound_id = any($1)`, [ids]);
    await bench.sendAll(await bench.running());
    expect(await bench.statesOf(ids)).toEqual(ids.map(() => 'sent'));
  });

  it('whose answer was lost is unknown at once, is not sent again, and its queue continues', async () => {
    const connectionId = await bench.addConnection();
    bench.answer = (body) => (body.media === undefined ? sentAs('next') : lose());
    const id = await bench.queueFile(connectionId, 'look');
    const next = await bench.queueText(connectionId, 'next');
    const outbox = await bench.running();
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({
      state: 'unknown',
      attempts: 1,
      lastError: 'network',
      nextAttemptAt: null,
    });
    expect(await bench.stateOf(next)).toBe('sent');
    await bench.clock.skip(24 * HOUR);
    await outbox.settle();
    await outbox.resumeSends('account-1');
    await outbox.settle();
    expect(bench.calls).toHaveLength(2);
    expect(await bench.told(id)).toEqual(['queued', 'sending', 'unknown']);
  });

  it('that a person retries has its bytes and its key, and a refusal leaves it unknown', async () => {
    bench.answer = lose;
    const id = await bench.queueFile(await bench.addConnection());
    const outbox = await bench.running();
    await outbox.settle();
    bench.answer = () => refuse('recipient_not_on_whatsapp', 422);
    await retrySend(bench.database, id, bench.clock.now());
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: 2 });
    bench.answer = () => sentAs('at-last');
    await retrySend(bench.database, id, bench.clock.now());
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'at-last' });
    expect(bench.calls.map(({ media }) => media?.data)).toEqual([PICTURE, PICTURE, PICTURE]);
    expect(new Set(bench.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it('whose process died during the attempt is unknown at once', async () => {
    const dying = dyingDatabase(bench.database, Number.POSITIVE_INFINITY, 'after');
    bench.answer = () => {
      dying.kill();
      return sentAs('nobody-heard');
    };
    const id = await bench.queueFile(await bench.addConnection());
    const sender = bench.process({ database: dying.database });
    await sender.start();
    await sender.settle().catch(() => undefined);
    await sender.close();
    await bench.bury(sender);
    expect(await bench.stateOf(id)).toBe('sending');
    const outbox = await bench.running();
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: 1, lastError: 'abandoned' });
    expect(bench.calls).toHaveLength(1);
  });

  it.each([
    ['rejected', () => refuse('license_inactive', 402)],
    ['unknown', lose],
  ])(
    'of a send that is %s is kept for a week after that, and a retry without it sends nothing',
    async (state, answer) => {
      const id = await bench.queueFile(await bench.addConnection());
      await bench.clock.skip(8 * 24 * HOUR);
      bench.answer = answer;
      const outbox = await bench.running();
      await outbox.settle();
      expect(await bench.stateOf(id)).toBe(state);
      await bench.clock.skip(6 * 24 * HOUR);
      await deleteOldSends(bench.database, bench.clock.now());
      expect(await filesOf(id)).toHaveLength(1);
      await bench.clock.skip(2 * 24 * HOUR);
      await deleteOldSends(bench.database, bench.clock.now());
      expect(await filesOf(id)).toEqual([]);
      await retrySend(bench.database, id, bench.clock.now());
      const calls = bench.calls.length;
      await outbox.settle();
      expect(await bench.read(id)).toMatchObject({ state: 'rejected' });
      expect(bench.calls).toHaveLength(calls);
    },
  );

  it('of a send that is cancelled is deleted at once', async () => {
    const id = await bench.queueFile(await bench.addConnection());
    expect(await filesOf(id)).toHaveLength(1);
    await cancelSend(bench.database, id, bench.clock.now());
    expect(await filesOf(id)).toEqual([]);
  });

  it('that never reached the service is sent again', async () => {
    const id = await bench.queueFile(await bench.addConnection());
    bench.answer = () => {
      throw new ServiceUnreachable('connect');
    };
    const outbox = await bench.running();
    await outbox.settle();
    bench.answer = () => sentAs('at-last');
    await bench.sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'at-last' });
  });
});
