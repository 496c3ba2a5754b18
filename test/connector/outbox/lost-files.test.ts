import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteOldSends } from '../../../src/connector/outbox/delete-old-sends.ts';
import { retrySend } from '../../../src/connector/outbox/queue-send.ts';
import type { PolledMessage } from '../../../src/connector/service-client/polled.ts';
import { ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { lose, OutboxBench, PICTURE, refuse, sentAs } from './outbox-bench.ts';

const HOUR = 3_600_000;

let bench: OutboxBench;
beforeAll(async () => {
  bench = await OutboxBench.open();
});
afterAll(() => bench.close());
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

describe('a file', () => {
  const seen = (id: string, connectionId: string, values: Partial<PolledMessage> = {}): PolledMessage =>
    bench.showPicture(id, connectionId, { status: 'delivered', ...values });

  async function loseOne(caption?: string) {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId, caption);
    bench.answer = lose;
    const outbox = await bench.running();
    await outbox.settle();
    return { connectionId, id, outbox };
  }

  it('is sent with its bytes, which are deleted once they are no longer needed', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId, 'look');
    await bench.sendAll(await bench.running());
    expect(bench.calls[0]?.media).toEqual({
      filename: 'a.png',
      mimetype: 'image/png',
      data: PICTURE,
      caption: 'look',
    });
    expect(await bench.read(id)).toMatchObject({
      state: 'sent',
      media: { filename: 'a.png', caption: 'look' },
    });
    const files = await bench.database.query('select from connector.outbound_media where outbound_id = $1', [
      id,
    ]);
    expect(files).toEqual([]);
  });

  it('of several megabytes is sent whole', async () => {
    const large = randomBytes(2_500_000);
    const connectionId = await bench.addConnection();
    await bench.queueFile(connectionId, undefined, undefined, undefined, large);
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

  it('whose answer was lost is found by its type, its caption and its bytes', async () => {
    const { connectionId, id, outbox } = await loseOne('look');
    const others = [
      seen('other-bytes', connectionId, { text: 'look' }),
      seen('other-type', connectionId, { text: 'look', mediaType: 'image/jpeg' }),
      seen('other-caption', connectionId, { text: 'see' }),
      seen('incoming', connectionId, { text: 'look', direction: 'incoming' }),
      seen('too-old', connectionId, { text: 'look', createdAt: bench.clock.now() - 2 * 60_000 }),
      seen('too-new', connectionId, { text: 'look', createdAt: bench.clock.now() + 5 * 60_000 }),
    ];
    bench.files.set('https://files.example/other-bytes', Buffer.from('other'));
    bench.listed = others;
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending', attempts: 1, nextAttemptAt: null });

    bench.listed = [...others, seen('mine', connectionId, { text: 'look' })];
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'mine', attempts: 1 });
    expect(bench.calls).toHaveLength(1);
  });

  it.each([
    ['of which two look the same', ['a', 'b'], []],
    ['that cannot be compared', ['a'], ['a']],
    ['that is not there', [], []],
  ])('%s is unknown after four minutes, and unblocks its queue', async (_what, shown, unreadable) => {
    const { connectionId, id, outbox } = await loseOne();
    const next = await bench.queueText(connectionId, 'next');
    bench.answer = () => sentAs(`after-${connectionId}`);
    bench.listed = shown.map((name) => seen(`${name}-${connectionId}`, connectionId));
    for (const name of unreadable) bench.files.delete(`https://files.example/${name}-${connectionId}`);
    await bench.clock.advance(3 * 60_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending' });
    await bench.clock.advance(60_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: 1 });
    expect(await bench.read(next)).toMatchObject({ state: 'sent' });
  });

  it('is not matched to a message that belongs to another send', async () => {
    const { connectionId, outbox } = await loseOne();
    bench.listed = [seen('shared', connectionId)];
    await bench.clock.advance(5_000);
    await outbox.settle();
    bench.answer = lose;
    const second = await bench.queueFile(connectionId);
    await outbox.settle();
    await bench.clock.advance(4 * 60_000);
    await outbox.settle();
    expect(await bench.read(second)).toMatchObject({ state: 'unknown' });
  });

  it('of a rejected send is kept for a week, and a retry without it sends nothing', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId);
    bench.answer = () => refuse('license_inactive', 402);
    const outbox = await bench.running();
    await outbox.settle();
    const kept = () =>
      bench.database.query('select from connector.outbound_media where outbound_id = $1', [id]);
    await bench.clock.skip(6 * 24 * HOUR);
    await deleteOldSends(bench.database, bench.clock.now());
    expect(await kept()).toHaveLength(1);
    await bench.clock.skip(2 * 24 * HOUR);
    await deleteOldSends(bench.database, bench.clock.now());
    expect(await kept()).toEqual([]);
    await retrySend(bench.database, id, bench.clock.now());
    const calls = bench.calls.length;
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'rejected' });
    expect(bench.calls).toHaveLength(calls);
  });

  it('that never reached the service is sent again', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId);
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
