import { describe, expect, it, onTestFinished } from 'vitest';
import { createConsumerMetrics } from '../../../src/connector/consumers/consumer-metrics.ts';
import {
  deleteOldDeadLetters,
  readDeadLetters,
  replayDeadLetter,
} from '../../../src/connector/consumers/dead-letters.ts';
import { readConsumerFigures } from '../../../src/connector/state/figures.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { collectLog } from '../../support/log-to.ts';
import { newId } from '../support/event-fixtures.ts';
import { consumerBenchOfFile } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

const fail = (): never => {
  throw new TypeError('no such customer');
};

/** A call that ends when the test says so. */
function openCall(): PromiseWithResolvers<void> & { readonly begun: PromiseWithResolvers<AbortSignal> } {
  return { ...Promise.withResolvers<void>(), begun: Promise.withResolvers<AbortSignal>() };
}

/** Every call of the handler waits for this one to end. */
function holdCalls() {
  const held = openCall();
  bench.answer = async (_, { signal }) => {
    held.begun.resolve(signal);
    await held.promise;
  };
  return held;
}

describe('the first dispatch', () => {
  it('begins with the next change if there are changes from before there was a handler', async () => {
    await bench.database.query('delete from connector.consumers');
    await bench.database.query('delete from connector.consumer_places');
    const connection = newId();
    await bench.tell(connection, 'of last year');
    const dispatch = await bench.running();
    await bench.tell(connection, 'of today');
    await dispatch.settle();
    expect(bench.callsOf(connection)).toEqual(['of today 1']);
  });

  it('leaves what comes in a time without handlers to the next process that has them', async () => {
    const connection = newId();
    await bench.tell(connection, 'for others');
    const dispatch = bench.process(null);
    await dispatch.start();
    await dispatch.settle();
    expect(bench.calls).toEqual([]);
    await (await bench.running()).settle();
    expect(bench.callsOf(connection)).toEqual(['for others 1']);
  });

  it.each([
    [{ onChange: undefined }, 'must have a function onChange'],
    [{ onChange: 'text' }, 'but has a value of type string'],
    [{ attempts: 0 }, 'attempts'],
    [{ attempts: 1.5 }, 'attempts'],
    [{ deadlineMs: 99 }, 'deadlineMs'],
  ])('refuses invalid handlers: %o', (handlers, named) => {
    expect(() => bench.process(handlers as never)).toThrow(named);
  });
});

describe('a change that was planned by a process whose clock is an hour ahead', () => {
  it('is called by the others at once', async () => {
    const connection = newId();
    await bench.tell(connection, '1', '2');
    bench.clock.jump(3_600_000);
    bench.answer = fail;
    const dispatch = await bench.running();
    await dispatch.settle();
    bench.clock.jump(-3_600_000);
    bench.answer = () => undefined;
    await dispatch.settle();
    expect(bench.callsOf(connection)).toEqual(['1 1', '1 2', '2 1']);
  });
});

describe('with more queues than places, dispatch', () => {
  it('calls each queue before any queue is far ahead of it', async () => {
    const queues = Array.from({ length: 15 }, newId);
    for (let round = 0; round < 20; round += 1)
      for (const connection of queues) await bench.tell(connection, `${round}`);
    await bench.database.query('update connector.consumers set concurrency = 10');
    onTestFinished(() => void bench.database.query('update connector.consumers set concurrency = 50'));
    await (await bench.running()).settle();
    expect(bench.calls).toHaveLength(300);
    const early = bench.calls.slice(0, 30);
    expect(new Set(early.map(({ connectionId }) => connectionId)).size).toBe(15);
  });
});

