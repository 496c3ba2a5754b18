import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { queueSend } from '../../../src/connector/outbox/queue-send.ts';
import type { PolledMessage } from '../../../src/connector/service-client/polled.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { ERROR_CODES, ERRORS } from '../../../src/contract/service/errors.ts';
import { decideSend } from '../../../src/patterns/send-policy.ts';
import { proves } from '../../support/proves.ts';
import { OutboxBench, PICTURE, sentAs } from './outbox-bench.ts';

const HOUR = 3_600_000;

let bench: OutboxBench;
beforeAll(async () => {
  bench = await OutboxBench.open();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.calls.length = 0;
  bench.listed = [];
  bench.files.clear();
  bench.answer = () => sentAs(`m${crypto.randomUUID()}`);
});
afterEach(() => bench.stopAll());

function refuse(code: string, status = 502): never {
  throw new ServiceRefusal({ status, code, retryAfterMs: null });
}

function lose(): never {
  throw new ServiceUnreachable('network');
}

/** Runs what is due, as often as time is moved to the next attempt. */
async function sendAll(outbox: { settle(): Promise<void> }, times = 1): Promise<void> {
  await outbox.settle();
  for (let step = 1; step < times; step += 1) {
    await bench.clock.advance(5 * 60_000);
    await outbox.settle();
  }
}

async function running() {
  const outbox = bench.process();
  await outbox.start();
  return outbox;
}

describe('queueing', () => {
  it('takes a reference once, whatever is sent at once with it', async () => {
    const connectionId = await bench.addConnection();
    const request = { connectionId, to: '447700900201', text: 'once', reference: 'r-1' };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => queueSend(bench.database, request, bench.clock.now())),
    );
    expect(new Set(all.map((queued) => queued.kind === 'queued' && queued.outboundId)).size).toBe(1);
    expect(all.filter((queued) => queued.kind === 'queued' && queued.isNew)).toHaveLength(1);
  });

  it.each([
    ['text', { text: 'other' }],
    ['recipient', { to: '447700900202' }],
    ['kind', { text: undefined, media: { filename: 'a', mimetype: 'b', data: 'AAAA' } }],
  ])('refuses a reference with another %s', async (_what, changed) => {
    const connectionId = await bench.addConnection();
    const request = { connectionId, to: '447700900201', text: 'once', reference: `r-${connectionId}` };
    await queueSend(bench.database, request, bench.clock.now());
    const again = await queueSend(bench.database, { ...request, ...changed }, bench.clock.now());
    expect(again).toEqual({ kind: 'reused' });
  });

  it('knows no connection that was never seen', async () => {
    const request = { connectionId: 'nowhere', to: '447700900201', text: 'x', reference: 'r' };
    expect(await queueSend(bench.database, request, 0)).toEqual({ kind: 'no_connection' });
  });
});

describe('a lane', () => {
  it(
    'sends in order, one at a time, with a UUID as key of each send',
    proves('messages.send.key-uuid'),
    async () => {
      const [one, two] = [await bench.addConnection(), await bench.addConnection()];
      const open = new Map<string, number>();
      const both = Promise.withResolvers<void>();
      bench.answer = async ({ connectionId, text }) => {
        open.set(connectionId, (open.get(connectionId) ?? 0) + 1);
        expect(open.get(connectionId)).toBe(1);
        if (open.size === 2) both.resolve();
        // Neither gets its first answer before both lanes have called.
        await both.promise;
        open.set(connectionId, 0);
        return sentAs(`m-${connectionId}-${text}`);
      };
      for (const text of ['1', '2', '3']) {
        await bench.queueText(one, text);
        await bench.queueText(two, text);
      }
      await sendAll(await running());
      for (const connectionId of [one, two]) {
        const texts = bench.calls
          .filter((call) => call.connectionId === connectionId)
          .map(({ text }) => text);
        expect(texts).toEqual(['1', '2', '3']);
      }
      expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(6);
      const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
      expect(bench.calls.filter(({ idempotencyKey }) => !uuid.test(idempotencyKey ?? ''))).toEqual([]);
    },
  );

  it('is run by one of two processes', async () => {
    const connectionId = await bench.addConnection();
    const [first, second] = [await running(), await running()];
    for (const text of ['1', '2', '3', '4']) await bench.queueText(connectionId, text);
    await Promise.all([first.settle(), second.settle()]);
    await first.settle();
    expect(bench.calls.map(({ text }) => text)).toEqual(['1', '2', '3', '4']);
  });

  it('is held by what can be repeated, and goes on with the same key', async () => {
    const connectionId = await bench.addConnection();
    const first = await bench.queueText(connectionId, '1');
    await bench.queueText(connectionId, '2');
    bench.answer = () => refuse('send_failed');
    const outbox = await running();
    await sendAll(outbox);
    expect(await bench.read(first)).toMatchObject({ state: 'queued', attempts: 1, lastError: 'send_failed' });
    expect(bench.calls.map(({ text }) => text)).toEqual(['1']);
    bench.answer = ({ text }) => sentAs(`held-${text}`);
    await sendAll(outbox, 2);
    expect(bench.calls.map(({ text }) => text)).toEqual(['1', '1', '2']);
    expect(bench.calls[1]?.idempotencyKey).toBe(bench.calls[0]?.idempotencyKey);
    expect(await bench.told(first)).toEqual(['queued', 'sending', 'queued', 'sending', 'sent']);
  });

  it('is freed by what is final', async () => {
    const connectionId = await bench.addConnection();
    const first = await bench.queueText(connectionId, '1');
    const second = await bench.queueText(connectionId, '2');
    bench.answer = ({ text }) => (text === '1' ? refuse('recipient_not_on_whatsapp', 422) : sentAs('freed'));
    await sendAll(await running());
    expect(await bench.read(first)).toMatchObject({
      state: 'rejected',
      lastError: 'recipient_not_on_whatsapp',
    });
    expect(await bench.read(second)).toMatchObject({ state: 'sent', messageId: 'freed' });
  });

  it('wakes itself when its first send is due, and at once for what is new', async () => {
    const connectionId = await bench.addConnection();
    const outbox = await running();
    await bench.queueText(connectionId, '1');
    bench.answer = () => refuse('rate_limited', 429);
    bench.queues.wakes = [];
    await bench.queues.run('outbox', { connectionId });
    expect(bench.queues.wakes).toEqual([{ data: { connectionId }, jobId: connectionId, delayMs: 30_000 }]);
    await outbox.wake(connectionId);
    expect(bench.queues.wakes.at(-1)).toMatchObject({ delayMs: 0 });
  });

  it('is found by a sweep when the queue has forgotten it', async () => {
    const connectionId = await bench.addConnection();
    const outbox = await running();
    bench.queues.failing = true;
    const id = await bench.queueText(connectionId, '1');
    await outbox.wake(connectionId);
    bench.queues.failing = false;
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 1 });
  });
});

