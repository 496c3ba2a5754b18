import { describe, expect, it } from 'vitest';
import { exactly } from '../../../src/contract/sandbox/filter.ts';
import { startReceiver } from '../../support/receiver.ts';
import { replaceTransactions } from '../../support/replace-transactions.ts';
import { HOOK, receivedEvent, shareDatabase, useHook, WORKSPACE } from './fixture.ts';

const OTHER = 'cworkspace000000000000002';

shareDatabase();

describe('the queue of an account', () => {
  const hook = useHook(() => ({ attemptsAtOnce: 2 }));

  const many = (count: number, workspace = WORKSPACE) =>
    Array.from({ length: count }, (_, index) => receivedEvent(`cmessage${index}`, 'hello', workspace));

  it('opens no more concurrent attempts than its limit', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.otherwise({ after: answer.promise });
    await hook.fixture.emit(...many(5));
    await hook.receiver.received(2);
    expect(hook.receiver.connections).toBe(2);
    const pending = await hook.fixture.delivery.list({ limit: 10, where: exactly({ status: 'pending' }) });
    // What goes on shows where it is sent, although nothing is stored yet.
    expect(pending.map(({ url }) => url)).toEqual([null, null, null, HOOK, HOOK]);
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

  it('begins the events that wait in the order in which they happened', async () => {
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise }, { after: answer.promise });
    await hook.fixture.emit(...many(45));
    await hook.receiver.received(2);
    answer.resolve();
    await hook.fixture.delivery.settle();
    const ids = hook.receiver.requests.map(({ body }) => JSON.parse(body.toString()).message.id);
    expect(new Set(ids).size).toBe(45);
    expect(ids).toHaveLength(45);
    expect(ids[44]).toMatch(/cmessage4[34]/);
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

  it('makes a retry on time although the clock of the machine is set back', async () => {
    hook.receiver.script({ status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    hook.fixture.clock.jump(-3_600_000);
    await hook.fixture.clock.advance(500);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(2);
  });
});

describe('while the database fails', () => {
  let fail: (text: string) => 'before' | 'after' | undefined = () => undefined;
  const lost = (): Error => new Error('the connection ended');
  const hook = useHook((database) => ({
    database: {
      ...replaceTransactions(database, (work, options) => database.transaction(work, options)),
      async query(text, params, options) {
        const fate = fail(text);
        if (fate === 'before') throw lost();
        const rows = await database.query<never>(text, params, options);
        if (fate === 'after') throw lost();
        return rows;
      },
    },
  }));

  /** The first statement with these words fails. */
  const failOnce = (words: string, fate: 'before' | 'after'): void => {
    fail = (text) => {
      if (!text.includes(words)) return undefined;
      fail = () => undefined;
      return fate;
    };
  };

  it('an event waits until its delivery can be claimed', async () => {
    failOnce('"due_at" <=', 'before');
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.pass(1_000);
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it.each(['before', 'after'] as const)(
    'an attempt is stored once, if the first write fails %s it has taken effect',
    async (fate) => {
      failOnce('||', fate);
      await hook.fixture.emit(receivedEvent('cmessage1'));
      await hook.fixture.pass(1_000);
      await hook.fixture.delivery.settle();
      expect(await hook.fixture.delivery.list({ limit: 10 })).toMatchObject([
        { outcome: 'delivered', attempts: [{ status: 200 }] },
      ]);
      expect(hook.receiver.requests).toHaveLength(1);
    },
  );
});
