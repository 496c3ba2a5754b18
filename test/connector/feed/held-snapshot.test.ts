import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPosition } from '../../../src/connector/feed/read-changes.ts';
import { createSequencer } from '../../../src/connector/feed/sequencer.ts';
import { readFeed } from '../../../src/connector/state/figures.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { openConnectorDatabase, silentLogger } from '../support/event-fixtures.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';

const BATCHES = 5_000;

let url: string;
let database: Database;
let close: () => Promise<void>;
let release: () => Promise<void>;

beforeAll(async () => {
  ({ url, database, close } = await openConnectorDatabase());
  release = await holdSnapshot(url);
});
afterAll(async () => {
  await release();
  await close();
});

const commit = (batches: number) =>
  database.query(
    `INSERT INTO connector.change_batches (id, size, changed_at)
     SELECT nextval('connector.change_batch_id'), 1, 0 FROM generate_series(1, $1::integer)`,
    [batches],
  );

describe('while another session holds a snapshot', () => {
  it('numbering reads as few pages after 5,000 batches as after the first', async () => {
    const counting = countBuffers(database);
    const sequencer = createSequencer({
      database: Object.assign(Object.create(database), { query: counting.query }),
      clock: new ManualClock(),
      logger: silentLogger,
      onNumbered: () => undefined,
    });
    await commit(1);
    await sequencer.settle();
    const pages: number[] = [];
    for (const batches of [1, BATCHES, 1, 1]) {
      await commit(batches);
      counting.takeCount();
      await sequencer.settle();
      pages.push(counting.takeCount());
    }
    const [first = 0, , afterMany = 0, last = 0] = pages;
    expect(afterMany).toBeLessThan(first + 100);
    expect(last).toBeLessThan(first + 40);
    await sequencer.close();
  });

  it('the position of the feed and its figures read few pages', async () => {
    const counting = countBuffers(database);
    expect(await readPosition(counting)).toMatchObject({ lastSeq: BATCHES + 4 });
    expect(counting.takeCount()).toBeLessThan(20);
    expect(await readFeed(counting)).toMatchObject({ waiting: 0, lastSeq: BATCHES + 4 });
  });
});
