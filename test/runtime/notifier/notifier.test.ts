import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase, type Queryable } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { createPostgresNotifier } from '../../../src/runtime/notifier/postgres-notifier.ts';
import { createTestDatabase } from '../../support/database.ts';
import { collectLog } from '../../support/log-to.ts';
import { PGBOUNCER, startPgbouncer } from '../../support/pgbouncer.ts';
import { CARRIERS, type Carrier } from './carriers.ts';

/** Records the keys of a subscription in order of arrival. */
class Heard {
  readonly keys: string[] = [];
  readonly times: number[] = [];
  /** What the handler waits for. */
  beginning: Promise<void> = Promise.resolve();

  readonly on = async (key: string): Promise<void> => {
    this.keys.push(key);
    this.times.push(systemClock.elapsed());
    await this.beginning;
  };
}

/** Resolves when the carrier has what was notified before. */
async function reached(notifier: Notifier): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = notifier.subscribe('probe', async () => resolve());
  notifier.notify('probe', 'x');
  await promise;
  unsubscribe();
}

for (const kind of CARRIERS) {
  const title = `notifications by ${kind.name}${kind.missing === undefined ? '' : ` (skipped: ${kind.missing})`}`;
  describe.skipIf(kind.missing !== undefined)(title, () => {
    let carrier: Carrier;
    const open = async (): Promise<Carrier> => {
      carrier = await kind.start();
      return carrier;
    };
    afterEach(() => carrier.close());

    it('reach another process', async () => {
      const { open: opened } = await open();
      const [sender, receiver] = [await opened(), await opened()];
      const heard = new Heard();
      receiver.subscribe('work', heard.on);
      // A new subscriber may not receive notifications yet.
      await expect
        .poll(() => {
          sender.notify('work', 'a:b%c');
          return heard.keys;
        })
        .toContain('a:b%c');
      expect(new Set(heard.keys)).toEqual(new Set(['a:b%c']));
    });

    it('reach the process that sends them if it subscribes to the topic', async () => {
      const notifier = await (await open()).open();
      const heard = new Heard();
      notifier.subscribe('work', heard.on);
      notifier.notify('work', 'mine');
      notifier.notify('other', 'not mine');
      await expect.poll(() => heard.keys).toEqual(['mine']);
    });

    it('are told to every process that hears the topic, and to no other', async () => {
      const { open: opened } = await open();
      const [first, second, third] = [await opened(), await opened(), await opened()];
      const heard = [new Set<string>(), new Set<string>()];
      first.hear('work', (key) => heard[0]?.add(key));
      const end = second.hear('work', (key) => heard[1]?.add(key));
      // A new listener may not hear yet.
      await expect
        .poll(() => {
          third.tell('work', 'a:b%c d');
          first.tell('other', 'nothing');
          return heard;
        })
        .toEqual([new Set(['a:b%c d']), new Set(['a:b%c d'])]);
      end();
      await expect
        .poll(() => {
          first.tell('work', 'again');
          return heard[0];
        })
        .toContain('again');
      expect(heard[1]).not.toContain('again');
    });

    it('arrive after a requested delay, once for all calls before then', async () => {
      const notifier = await (await open()).open();
      const heard = new Heard();
      notifier.subscribe('work', heard.on);
      const from = systemClock.elapsed();
      notifier.notify('work', 'later', 400);
      notifier.notify('work', 'later', 400);
      notifier.notify('work', 'now');
      await expect.poll(() => heard.keys).toEqual(['now', 'later']);
      expect((heard.times[1] ?? 0) - from).toBeGreaterThanOrEqual(399);
      // One that is planned can be brought forward.
      notifier.notify('work', 'later', 3_600_000);
      await reached(notifier);
      notifier.notify('work', 'later', 10);
      await expect.poll(() => heard.keys, { timeout: 5_000 }).toEqual(['now', 'later', 'later']);
    });

    it('arrive again for a key that is in work', async () => {
      const notifier = await (await open()).open();
      const heard = new Heard();
      notifier.subscribe('work', heard.on);
      for (let times = 1; times <= 3; times += 1) {
        const work = Promise.withResolvers<void>();
        heard.beginning = work.promise;
        notifier.notify('work', 'again');
        await expect.poll(() => heard.keys.length).toBe(2 * times - 1);
        notifier.notify('work', 'again');
        // The carrier has it before the work ends.
        await reached(notifier);
        work.resolve();
        await expect.poll(() => heard.keys.length, { timeout: 5_000 }).toBe(2 * times);
      }
    });

    it('never throw, and reach their own process while the carrier is down', async () => {
      const { open: opened, proxy } = await open();
      const notifier = await opened();
      const heard = new Heard();
      notifier.subscribe('work', heard.on);
      await proxy.refuse();
      proxy.cut();
      notifier.notify('other', 'lost');
      notifier.notify('work', 'still heard');
      await expect.poll(() => heard.keys).toEqual(['still heard']);
    });

    it('reach other processes again after an outage', async () => {
      const { open: opened, proxy } = await open();
      const [sender, receiver] = [await opened(), await opened()];
      const heard = new Heard();
      receiver.subscribe('work', heard.on);
      await proxy.refuse();
      proxy.cut();
      await proxy.accept();
      await expect
        .poll(() => {
          sender.notify('work', 'back');
          return heard.keys.length;
        })
        .toBeGreaterThan(0);
    });

    it('close within a bounded time while the network is frozen', async () => {
      const { open: opened, proxy } = await open();
      const notifier = await opened();
      notifier.subscribe('work', new Heard().on);
      await reached(notifier);
      proxy.freeze();
      notifier.notify('other', 'x');
      await expect(notifier.close()).resolves.toBeUndefined();
      proxy.thaw();
    });

    it('go to the other subscribers once a subscription has ended', async () => {
      const { open: opened } = await open();
      const [leaves, stays] = [await opened(), await opened()];
      const [left, heard] = [new Heard(), new Heard()];
      const unsubscribe = leaves.subscribe('work', left.on);
      stays.subscribe('work', heard.on);
      unsubscribe();
      await expect
        .poll(() => {
          leaves.notify('work', 'handed on');
          return heard.keys.length;
        })
        .toBeGreaterThan(2);
      expect(left.keys).toEqual([]);
    });

    it('do not arrive after the notifier is closed', async () => {
      const { open: opened } = await open();
      const [sender, receiver] = [await opened(), await opened()];
      const heard = new Heard();
      receiver.subscribe('work', heard.on);
      await receiver.close();
      sender.notify('work', 'late');
      receiver.notify('work', 'late');
      await reached(sender);
      expect(heard.keys).toEqual([]);
    });

    it('fail with only a few log lines', async () => {
      const { lines, logger } = collectLog('trace');
      const { open: opened, proxy } = await open();
      const notifier = await opened(logger);
      notifier.subscribe('work', new Heard().on);
      await reached(notifier);
      await proxy.refuse();
      proxy.cut();
      for (let index = 0; index < 20; index += 1) notifier.notify('other', String(index));
      await expect.poll(() => lines.length).toBeGreaterThan(0);
      expect(lines.length).toBeLessThan(4);
    });
  });
}

