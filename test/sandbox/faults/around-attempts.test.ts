import { describe, expect, it, vi } from 'vitest';
import type { PlannedAttempt } from '../../../src/platform/webhooks/around-attempt.ts';
import { aroundAttempts } from '../../../src/sandbox/faults/around-attempts.ts';
import type { Fault } from '../../../src/sandbox/faults/fault.ts';
import { type KeptDelivery, ReorderBuffer } from '../../../src/sandbox/faults/reorder-buffer.ts';
import { receivedEvent, shareDatabase, useHook } from '../../platform/webhooks/fixture.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { ReceivedRequest } from '../../support/receiver.ts';
import { isSignedWith } from '../../support/signed-request.ts';

const start = Date.UTC(2026, 0, 15, 12);

shareDatabase();

describe('a fault of one attempt', () => {
  let faults: (messageId: string | null, attempt: number) => readonly Fault[] = () => [];
  const hook = useHook(() => {
    faults = () => [];
    return {
      aroundAttempt: aroundAttempts({ decide: ({ messageId }, attempt) => faults(messageId, attempt) }),
    };
  });

  const onFirst = (fault: Fault) => {
    faults = (_id, attempt) => (attempt === 1 ? [fault] : []);
  };
  const attempts = async () => (await hook.fixture.delivery.list({ limit: 1 }))[0]?.attempts;
  const isValid = (request: ReceivedRequest | undefined): boolean => isSignedWith(hook.secret, request);
  const retry = () => hook.fixture.retry(500);
  /** Refuses the first attempt, which has the fault; resolves with it, and with the next one. */
  const refuseFirst = async (fault: Fault) => {
    onFirst(fault);
    hook.receiver.script({ status: 401 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await retry();
    return hook.receiver.requests;
  };

  it('drop: the attempt is not sent, and the next one is', async () => {
    onFirst({ type: 'drop', name: 'lossy' });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await retry();
    expect(hook.receiver.requests).toHaveLength(1);
    expect(await attempts()).toEqual([
      { at: start, ms: 0, error: 'dropped', marks: ['lossy'] },
      { at: start + 500, ms: 0, status: 200 },
    ]);
  });

  it('drop of all three attempts: the event is lost, however many events are lost at once', async () => {
    faults = () => [{ type: 'drop', name: 'lossy' }];
    await hook.fixture.emit(...Array.from({ length: 60 }, (_, index) => receivedEvent(`cmessage${index}`)));
    await expect
      .poll(async () => {
        await hook.fixture.clock.advance(1_000);
        return (await hook.fixture.delivery.count([])).dropped;
      })
      .toBe(60);
    expect(hook.receiver.requests).toHaveLength(0);
  });

  it('duplicate: copies of the same bytes arrive', async () => {
    onFirst({ type: 'duplicate', times: 3, name: 'twins' });
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    expect(hook.receiver.requests).toHaveLength(4);
    expect(new Set(hook.receiver.requests.map((request) => JSON.stringify(request))).size).toBe(1);
    expect(await attempts()).toHaveLength(4);
  });

  it('duplicate: the answer to the first copy counts, whichever comes last', () => {
    const ends: Parameters<PlannedAttempt['send']>[1][] = [];
    const over = vi.fn();
    const envelope = { url: '', secret: '', timestamp: 1, signature: '', body: Buffer.from('{}') };
    aroundAttempts({ decide: () => [{ type: 'duplicate' }] })({
      ...({ delivery: { id: 1, subscriptionId: 's1' }, envelope } as PlannedAttempt),
      send(_shape, ended) {
        ends.push(ended);
        return () => undefined;
      },
      record: () => undefined,
      over,
    });
    for (const [copy, end] of ends.entries()) end({ at: 0, ms: 0 }, { status: copy === 0 ? 200 : 500 });
    expect(over.mock.calls).toEqual([[{ status: 200 }]]);
  });

  it('delay: the attempt is sent later, with its original signature', async () => {
    onFirst({ type: 'delay', ms: 7_000, name: 'late' });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(7_000);
    await hook.fixture.clock.advance(6_999);
    expect(hook.receiver.requests).toHaveLength(0);
    await hook.fixture.clock.advance(1);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests[0]?.headers['x-service-timestamp']).toEqual([String(start)]);
    expect(await attempts()).toEqual([{ at: start + 7_000, ms: 0, status: 200, marks: ['late'] }]);
  });

  it('reorder: another event of the account arrives first', async () => {
    faults = (id, attempt) =>
      id === 'cmessage1' && attempt === 1 ? [{ type: 'reorder', name: 'swap' }] : [];
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(3_000);
    await hook.fixture.deliver(receivedEvent('cmessage2'));
    expect(hook.receiver.requests.map(({ body }) => JSON.parse(body.toString()).message.id)).toEqual([
      'cmessage2',
      'cmessage1',
    ]);
  });

  it('reorder: without another event, the attempt is sent after its wait', async () => {
    onFirst({ type: 'reorder', name: 'swap' });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(3_000);
    await hook.fixture.clock.advance(2_999);
    expect(hook.receiver.requests).toHaveLength(0);
    await hook.fixture.clock.advance(1);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it('reorder: of those held back together, each is sent after the one before it, or when others may go', async () => {
    const clock = new ManualClock();
    const buffer = new ReorderBuffer(clock);
    const sent: number[] = [];
    const keep = (id: number): KeptDelivery => {
      const kept = { id, release: () => sent.push(id) };
      buffer.keep(kept, 3_000);
      return kept;
    };
    for (const id of [1, 2, 3]) keep(id);
    buffer.delivered(4);
    buffer.attempted(3);
    expect(sent).toEqual([3, 2]);
    keep(5);
    keep(6);
    buffer.delivered(7);
    expect(sent).toEqual([3, 2, 1, 6]);
    await clock.advance(3_000);
    expect(sent).toEqual([3, 2, 1, 6, 5]);
    buffer.remove(keep(8));
    expect(clock.pending).toBe(0);
  });

  it('tamper_body: one byte differs, and the signature no longer matches', async () => {
    const [tampered, whole] = await refuseFirst({ type: 'tamper_body', name: 'flip' });
    expect(tampered?.headers).toEqual(whole?.headers);
    expect([...(whole?.body ?? [])].filter((byte, at) => byte !== tampered?.body[at])).toHaveLength(1);
    expect([isValid(tampered), isValid(whole)]).toEqual([false, true]);
  });

  it('tamper_signature: one digit differs, and the body is intact', async () => {
    const [tampered, whole] = await refuseFirst({ type: 'tamper_signature', name: 'forge' });
    expect(tampered?.body).toEqual(whole?.body);
    expect(tampered?.headers['x-service-signature']?.[0]).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect([isValid(tampered), isValid(whole)]).toEqual([false, true]);
  });

  it.each([
    [{}, 360_000],
    [{ byMs: 301_000 }, 301_000],
  ])('stale_timestamp: the signature is valid for a time in the past: %j', async (given, ageMs) => {
    const [stale, fresh] = await refuseFirst({ type: 'stale_timestamp', name: 'old', ...given });
    expect(stale?.headers['x-service-timestamp']).toEqual([String(start - ageMs)]);
    expect(fresh?.headers['x-service-timestamp']).toEqual([String(start)]);
    expect([isValid(stale), isValid(fresh)]).toEqual([true, true]);
  });

  it('truncate: the connection ends in the middle of the body', async () => {
    onFirst({ type: 'truncate', name: 'cut' });
    const event = receivedEvent('cmessage1');
    await hook.fixture.emit(event);
    await hook.receiver.received(1);
    await retry();
    const [cut, whole] = hook.receiver.requests;
    const body = JSON.stringify(event.payload);
    expect(cut?.complete).toBe(false);
    expect(cut?.headers['content-length']).toEqual([String(body.length)]);
    expect(cut?.body.toString()).toBe(body.slice(0, body.length >> 1));
    expect(whole?.body.toString()).toBe(body);
    expect((await attempts())?.[0]).toMatchObject({ error: 'truncated', marks: ['cut'] });
  });

  it('slow: the second half of the body arrives later, within the same deadline', async () => {
    onFirst({ type: 'slow', ms: 3_000, name: 'drip' });
    const event = receivedEvent('cmessage1');
    await hook.fixture.emit(event);
    await hook.fixture.retry(3_000);
    expect(hook.receiver.requests[0]).toMatchObject({ complete: true });
    expect(hook.receiver.requests[0]?.body.toString()).toBe(JSON.stringify(event.payload));
    expect(await attempts()).toMatchObject([{ status: 200, ms: 3_000, marks: ['drip'] }]);
  });

  it('slow beyond the deadline is a failure', async () => {
    onFirst({ type: 'slow', ms: 60_000, name: 'drip' });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(60_000);
    await hook.fixture.clock.advance(10_000);
    await retry();
    expect((await attempts())?.map(({ status, error }) => status ?? error)).toEqual(['timeout', 200]);
    expect(hook.fixture.clock.pending).toBe(0);
  });

  it('may be combined with others: late, altered and twice at once', async () => {
    faults = (_id, attempt) =>
      attempt === 1
        ? [
            { type: 'delay', ms: 2_000, name: 'late' },
            { type: 'tamper_body', name: 'flip' },
            { type: 'duplicate', name: 'twins' },
          ]
        : [];
    hook.receiver.script({ status: 401 }, { status: 401 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.pass(2_000);
    await retry();
    expect(hook.receiver.requests.map(isValid)).toEqual([false, false, true]);
    expect((await attempts())?.[0]?.marks).toEqual(['late', 'flip', 'twins']);
  });

  it.each<[Fault['type'], Fault['type']]>([
    ['tamper_body', 'tamper_body'],
    ['tamper_body', 'stale_timestamp'],
    ['tamper_signature', 'stale_timestamp'],
  ])('%s and %s: the signature is wrong, whatever comes first', async (...types) => {
    faults = (_id, attempt) => (attempt === 1 ? types.map((type) => ({ type }) as Fault) : []);
    hook.receiver.script({ status: 401 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await retry();
    expect(hook.receiver.requests.map(isValid)).toEqual([false, true]);
  });
});
