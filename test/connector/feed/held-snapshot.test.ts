import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPosition } from '../../../src/connector/feed/read-changes.ts';
import { createSequencer } from '../../../src/connector/feed/sequencer.ts';
import { readFeed } from '../../../src/connector/state/figures.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';

const BATCHES = 5_000;

const database = databaseOfFile();
let release: () => Promise<void>;

beforeAll(async () => {
  release = await holdSnapshot(database.url);
});
afterAll(() => release());

const commit = (batches: number) =>
  database.query(
    `INSERT INTO connector.change_batches (id, size, changed_at)
     SELECT nextval('connector.change_batch_id'), 1, 0 FROM generate_series(1, $1::integer)`,
    [batches],
  );

/** Enough runs for a plan that serves any parameters, which begins with the sixth. */
const RUNS = 8;

describe('while another session holds a snapshot', () => {
  it('numbering reads as few pages after 5,000 batches as after the first, also when it looks at all', async () => {
    const counting = countBuffers(database);
    const clock = new ManualClock();
    const sequencer = createSequencer({
      database: Object.assign(Object.create(database), { query: counting.query }),
      clock,
      logger: silentLogger,
      onNumbered: () => undefined,
    });
    const numberOne = async (): Promise<number> => {
      await commit(1);
      counting.takeCount();
      await sequencer.settle();
      return counting.takeCount();
    };
    /** The least of three: Postgres plans anew, and reads its catalog for that, after statistics were gathered. */
    const least = async (number: () => Promise<number>): Promise<number> =>
      Math.min(await number(), await number(), await number());
    const numberSome = async (): Promise<number> => {
      for (let run = 1; run < RUNS; run += 1) await numberOne();
      return await least(numberOne);
    };
    const look = async (): Promise<number> => {
      await clock.skip(61_000);
      return await numberOne();
    };
    await numberOne();
    const first = await numberSome();
    expect(await least(look)).toBeLessThan(first + 40);
    expect(await numberSome()).toBeLessThan(first + 40);
    await commit(BATCHES);
    await sequencer.settle();
    expect(await numberSome()).toBeLessThan(first + 40);
    await look();
    expect(await numberSome()).toBeLessThan(first + 40);
    await sequencer.close();
  });

  it('the position of the feed and its figures read few pages', async () => {
    const counting = countBuffers(database);
    const { lastSeq } = await readPosition(counting);
    expect(lastSeq).toBeGreaterThan(BATCHES);
    expect(counting.takeCount()).toBeLessThan(20);
    expect(await readFeed(counting)).toMatchObject({ waiting: 0, lastSeq });
  });
});
