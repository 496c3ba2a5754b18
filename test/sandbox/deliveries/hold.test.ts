import { describe, expect, it } from 'vitest';
import { clearTables } from '../../../src/platform/db/clear-tables.ts';
import { receivedEvent, shareDatabase, WORKSPACE } from '../../platform/webhooks/fixture.ts';
import { isSignedWith } from '../../support/signed-request.ts';
import { useControl } from './control-fixture.ts';

const start = Date.UTC(2026, 0, 15, 12);

shareDatabase();

describe('a delivery that is held', () => {
  const controlled = useControl({ attemptsAtOnce: 1 });
  const { hook, newest } = controlled;

  /** An event whose first attempt has failed. */
  const failOnce = async (): Promise<number> => {
    hook.receiver.script({ status: 503 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    return (await newest()).id;
  };

  it('makes no attempt until it is released, and then the next one with the same bytes and signature', async () => {
    const { delivery, clock } = hook.fixture;
    const id = await failOnce();
    expect(await controlled.control.hold(id)).toMatchObject({ id, outcome: 'pending', held: true });
    await clock.advance(3_600_000);
    await delivery.settle();
    expect(hook.receiver.requests).toHaveLength(1);
    expect(await newest()).toMatchObject({ held: true, attempts: [{ at: start, status: 503 }] });
    await hook.fixture.configuration.rotate(WORKSPACE);
    await controlled.control.release(id);
    expect(controlled.changes.map(({ held }) => held)).toEqual([true, false]);
    await delivery.settle();
    expect(hook.receiver.requests[1]).toEqual(hook.receiver.requests[0]);
    expect(await newest()).toMatchObject({
      outcome: 'delivered',
      held: false,
      attempts: [{ status: 503 }, { at: start + 3_600_000, status: 200 }],
    });
  });

  it('that is released before its delay is over waits for the rest of it', async () => {
    const id = await failOnce();
    await controlled.control.hold(id);
    await hook.fixture.clock.advance(200);
    expect(await controlled.control.release(id)).toMatchObject({ held: false, outcome: 'pending' });
    await hook.fixture.clock.advance(299);
    expect(hook.receiver.requests).toHaveLength(1);
    await hook.fixture.clock.advance(1);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(2);
  });

  it('keeps its remaining attempts, and gains none', async () => {
    const id = await failOnce();
    hook.receiver.otherwise({ status: 500 });
    await controlled.control.hold(id);
    await hook.fixture.clock.advance(10_000);
    await controlled.control.release(id);
    await hook.fixture.retry(1_000);
    expect(await newest()).toMatchObject({ outcome: 'dropped', held: false });
    expect(hook.receiver.requests).toHaveLength(3);
  });

  it('that is held during an attempt ends if that attempt succeeds', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.receiver.received(1);
    const { id } = await newest();
    expect(await controlled.control.hold(id)).toMatchObject({ held: true });
    answer.resolve();
    await hook.fixture.delivery.settle();
    expect(await newest()).toMatchObject({ outcome: 'delivered', held: false });
    expect(await controlled.control.release(id)).toBe('not_held');
    expect(await controlled.control.hold(id)).toBe('over');
  });

  it('that is held before its first attempt is signed when it is released, and does not delay others', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise });
    await hook.fixture.emit(receivedEvent('cfirst'), receivedEvent('cheld'), receivedEvent('clast'));
    await hook.receiver.received(1);
    const [, held] = await hook.fixture.delivery.list({ limit: 2 });
    const id = held?.id ?? 0;
    expect(await controlled.control.hold(id)).toMatchObject({ messageId: 'cheld', held: true, headers: {} });
    expect(await controlled.control.resend(id)).toBe('waiting');
    answer.resolve();
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(2);
    const { secret } = await hook.fixture.configuration.rotate(WORKSPACE);
    await hook.fixture.clock.advance(60_000);
    await controlled.control.release(id);
    await hook.fixture.delivery.settle();
    const [, , released] = hook.receiver.requests;
    expect(JSON.parse(released?.body.toString() ?? '').message.id).toBe('cheld');
    expect(released?.headers['x-service-timestamp']).toEqual([String(start + 60_000)]);
    expect(isSignedWith(secret, released)).toBe(true);
  });

  it('can be resent by hand while it is held, and stays held', async () => {
    const id = await failOnce();
    await controlled.control.hold(id);
    expect(await controlled.control.resend(id)).toMatchObject({
      outcome: 'pending',
      held: true,
      attempts: [{ status: 503 }, { status: 200 }],
    });
  });

  it('is dropped with the process, and deleted by a reset', async () => {
    const { delivery, database } = hook.fixture;
    await controlled.control.hold(await failOnce());
    await delivery.close();
    const rows = await database.query('SELECT outcome, reason FROM platform.deliveries');
    expect(rows).toEqual([{ outcome: 'dropped', reason: 'interrupted' }]);
    await delivery.reset(() => clearTables(database));
    expect(await delivery.list({ limit: 1 })).toEqual([]);
    expect(hook.fixture.clock.pending).toBe(0);
  });

  it('continues once it is released, even if it cannot be read then', async () => {
    const id = await failOnce();
    await controlled.control.hold(id);
    await hook.fixture.clock.advance(500);
    await hook.fixture.delivery.settle();
    await expect(controlled.halfBlind.release(id)).rejects.toThrow('the connection ended');
    await hook.fixture.delivery.settle();
    expect(await newest()).toMatchObject({ outcome: 'delivered', held: false });
  });

  it('must exist', async () => {
    expect(await controlled.control.hold(4_711)).toBeNull();
    expect(await controlled.control.release(4_711)).toBeNull();
  });
});