describe('every error code', () => {
  it.each(ERROR_CODES.map((code) => [code, ERRORS[code].statuses[0] ?? 400] as const))(
    '%s ends as the policy says',
    async (code, status) => {
      const connectionId = await bench.addConnection();
      const id = await bench.queueText(connectionId, code);
      bench.answer = () => refuse(code, status);
      await sendAll(await running());
      const now = bench.clock.now();
      const situation = { attempts: 1, firstAttemptAt: now, now, inDoubt: false, random: 0 } as const;
      const outcome = { kind: 'refused', status, code, retryAfterMs: null } as const;
      const step = decideSend(outcome, { ...situation, carries: 'text' });
      const expected = step.next === 'repeat' ? 'queued' : step.next;
      expect(await bench.read(id)).toMatchObject({ state: expected, lastError: code, attempts: 1 });
    },
  );
});

describe('a lost answer', () => {
  it('repeats a text with its key, and joins the answer that comes then', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'maybe');
    bench.answer = lose;
    const outbox = await running();
    await sendAll(outbox);
    expect(await bench.read(id)).toMatchObject({ state: 'queued', lastError: 'network' });
    bench.answer = () => sentAs('found-out');
    await sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'found-out', attempts: 2 });
    expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(1);
  });

  it('is unknown 23 hours after the first attempt, and not attempted later', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'maybe');
    bench.answer = lose;
    const outbox = await running();
    await sendAll(outbox);
    await outbox.close();
    await bench.clock.advance(23 * HOUR + 1);
    const calls = bench.calls.length;
    await sendAll(await running());
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: calls });
    expect(bench.calls.length).toBe(calls);
  });

  it('makes a refusal of the next attempt unknown', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'maybe');
    bench.answer = lose;
    const outbox = await running();
    await sendAll(outbox);
    bench.answer = () => refuse('license_inactive', 402);
    await sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', lastError: 'license_inactive' });
  });

  it('that was not stored is never repeated', proves('messages.send.degraded-no-retry'), async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'once');
    bench.answer = () => ({ messageId: null, waMessageId: null, status: 'sent', persisted: false });
    await sendAll(await running(), 3);
    expect(await bench.read(id)).toMatchObject({ state: 'delivered_not_stored', messageId: null });
    expect(bench.calls).toHaveLength(1);
  });
});