describe('dispatch', () => {
  it('calls the handler with the changes of a connection one by one, and with those of others concurrently', async () => {
    const [slow, quick] = [newId(), newId()];
    const dispatch = await bench.running();
    const held = openCall();
    bench.answer = async ({ connectionId }, { signal }) => {
      if (connectionId !== slow) return;
      held.begun.resolve(signal);
      await held.promise;
    };
    await bench.tell(slow, '1', '2');
    const all = dispatch.settle();
    await held.begun.promise;
    await bench.tell(quick, '1', '2', '3');
    await expect.poll(() => bench.callsOf(quick)).toEqual(['1 1', '2 1', '3 1']);
    expect(bench.callsOf(slow)).toEqual(['1 1']);
    held.resolve();
    await all;
    expect(bench.callsOf(slow)).toEqual(['1 1', '2 1']);
  });

  it('keeps the order over more changes than one run takes, and gives each a key of its own', async () => {
    const connection = newId();
    const texts = Array.from({ length: 120 }, (_, index) => `${index}`);
    const dispatch = await bench.running();
    await bench.tell(connection, ...texts);
    await dispatch.settle();
    expect(bench.callsOf(connection)).toEqual(texts.map((text) => `${text} 1`));
    expect(new Set(bench.calls.map(({ key }) => key)).size).toBe(120);
    expect(bench.calls[0]?.key).toMatch(/^[0-9a-f]{12}-\d+$/);
    expect(bench.calls[0]?.key).toBe(`${bench.calls[1]?.key.split('-')[0]}-${bench.calls[0]?.change.seq}`);
  });

  it('calls for at most 50 connections at a time', async () => {
    const connections = Array.from({ length: 60 }, newId);
    let under = 0;
    let most = 0;
    bench.answer = async () => {
      under += 1;
      most = Math.max(most, under);
      await new Promise((resolve) => setImmediate(resolve));
      under -= 1;
    };
    for (const connection of connections) await bench.tell(connection, 'x', 'y');
    await (await bench.running()).settle();
    expect(bench.calls).toHaveLength(120);
    expect(most).toBeLessThanOrEqual(50);
    expect(most).toBeGreaterThan(1);
  });
});

describe('a failing handler', () => {
  it('is called again with the same key after a wait that grows, and blocks only its own connection', async () => {
    const [held, other] = [newId(), newId()];
    const dispatch = await bench.running();
    bench.answer = ({ text, attempt }) => (text === 'bad' && attempt < 4 ? fail() : undefined);
    await bench.tell(held, 'bad');
    await bench.tell(other, 'good');
    await dispatch.settle();
    // What comes meanwhile shortens no wait.
    await bench.tell(held, 'next');
    await dispatch.settle();
    expect(bench.callsOf(held)).toEqual(['bad 1']);
    expect(bench.callsOf(other)).toEqual(['good 1']);
    for (const waitMs of [1_000, 2_000, 4_000]) {
      const before = bench.calls.length;
      await bench.pass(waitMs - 1, dispatch);
      expect(bench.calls).toHaveLength(before);
      await bench.pass(1, dispatch);
    }
    expect(bench.callsOf(held)).toEqual(['bad 1', 'bad 2', 'bad 3', 'bad 4', 'next 1']);
    const keys = bench.calls.filter(({ text }) => text === 'bad').map(({ key }) => key);
    expect(new Set(keys).size).toBe(1);
  });

  it('sets a change aside after its attempts, and the connection continues', async () => {
    const connection = newId();
    const dispatch = await bench.running({ attempts: 2 });
    bench.answer = ({ text }) => (text === 'bad' ? fail() : undefined);
    await bench.tell(connection, 'bad', 'next');
    await dispatch.settle();
    await bench.pass(1_000, dispatch);
    expect(bench.callsOf(connection)).toEqual(['bad 1', 'bad 2', 'next 1']);
    const [letter] = await readDeadLetters(bench.database, null, 10);
    expect(letter).toMatchObject({
      id: bench.calls[0]?.key,
      attempts: 2,
      change: { connectionId: connection, type: 'message.created', data: { text: 'bad' } },
    });
    expect(letter?.lastError).toMatch(/^TypeError: no such customer \(test\/.+\.test\.ts:\d+\)$/);
  });

  it.each<readonly [string, () => unknown]>([
    ['an error', () => new Error('Anna Müller, 447700900201, is unknown')],
    ['a cause', () => new Error('x', { cause: new Error('Anna Müller 447700900201') })],
    ['an AggregateError', () => new AggregateError([new Error('Anna Müller')], 'of 447700900201')],
    ['a name and a code', () => Object.assign(new Error('x'), { name: 'Anna', code: '447700900201' })],
    ['a text', () => 'Anna Müller 447700900201'],
    ['an object', () => ({ message: 'Anna Müller', phone: '447700900201' })],
  ])('logs no text and no number of a customer from the error that it throws: %s', async (_what, made) => {
    const { lines, logger } = collectLog('trace');
    const connection = newId();
    const dispatch = await bench.running({ attempts: 2 }, { logger });
    bench.answer = () => {
      throw made();
    };
    await bench.tell(connection, 'Anna Müller here, 447700900201');
    await dispatch.settle();
    await bench.pass(1_000, dispatch);

    expect(lines.filter((line) => line.includes('the consumer did not accept a change'))).toHaveLength(2);
    expect(lines.join('')).not.toMatch(/Anna|Müller|4477/);
    const [letter] = await readDeadLetters(bench.database, null, 1);
    expect(letter?.change.connectionId).toBe(connection);
  });

  it('has a change retried for ten minutes by default', async () => {
    const connection = newId();
    const dispatch = await bench.running();
    bench.answer = fail;
    await bench.tell(connection, 'bad');
    await dispatch.settle();
    const begun = bench.clock.now();
    for (let waits = 0; waits < 200 && bench.callsOf(connection).length < 12; waits += 1) {
      await bench.pass(5_000, dispatch);
    }
    expect(bench.callsOf(connection)).toHaveLength(12);
    expect(bench.clock.now() - begun).toBeGreaterThan(9 * 60_000);
    expect(bench.clock.now() - begun).toBeLessThan(12 * 60_000);
  });
});

