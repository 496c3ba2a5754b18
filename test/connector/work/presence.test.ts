import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { heldLease, type Lease } from '../../../src/connector/db/lease.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { openConnectorDatabase, silentLogger } from '../support/event-fixtures.ts';

const NOON = Date.UTC(2026, 0, 15, 12);
const BEAT = 1_000;

const opened = ofFile(() => openConnectorDatabase(8));
let database: Database;
let started: TestProcess[] = [];

beforeAll(async () => {
  database = opened.database;
});
afterEach(async () => {
  await Promise.all(started.map(({ presence }) => presence.stop()));
  started = [];
  await database.query('truncate connector.leases, connector.processes');
});

/** A process with a clock and a way to the database of its own. */
class TestProcess {
  readonly clock: ManualClock;
  readonly presence: Presence;
  /** Statements that begin so do not reach the database. */
  failing: RegExp | null = null;
  /** Statements that begin so take effect, and their answer is lost. */
  losing: RegExp | null = null;
  /** No lease is taken before this resolves. */
  taking: Promise<unknown> = Promise.resolve();
  /** The answer to a heartbeat is under way until this resolves. */
  beatAnswered: Promise<unknown> = Promise.resolve();
  readonly left: string[] = [];
  returns = 0;

  constructor(clock: ManualClock) {
    this.clock = clock;
    const reached = aroundQueries(database, async (text, run) => {
      if (this.failing?.test(text.trim())) throw new Error('the database is away');
      if (/^INSERT INTO connector.leases/.test(text.trim())) await this.taking;
      const rows = await run();
      if (/^WITH beaten/.test(text.trim())) await this.beatAnswered;
      if (this.losing?.test(text.trim())) throw new Error('the answer was lost');
      return rows;
    });
    const options = { database: reached, clock, logger: silentLogger, works: true };
    this.presence = createPresence(options);
    this.presence.onReturn(() => {
      this.returns += 1;
    });
  }

  /** Asks to be called about what others leave behind. */
  takes(kind: string): this {
    this.presence.onLeft(kind, (id) => this.left.push(`${kind}:${id}`));
    return this;
  }

  /** Holds this until the test lets go. */
  async hold(name: string): Promise<HeldByTest> {
    const taken = Promise.withResolvers<{ lease: Lease; signal: AbortSignal }>();
    const gate = Promise.withResolvers<void>();
    const holding = this.presence.hold(name, async (lease, signal) => {
      taken.resolve({ lease, signal });
      await gate.promise;
    });
    const held = holding.then((end) => {
      if (!end.held) throw new Error(`${name} is held by another process`);
    });
    return {
      ...(await Promise.race([taken.promise, held.then(() => Promise.reject(new Error('ended')))])),
      async letGo() {
        gate.resolve();
        await holding;
      },
    };
  }

  async canHold(name: string): Promise<boolean> {
    return (await this.presence.hold(name, async () => undefined)).held;
  }
}

interface HeldByTest {
  readonly lease: Lease;
  readonly signal: AbortSignal;
  letGo(): Promise<void>;
}

async function start(clock = new ManualClock(NOON)): Promise<TestProcess> {
  const process = new TestProcess(clock);
  await process.presence.start();
  started.push(process);
  return process;
}

/** Lets time pass for these processes; the others are frozen or dead. */
async function pass(ms: number, ...processes: TestProcess[]): Promise<void> {
  for (let left = ms; left > 0; left -= BEAT) {
    for (const { clock, presence } of processes) {
      await clock.advance(Math.min(left, BEAT));
      await presence.beat().catch(() => undefined);
    }
  }
}

async function readBeats(id: string): Promise<number | undefined> {
  const [row] = await database.query<{ beats: number }>(
    'select beats from connector.processes where id = $1',
    [id],
  );
  return row?.beats;
}

/** Whether a write under this lease takes effect. */
async function isWritten({ name, fence }: Lease): Promise<boolean> {
  return (await database.query(heldLease('$1', '$2'), [name, fence])).length > 0;
}