describe('a process that is gone', () => {
  it('leaves an attempt that counts as lost, once nobody believes in it any more', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'maybe');
    const stuck = Promise.withResolvers<never>();
    const dying = bench.process({ owner: 'the-dying-one' });
    await dying.start();
    const called = Promise.withResolvers<void>();
    bench.answer = () => {
      called.resolve();
      return stuck.promise;
    };
    const dead = dying.settle();
    await called.promise;
    const other = await running();
    bench.answer = () => sentAs('taken-over');
    await other.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending', attempts: 1 });

    await bench.database.query(`update connector.senders set expires_at = 0 where owner = 'the-dying-one'`);
    await sendAll(other, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'taken-over', attempts: 2 });

    // The dead one comes to life again, with a refusal that no longer counts.
    stuck.reject(new ServiceRefusal({ status: 422, code: 'recipient_not_on_whatsapp' }));
    await dead;
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'taken-over' });
  });

  it('gives a call up eight seconds after it was told to stop, and leaves the send in doubt', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'slow');
    const called = Promise.withResolvers<void>();
    bench.answer = (_body, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new ServiceUnreachable('aborted')));
        called.resolve();
      });
    const stopping = await running();
    const settled = stopping.settle();
    await called.promise;
    const closed = stopping.close();
    await bench.clock.advance(7_999);
    expect(await bench.read(id)).toMatchObject({ state: 'sending' });
    await bench.clock.advance(1);
    await Promise.all([closed, settled]);
    expect(await bench.read(id)).toMatchObject({ state: 'queued', lastError: 'aborted' });
    bench.answer = () => sentAs(`later-${connectionId}`);
    await sendAll(await running(), 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2 });
    expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(1);
  });

  it('gives its lanes back when it stops in order', async () => {
    const connectionId = await bench.addConnection();
    const first = await running();
    const id = await bench.queueText(connectionId, '1');
    await first.close();
    await sendAll(await running());
    expect(await bench.read(id)).toMatchObject({ state: 'sent' });
  });
});

describe('a file', () => {
  const seen = (id: string, values: Partial<PolledMessage> = {}): PolledMessage => ({
    id,
    connectionId: 'c',
    direction: 'outgoing',
    text: null,
    mediaUrl: `https://files.example/${id}`,
    mediaType: 'image/png',
    status: 'delivered',
    errorMessage: null,
    waMessageId: null,
    createdAt: bench.clock.now(),
    ...values,
  });

  async function loseOne(caption?: string) {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId, caption);
    bench.answer = lose;
    const outbox = await running();
    await outbox.settle();
    return { connectionId, id, outbox };
  }

  it('is sent with its bytes, and its bytes are kept no longer than they are needed', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId, 'look');
    await sendAll(await running());
    expect(bench.calls[0]?.media).toEqual({
      filename: 'a.png',
      mimetype: 'image/png',
      data: PICTURE.toString('base64'),
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

  it('whose answer was lost is found by its type, its caption and its bytes', async () => {
    const { connectionId, id, outbox } = await loseOne('look');
    const others = [
      seen('other-bytes', { connectionId, text: 'look' }),
      seen('other-type', { connectionId, text: 'look', mediaType: 'image/jpeg' }),
      seen('other-caption', { connectionId, text: 'see' }),
      seen('incoming', { connectionId, text: 'look', direction: 'incoming' }),
      seen('too-old', { connectionId, text: 'look', createdAt: bench.clock.now() - 2 * 60_000 }),
      seen('too-new', { connectionId, text: 'look', createdAt: bench.clock.now() + 5 * 60_000 }),
    ];
    for (const { id: name } of others) bench.files.set(`https://files.example/${name}`, PICTURE);
    bench.files.set('https://files.example/other-bytes', Buffer.from('other'));
    bench.listed = others;
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending', attempts: 1, nextAttemptAt: null });

    bench.listed = [...others, seen('mine', { connectionId, text: 'look' })];
    bench.files.set('https://files.example/mine', PICTURE);
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'mine', attempts: 1 });
    expect(bench.calls).toHaveLength(1);
  });

  it.each([
    ['of which two look the same', ['a', 'b'], ['a', 'b']],
    ['that cannot be compared', ['a'], []],
    ['that is not there', [], []],
  ])('%s is unknown after four minutes, and frees its lane', async (_what, shown, readable) => {
    const { connectionId, id, outbox } = await loseOne();
    const next = await bench.queueText(connectionId, 'next');
    bench.answer = () => sentAs(`after-${connectionId}`);
    bench.listed = shown.map((name) => seen(`${name}-${connectionId}`, { connectionId }));
    for (const name of readable) bench.files.set(`https://files.example/${name}-${connectionId}`, PICTURE);
    await bench.clock.advance(3 * 60_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending' });
    await bench.clock.advance(60_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: 1 });
    expect(await bench.read(next)).toMatchObject({ state: 'sent' });
  });

  it('is not found in a message that another send became', async () => {
    const { connectionId, outbox } = await loseOne();
    bench.listed = [seen('shared', { connectionId })];
    bench.files.set('https://files.example/shared', PICTURE);
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
    const outbox = await running();
    await outbox.settle();
    const kept = () =>
      bench.database.query('select from connector.outbound_media where outbound_id = $1', [id]);
    await bench.clock.advance(6 * 24 * HOUR);
    await (await running()).close();
    expect(await kept()).toHaveLength(1);
    await bench.clock.advance(2 * 24 * HOUR);
    await (await running()).close();
    expect(await kept()).toEqual([]);
    await bench.database.query(`update connector.outbound set state = 'queued' where id = $1`, [id]);
    const calls = bench.calls.length;
    await (await running()).settle();
    expect(await bench.read(id)).toMatchObject({ state: 'rejected' });
    expect(bench.calls).toHaveLength(calls);
  });

  it('that never reached the service is simply sent again', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueFile(connectionId);
    bench.answer = () => {
      throw new ServiceUnreachable('connect');
    };
    const outbox = await running();
    await outbox.settle();
    bench.answer = () => sentAs('at-last');
    await sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'at-last' });
  });
});