describe('a dead letter that is replayed', () => {
  it('precedes everything that waits on its connection, with the same key', async () => {
    const connection = newId();
    const dispatch = await bench.running({ attempts: 1 });
    bench.answer = ({ text }) => (text === 'good' ? undefined : fail());
    await bench.tell(connection, 'bad', 'worse', 'good');
    await dispatch.settle();
    const keys = bench.calls.map(({ key }) => key);
    bench.answer = () => undefined;
    bench.calls = [];
    await dispatch.close();
    await bench.tell(connection, 'newer');
    // The later one first: their numbers say the order, not the operator.
    expect(await replayDeadLetter(bench.database, String(keys[1]), 0)).toBe('handler');
    expect(await replayDeadLetter(bench.database, String(keys[0]), 0)).toBe('handler');
    expect(await replayDeadLetter(bench.database, String(keys[0]), 0)).toBeNull();
    await (await bench.running()).settle();
    expect(bench.calls.map(({ text, key, attempt }) => [text, key, attempt])).toEqual([
      ['bad', keys[0], 2],
      ['worse', keys[1], 2],
      ['newer', expect.any(String), 1],
    ]);
    expect(await readDeadLetters(bench.database, null, 10)).not.toContainEqual(
      expect.objectContaining({ id: keys[0] }),
    );
  });

  it('precedes a change that waits for its next call, although the process knows nothing of the replay', async () => {
    const connection = newId();
    const dispatch = await bench.running({ attempts: 2 });
    bench.answer = fail;
    await bench.tell(connection, 'bad', 'worse');
    await dispatch.settle();
    await bench.pass(2_000, dispatch);
    expect(bench.callsOf(connection)).toEqual(['bad 1', 'bad 2', 'worse 1']);
    bench.answer = () => undefined;
    await replayDeadLetter(bench.database, String(bench.calls[0]?.key), 0);
    await dispatch.settle();
    expect(bench.callsOf(connection).slice(3)).toEqual(['bad 3', 'worse 2']);
  });

  it.each(['before', 'after'])(
    'is called by a process that begins %s it and follows one that died',
    async (when) => {
      const connection = newId();
      const dead = await bench.running({ attempts: 1 });
      bench.answer = fail;
      await bench.tell(connection, 'bad');
      await dead.settle();
      await bench.bury(dead);
      bench.answer = () => undefined;
      const replay = () => replayDeadLetter(bench.database, String(bench.calls[0]?.key), 0);
      if (when === 'after') await replay();
      const dispatch = await bench.running({ attempts: 1 });
      if (when === 'before') await replay();
      await dispatch.settle();
      expect(bench.callsOf(connection)).toEqual(['bad 1', 'bad 2']);
    },
  );

  it('has one more call and blocks nothing if it fails', async () => {
    const connection = newId();
    const dispatch = await bench.running({ attempts: 1 });
    bench.answer = ({ text }) => (text === 'bad' ? fail() : undefined);
    await bench.tell(connection, 'bad');
    await dispatch.settle();
    const id = String(bench.calls[0]?.key);
    await replayDeadLetter(bench.database, id, 0);
    await dispatch.settle();
    await bench.tell(connection, 'next');
    await dispatch.settle();
    expect(bench.callsOf(connection)).toEqual(['bad 1', 'bad 2', 'next 1']);
    const [letter] = await readDeadLetters(bench.database, null, 1);
    expect(letter).toMatchObject({ id, attempts: 2 });
  });

  it.each(['', 'x', '1', 'ffffffffffff-1', '-1', "0' or 1=1"])(
    'is not found by an id of another kind: %o',
    async (id) => {
      expect(await replayDeadLetter(bench.database, id, 0)).toBeNull();
    },
  );
});