describe.skipIf(PGBOUNCER === undefined)(
  'behind a pooler in transaction mode (skipped if there is none)',
  () => {
    it('a process notifies itself, receives nothing from others, and reports that', async () => {
      const test = await createTestDatabase();
      const pooler = await startPgbouncer(PGBOUNCER ?? '', test.url, 2);
      const databaseUrl = `${pooler.url}?prepare=false`;
      const logger = createLogger({ level: 'silent', name: 'test' });
      const database = openDatabase({ url: databaseUrl, name: 'test', clock: systemClock, logger });
      const open = () => openNotifier({ database, databaseUrl, prefix: 'test', clock: systemClock, logger });
      const [mine, other] = [await open(), await open()];
      const heard = new Heard();
      mine.subscribe('work', heard.on);
      other.notify('work', 'from another');
      await other.close();
      mine.notify('work', 'my own');
      await expect.poll(() => heard.keys).toEqual(['my own']);
      expect(mine.receives).toBe(false);
      const listeners = await database.query(
        `select from pg_stat_activity where query ilike 'listen %' and datname = current_database()`,
      );
      expect(listeners).toEqual([]);
      await mine.close();
      await database.close();
      await pooler.stop();
      await test.drop();
    });
  },
);

describe('the Postgres channel', () => {
  it('carries what is notified at the moment when a statement ends', async () => {
    const sent: string[] = [];
    const statement = Promise.withResolvers<never[]>();
    const database: Queryable = {
      query(_text, params = []) {
        sent.push(...(params[1] as string[]));
        return statement.promise;
      },
    };
    const notifier = createPostgresNotifier({
      database,
      databaseUrl: 'postgres://127.0.0.1/none',
      prefix: 'test',
      clock: systemClock,
      onError: (error) => expect.fail(String(error)),
    });
    notifier.notify('work', 'first');
    await expect.poll(() => sent).toEqual(['["work","first"]']);
    void statement.promise.then(() => notifier.notify('work', 'second'));
    statement.resolve([]);
    await expect.poll(() => sent).toEqual(['["work","first"]', '["work","second"]']);
    await notifier.close();
  });

  it('ignores foreign payloads', async () => {
    const test = await createTestDatabase();
    const logger = createLogger({ level: 'silent', name: 'test' });
    const database = openDatabase({ url: test.url, name: 'test', clock: systemClock, logger });
    const notifier = await openNotifier({
      database,
      databaseUrl: test.url,
      prefix: 'test',
      clock: systemClock,
      logger,
    });
    const heard = new Heard();
    notifier.subscribe('work', heard.on);
    const send = (payload: string) => database.query('select pg_notify($1, $2)', ['test', payload]);
    await expect
      .poll(async () => {
        for (const payload of ['', 'text', '{}', '[1]', '["work"]', '["work",1]', '["other","x"]', 'null'])
          await send(payload);
        await send('["work","good"]');
        return heard.keys;
      })
      .toContain('good');
    expect(new Set(heard.keys)).toEqual(new Set(['good']));
    await notifier.close();
    await database.close();
    await test.drop();
  });
});
