import { describe, expect, it } from 'vitest';
import { exactly } from '../../../src/contract/sandbox/filter.ts';
import { startReceiver } from '../../support/receiver.ts';
import { receivedEvent, shareDatabase, useHook, WORKSPACE } from './fixture.ts';

const OTHER = 'cworkspace000000000000002';

shareDatabase();

describe('the queue of an account', () => {
  const hook = useHook(() => ({ limits: { attempts: 2, deliveries: 8, events: 10, ids: 50 } }));

  const many = (count: number, workspace = WORKSPACE) =>
    Array.from({ length: count }, (_, index) => receivedEvent(`cmessage${index}`, 'hello', workspace));

  it('opens no more concurrent attempts than its limit', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.otherwise({ after: answer.promise });
    await hook.fixture.emit(...many(5));
    await hook.receiver.received(2);
    expect(hook.receiver.connections).toBe(2);
    const pending = await hook.fixture.delivery.list({ limit: 10, where: exactly({ status: 'pending' }) });
    expect(pending).toHaveLength(5);
    answer.resolve();
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(5);
    expect(hook.receiver.connections).toBe(2);
  });

  it('does not affect other accounts if its receiver never answers', async () => {
    const hole = await startReceiver();
    hole.otherwise({ hang: true });
    hook.fixture.tunnels.set('hole.example.com', hole.origin);
    await hook.fixture.configuration.put(OTHER, 'https://hole.example.com/');
    await hook.fixture.emit(...many(40, OTHER));
    await hole.received(2);
    await hook.fixture.emit(...many(20));
    await hook.receiver.received(20);
    expect(hole.requests).toHaveLength(2);
    await hole.close();
  });

  it('occupies no place while it waits for a retry', async () => {
    hook.receiver.script({ status: 500 }, { status: 500 });
    await hook.fixture.emit(...many(6));
    await hook.receiver.received(6);
    await hook.fixture.clock.timerSet(500);
    await hook.fixture.pass(500);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(8);
  });

  it('reads events that are not in memory back from the ledger, in order', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise }, { after: answer.promise });
    const events = await hook.fixture.emit(...many(45));
    const pending = await hook.fixture.delivery.list({ limit: 100, where: exactly({ status: 'pending' }) });
    expect(pending.map(({ eventId }) => eventId)).toEqual(events.map(({ id }) => id).reverse());
    answer.resolve();
    await hook.fixture.delivery.settle();
    const ids = hook.receiver.requests.map(({ body }) => JSON.parse(body.toString()).message.id);
    expect(new Set(ids).size).toBe(45);
    expect(ids).toHaveLength(45);
    expect(hook.receiver.requests[44]?.body.toString()).toMatch(/cmessage4[34]/);
    const delivered = await hook.fixture.delivery.list({
      limit: 100,
      where: exactly({ status: 'delivered' }),
    });
    expect(delivered).toHaveLength(45);
  });

  it('drops events beyond its limit, with the reason', async () => {
    hook.receiver.otherwise({ hang: true });
    await hook.fixture.emit(...many(80));
    await hook.receiver.received(2);
    const dropped = await hook.fixture.delivery.list({ limit: 100, where: exactly({ status: 'dropped' }) });
    expect(dropped).toHaveLength(80 - 2 - 10 - 50);
    expect(new Set(dropped.map(({ reason }) => reason))).toEqual(new Set(['backlog_full']));
  });

  it('settles at once if nothing was sent', async () => {
    await hook.fixture.delivery.settle();
    expect(await hook.fixture.delivery.list({ limit: 1 })).toEqual([]);
  });

  it('settles only after the last retry', async () => {
    hook.receiver.script({ status: 500 }, { status: 500 }, { status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    let settled = false;
    const settle = hook.fixture.delivery.settle().then(() => {
      settled = true;
    });
    await hook.fixture.pass(500);
    await hook.fixture.clock.timerSet(1_000);
    expect(settled).toBe(false);
    await hook.fixture.clock.advance(1_000);
    await settle;
    expect(hook.receiver.requests).toHaveLength(3);
  });
});