describe('a dead letter that is neither replayed nor deleted', () => {
  it('is deleted after 90 days, and no longer counted', async () => {
    const connection = newId();
    bench.answer = fail;
    const process = await bench.running({ attempts: 1 });
    await bench.tell(connection, 'old');
    await process.settle();
    const setAsideAt = bench.clock.now();
    await bench.clock.advance(1_000);
    await bench.tell(connection, 'newer');
    await process.settle();
    await deleteOldDeadLetters(bench.database, setAsideAt + 90 * 24 * 3_600_000);
    expect(await readDeadLetters(bench.database, null, 10)).toHaveLength(2);
    await deleteOldDeadLetters(bench.database, setAsideAt + 90 * 24 * 3_600_000 + 1);
    expect(await readDeadLetters(bench.database, null, 10)).toHaveLength(1);
    expect((await readConsumerFigures(bench.database))[0]).toMatchObject({ deadLetters: 1 });
  });
});

describe('a handler that hangs', () => {
  it('is aborted by its signal at the deadline, which counts as a failure', async () => {
    const connection = newId();
    const dispatch = await bench.running({ deadlineMs: 5_000, attempts: 2 });
    const held = holdCalls();
    await bench.tell(connection, 'endless');
    const settled = dispatch.settle();
    const signal = await held.begun.promise;
    await bench.clock.advance(4_999);
    expect(signal.aborted).toBe(false);
    await bench.clock.advance(1);
    expect(signal.aborted).toBe(true);
    await settled;
    bench.answer = () => undefined;
    await bench.pass(1_000, dispatch);
    expect(bench.callsOf(connection)).toEqual(['endless 1', 'endless 2']);
    // Whatever the first call comes to now, nobody listens.
    held.reject(new Error('too late'));
  });

  it('is waited for when the process stops, then aborted; the change is dispatched again without a counted failure', async () => {
    const connection = newId();
    const dispatch = await bench.running({ attempts: 1 });
    const held = holdCalls();
    await bench.tell(connection, 'slow', 'next');
    void dispatch.settle();
    const signal = await held.begun.promise;
    const closed = dispatch.close();
    await bench.clock.advance(7_999);
    expect(signal.aborted).toBe(false);
    await bench.clock.advance(1);
    expect(signal.aborted).toBe(true);
    await closed;
    bench.answer = () => undefined;
    await (await bench.running()).settle();
    expect(bench.callsOf(connection)).toEqual(['slow 1', 'slow 1', 'next 1']);
  });

  it.each(['returns', 'throws'])(
    'changes nothing if its process was taken for dead and it %s: the partition belongs to another process',
    async (how) => {
      const connection = newId();
      const dead = await bench.running();
      const [first, next] = [openCall(), openCall()];
      bench.answer = async ({ text }, { signal }) => {
        const held = text === 'next' ? next : first;
        held.begun.resolve(signal);
        if (text === 'next' || bench.calls.length === 1) await held.promise;
      };
      await bench.tell(connection, 'slow', 'next', 'last');
      const settled = dead.settle();
      await first.begun.promise;
      // It looks no more, so it does not learn of its death before its handler comes back.
      await dead.presence.stop();
      const taken = (await bench.running()).settle();
      await next.begun.promise;
      if (how === 'returns') first.resolve();
      else first.reject(new Error('too late'));
      next.resolve();
      await Promise.all([settled, taken]);
      // What the dead process still calls is a repeat, and it writes nothing.
      expect((await readConsumerFigures(bench.database))[0]).toMatchObject({ waiting: 0, deadLetters: 0 });
      expect([...new Map(bench.calls.map(({ key, text }) => [key, text])).values()]).toEqual([
        'slow',
        'next',
        'last',
      ]);
      expect(await bench.database.query('select from connector.parked')).toEqual([]);
    },
  );

  it('may complete while the process stops, and the next change waits for the next process', async () => {
    const connection = newId();
    const dispatch = await bench.running();
    const held = holdCalls();
    await bench.tell(connection, 'slow', 'next');
    void dispatch.settle();
    await held.begun.promise;
    const closed = dispatch.close();
    held.resolve();
    await closed;
    expect(bench.callsOf(connection)).toEqual(['slow 1']);
    bench.answer = () => undefined;
    await (await bench.running()).settle();
    expect(bench.callsOf(connection)).toEqual(['slow 1', 'next 1']);
  });
});