describe('a lease', () => {
  it('is held by one of many concurrent applicants', async () => {
    const processes = await Promise.all(Array.from({ length: 10 }, () => start()));
    const gate = Promise.withResolvers<void>();
    let refused = 0;
    const ends = processes.map(async ({ presence }) => {
      const { held } = await presence.hold('work:1', () => gate.promise);
      if (!held) refused += 1;
      return held;
    });
    await expect.poll(() => refused).toBe(9);
    gate.resolve();
    expect((await Promise.all(ends)).filter((held) => held)).toEqual([true]);
  });

  it('is free once its work is over, and a later write of its last holder has no effect', async () => {
    const [a, b] = [await start(), await start()];
    const first = await a.hold('work:1');
    expect(await b.canHold('work:1')).toBe(false);
    expect(await isWritten(first.lease)).toBe(true);
    await first.letGo();
    const second = await b.hold('work:1');
    expect(second.lease.fence).not.toBe(first.lease.fence);
    expect(await isWritten(first.lease)).toBe(false);
    await second.letGo();
  });

  it('is not free for its own holder either', async () => {
    const a = await start();
    const held = await a.hold('work:1');
    expect(await a.canHold('work:1')).toBe(false);
    await held.letGo();
  });

  it('is released if its work fails, and leaves no row', async () => {
    const a = await start();
    const work = a.presence.hold('work:1', () => Promise.reject(new Error('failed')));
    await expect(work).rejects.toThrow('failed');
    expect(await database.query('select name from connector.leases')).toEqual([]);
  });

  it('ends for its holder if its subject is deleted', async () => {
    const a = await start();
    const held = await a.hold('work:1');
    await database.query('delete from connector.leases');
    await pass(BEAT, a);
    expect(held.signal.aborted).toBe(true);
    await held.letGo();
  });

  it('is kept if it is taken during a check', async () => {
    const a = (await start()).takes('work');
    const [taking, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    a.taking = taking.promise;
    a.beatAnswered = answered.promise;
    const holding = a.hold('work:1');
    const beaten = a.presence.beat();
    await expect.poll(() => readBeats(a.presence.id)).toBe(2);
    taking.resolve();
    const held = await holding;
    answered.resolve();
    await beaten;
    expect(held.signal.aborted).toBe(false);
    expect(a.left).toEqual([]);
    await held.letGo();
  });

  it('is kept as long as its work takes', async () => {
    const [a, b] = [(await start()).takes('work'), (await start()).takes('work')];
    const held = await a.hold('work:1');
    await pass(60_000, a, b);
    expect(await b.canHold('work:1')).toBe(false);
    expect(held.signal.aborted).toBe(false);
    expect([...a.left, ...b.left]).toEqual([]);
    await held.letGo();
  });
});

describe('a process that dies', () => {
  it('leaves everything free within five seconds, and nothing in the first three', async () => {
    const [dead, heir] = [await start(), await start()];
    await pass(2_000, dead, heir);
    const held = await dead.hold('work:1');
    await pass(3_000, heir);
    expect(await heir.canHold('work:1')).toBe(false);
    await pass(2_000, heir);
    expect(await heir.canHold('work:1')).toBe(true);
    await held.letGo();
  });

  it('leaves each lease to one process that does its kind of work', async () => {
    const [dead, web, a, b] = [await start(), await start(), await start(), await start()];
    for (const worker of [a, b]) worker.takes('poll').takes('send');
    web.takes('registration');
    const held = await Promise.all(['poll:x', 'send:y:z', 'registration:s'].map((name) => dead.hold(name)));
    await pass(5_000, web, a, b);
    await expect.poll(() => [...a.left, ...b.left].sort()).toEqual(['poll:x', 'send:y:z']);
    await expect.poll(() => web.left).toEqual(['registration:s']);
    expect(await database.query('select name from connector.leases')).toEqual([]);
    await Promise.all(held.map(({ letGo }) => letGo()));
  });

  it('is recognized by its missing heartbeats, whatever the difference between clocks', async () => {
    const [early, late] = [
      await start(new ManualClock(NOON - 3_600_000)),
      await start(new ManualClock(NOON + 3_600_000)),
    ];
    const held = await early.hold('work:1');
    await pass(5_000, early, late);
    early.clock.jump(-600_000);
    late.clock.jump(600_000);
    await pass(10_000, early, late);
    expect(await late.canHold('work:1')).toBe(false);
    await pass(5_000, late);
    expect(await late.canHold('work:1')).toBe(true);
    await held.letGo();
  });

  it('is watched first by one that starts: a host name does not show whether they share a clock', async () => {
    const dead = await start();
    const held = await dead.hold('work:1');
    const heir = (await start(new ManualClock(NOON + 3_600_000))).takes('work');
    await pass(3_000, heir);
    expect(await heir.canHold('work:1')).toBe(false);
    await pass(1_000, heir);
    await expect.poll(() => heir.left).toEqual(['work:1']);
    await held.letGo();
  });
});

describe.each([5_000, 300_000])('two processes on one host name with clocks %i ms apart', (apart) => {
  it('lose no lease in a minute of work, however often one of them starts anew', async () => {
    const slow = await start(new ManualClock(NOON));
    let fast = await start(new ManualClock(NOON + apart));
    const held = await slow.hold('work:slow');
    for (let seconds = 0; seconds < 60; seconds += 10) {
      const other = await fast.hold('work:fast');
      await pass(10_000, slow, fast);
      expect([held, other].map(({ signal }) => signal.aborted)).toEqual([false, false]);
      await other.letGo();
      await fast.presence.stop();
      fast = await start(new ManualClock(NOON + apart + seconds * 1_000));
    }
    expect(await isWritten(held.lease)).toBe(true);
    await held.letGo();
  });
});

describe('a process that was frozen', () => {
  it('learns that it was taken for dead, writes nothing under its old leases, and joins again under another name', async () => {
    const [frozen, other] = [(await start()).takes('work'), await start()];
    const before = frozen.presence.id;
    const held = await frozen.hold('work:1');
    const forgotten = await frozen.hold('work:2');
    await pass(5_000, other);
    const taken = await other.hold('work:1');
    expect(held.signal.aborted).toBe(false);
    expect(await isWritten(held.lease)).toBe(false);

    await frozen.clock.advance(5_000);
    await frozen.presence.beat();
    expect(held.signal.aborted).toBe(true);
    expect(frozen.presence.id).not.toBe(before);
    expect(frozen.left).toEqual(['work:2']);
    expect(await isWritten(forgotten.lease)).toBe(false);
    expect(await frozen.canHold('work:1')).toBe(false);
    expect(await frozen.canHold('work:2')).toBe(true);
    await Promise.all([held.letGo(), forgotten.letGo()]);
    expect(await isWritten(taken.lease)).toBe(true);
    await taken.letGo();
  });

  it('takes nobody for dead because of the time that it slept', async () => {
    const [sleeper, awake] = [await start(), await start()];
    await pass(1_000, awake, sleeper);
    const held = await awake.hold('work:1');
    // It beats before the other one can give its next sign.
    await sleeper.clock.advance(3_000);
    await sleeper.presence.beat();
    // Longer than a silence in all, but it has been awake for a second of it only.
    await sleeper.clock.advance(1_000);
    await sleeper.presence.beat();
    expect(await sleeper.canHold('work:1')).toBe(false);
    await pass(5_000, awake, sleeper);
    expect(held.signal.aborted).toBe(false);
    await held.letGo();
  });
});

describe('a process knows that no other has its leases', () => {
  it('for three seconds after a heartbeat began, and again after one that begins later', async () => {
    const process = await start();
    await pass(1_000, process);
    process.failing = /./;
    await process.clock.advance(2_999);
    expect(process.presence.isConfirmed).toBe(true);
    await process.clock.advance(1);
    expect(process.presence.isConfirmed).toBe(false);
    process.failing = null;
    await process.presence.confirm();
    expect(process.presence.isConfirmed).toBe(true);
  });

  it('no longer when its machine slept with its monotonic clock', async () => {
    const process = await start();
    process.clock.jump(3_000);
    expect(process.presence.isConfirmed).toBe(false);
  });

  it('not by a heartbeat that began before it slept, and all that ask share the next one', async () => {
    const process = await start();
    const answered = Promise.withResolvers<void>();
    process.beatAnswered = answered.promise;
    const before = process.presence.beat();
    await expect.poll(() => readBeats(process.presence.id)).toBe(2);
    await process.clock.skip(60_000);
    const confirmed = Promise.all([1, 2, 3].map(() => process.presence.confirm()));
    answered.resolve();
    await before;
    expect(process.presence.isConfirmed).toBe(false);
    await confirmed;
    expect(process.presence.isConfirmed).toBe(true);
    // The skipped timer has sent one as well.
    expect(await readBeats(process.presence.id)).toBeLessThanOrEqual(4);
  });

  it('not if the database does not answer, or after it has left', async () => {
    const process = await start();
    process.failing = /./;
    await process.clock.skip(3_000);
    await expect(process.presence.confirm()).rejects.toThrow('the database is away');
    process.failing = null;
    await process.presence.stop();
    await expect(process.presence.confirm()).rejects.toThrow('has left');
  });
});

describe('a process detects a lease that it still holds', () => {
  it('if releasing it failed', async () => {
    const a = (await start()).takes('work');
    a.failing = /^DELETE FROM connector.leases/;
    await (await a.hold('work:1')).letGo();
    expect(await a.canHold('work:1')).toBe(false);
    a.failing = null;
    await pass(BEAT, a);
    await expect.poll(() => a.left).toEqual(['work:1']);
    expect(await a.canHold('work:1')).toBe(true);
  });

  it('if it did not learn that it took it', async () => {
    const a = (await start()).takes('work');
    a.losing = /^INSERT INTO connector.leases/;
    await expect(a.canHold('work:1')).rejects.toThrow('lost');
    a.losing = null;
    await pass(BEAT, a);
    await expect.poll(() => a.left).toEqual(['work:1']);
  });

  it('and frees it for others if nobody in it takes up this kind of work', async () => {
    const [a, b] = [await start(), await start()];
    a.failing = /^DELETE FROM connector.leases/;
    await (await a.hold('work:1')).letGo();
    a.failing = null;
    await pass(BEAT, a);
    expect(await b.canHold('work:1')).toBe(true);
  });

  it('and keeps those that it works under', async () => {
    const a = (await start()).takes('work');
    const held = await a.hold('work:1');
    await pass(5_000, a);
    expect(a.left).toEqual([]);
    expect(await isWritten(held.lease)).toBe(true);
    await held.letGo();
  });
});

describe.each([5, 20, 60])('a database that is unavailable for %i s', (seconds) => {
  it('costs no process its leases, and all continue with the first answer', async () => {
    const [a, b] = [(await start()).takes('work'), (await start()).takes('work')];
    await pass(2_000, a, b);
    const held = await a.hold('work:1');
    for (const process of [a, b]) process.failing = /./;
    await pass(seconds * 1_000, a, b);
    expect(held.signal.aborted).toBe(false);
    for (const process of [a, b]) process.failing = null;
    // One is back some seconds before the other.
    await pass(3_000, b);
    await pass(2_000, a, b);
    expect(held.signal.aborted).toBe(false);
    expect(await isWritten(held.lease)).toBe(true);
    expect([...a.left, ...b.left]).toEqual([]);
    await held.letGo();
  });

  it('delays the leases of a process that died during the outage by five seconds after its end', async () => {
    const [dead, heir] = [await start(), (await start()).takes('work')];
    await pass(2_000, dead, heir);
    const held = await dead.hold('work:1');
    heir.failing = /./;
    await pass(seconds * 1_000, heir);
    heir.failing = null;
    await pass(5_000, heir);
    await expect.poll(() => heir.left).toEqual(['work:1']);
    await held.letGo();
  });
});

describe('heartbeats', () => {
  it('are written every second, also after a failed one, and report when the database is back', async () => {
    const clock = new WatchedClock(NOON);
    const process = await start(clock);
    const beats = async () => (await database.query('select beats from connector.processes'))[0]?.['beats'];
    expect(await beats()).toBe(1);
    await clock.pass(BEAT);
    await clock.timerSet(BEAT);
    expect(await beats()).toBe(2);
    process.failing = /./;
    await clock.advance(BEAT);
    await clock.timerSet(BEAT);
    process.failing = null;
    await clock.advance(BEAT);
    await clock.timerSet(BEAT);
    expect(await beats()).toBe(3);
    expect(process.returns).toBe(1);
  });

  it('end when the process stops, and its leases are free immediately', async () => {
    const [a, b] = [await start(), await start()];
    const held = await a.hold('work:1');
    await a.presence.stop();
    expect(await b.canHold('work:1')).toBe(true);
    expect(await database.query('select id from connector.processes')).toEqual([{ id: b.presence.id }]);
    await held.letGo();
  });
});
