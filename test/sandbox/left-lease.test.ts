import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { silentLogger } from '../support/platform.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createShiftedClock } from '../support/shifted-clock.ts';

describe('a start on data whose lease another process holds', () => {
  let first: TestService;
  let database: Database;
  beforeEach(async () => {
    first = await startTestService();
    database = openDatabase({
      url: first.databaseUrl,
      name: 'test',
      clock: systemClock,
      logger: silentLogger,
    });
  });
  afterEach(async () => {
    await database.close();
    await first.close();
  });

  /** The process seems to run on another machine, or in another container with the same host name. */
  const moveHolder = () => database.query(`UPDATE platform.process_lease SET host = 'another-machine'`);

  /** Starts a second service. Its waits are over at once, after `meanwhile`. */
  async function startSecond(meanwhile: () => Promise<unknown> = async () => undefined) {
    const shifted = createShiftedClock();
    const waits: number[] = [];
    const clock = {
      ...shifted,
      async sleep(ms: number) {
        waits.push(ms);
        await meanwhile();
        shifted.shift(ms);
      },
    };
    const started = await startTestService({ databaseUrl: first.databaseUrl, clock }).catch(
      (error: unknown) => error,
    );
    return { started, waits };
  }

  it('waits for a process that may have crashed, and takes over if its lease was not renewed', async () => {
    await moveHolder();
    const { started, waits } = await startSecond();
    expect(started).toMatchObject({ info: { apiKey: first.info.apiKey } });
    await (started as TestService).close();
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeLessThanOrEqual(10_100);
  });

  it('is refused after the wait if it was renewed', async () => {
    await moveHolder();
    const renew = () => database.query('UPDATE platform.process_lease SET expires_at = expires_at + 60000');
    const { started, waits } = await startSecond(renew);
    expect(String(started)).toContain('A process is already running on this data');
    expect(waits).toHaveLength(1);
  });

  it('is refused immediately by a process on this machine', async () => {
    const { started, waits } = await startSecond();
    expect(String(started)).toContain(`A process is already running on this data (pid ${process.pid})`);
    expect(waits).toEqual([]);
  });
});