describe('notifications of dispatch', () => {
  it('may be lost: looking finds what is due', async () => {
    const connection = newId();
    bench.notifier.failing = true;
    await bench.tell(connection, 'x');
    await bench.running();
    // What gives the connection its change has a statement of its own, and a sweep may come before it.
    while (bench.calls.length === 0) {
      await bench.feed.settle();
      await bench.clock.advance(5_000);
    }
    expect(bench.callsOf(connection)).toEqual(['x 1']);
  });
});

it('the metrics show the handler before its first call', async () => {
  const metrics = createMetrics();
  createConsumerMetrics(metrics);
  const { text } = await metrics.render();
  expect(text).toContain('connector_consumer_calls_total{consumer="handler",result="taken"} 0');
});

describe('the lag of dispatch', () => {
  it('includes how many changes wait, the age of the oldest, and the number of dead letters', async () => {
    const connection = newId();
    const before = (await readConsumerFigures(bench.database))[0];
    await bench.tell(connection, 'bad', 'b', 'c');
    await bench.clock.advance(7_000);
    const oldestAt = bench.clock.now() - 7_000;
    expect((await readConsumerFigures(bench.database))[0]).toMatchObject({ waiting: 3, oldestAt });
    bench.answer = fail;
    await (await bench.running({ attempts: 1 })).settle();
    expect((await readConsumerFigures(bench.database))[0]).toMatchObject({
      waiting: 0,
      oldestAt: null,
      deadLetters: (before?.deadLetters ?? 0) + 3,
    });
    expect((await bench.metrics.render()).text).toMatch(
      /connector_consumer_calls_total\{consumer="handler",result="failed"\} [1-9]/,
    );
  });
});
