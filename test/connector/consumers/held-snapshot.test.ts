import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addConsumer,
  openPartition,
  writeProgress,
} from '../../../src/connector/consumers/consumer-store.ts';
import { PARTITIONS } from '../../../src/connector/consumers/partition-of.ts';
import { readConsumerFigures } from '../../../src/connector/state/figures.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';

/** Twice a second for five minutes. */
const WRITES = 600;
/** Enough runs for a plan that serves any parameters, which begins with the sixth. */
const RUNS = 8;
const NOTHING = { passing: [], entries: [], doneEntries: [], rows: [], endedRows: [], letters: [] };
const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
const leaseOf = (partition: number) => ({ name: `consumer:crm/${partition}`, fence: partition + 1 });

const database = databaseOfFile();
let release: () => Promise<void>;

beforeAll(async () => {
  await addConsumer(database, { name: 'crm', kind: 'handler', settings: {}, createdAt: 0 } as never, 0);
  await database.query(`INSERT INTO connector.leases (name, owner, fence) OVERRIDING SYSTEM VALUE
    SELECT 'consumer:crm/' || p, 'test', p + 1 FROM generate_series(0, ${PARTITIONS - 1}) p`);
  release = await holdSnapshot(database.url);
});
afterAll(() => release());

/** The pages that the statements of `run` read, once their plans serve any parameters. Nothing of it is committed. */
async function countPages(run: (db: Queryable) => Promise<unknown>): Promise<number> {
  let pages = 0;
  for (let runs = 0; runs < RUNS; runs += 1) {
    const undone = database.transaction(async (tx) => {
      const counting = countBuffers(tx);
      await run(counting);
      pages = counting.takeCount();
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
  }
  return pages;
}

describe('while another session holds a snapshot', () => {
  it('places are written and read over as few pages after five minutes as at first', async () => {
    const placeIds = new Map<number, number>();
    for (const partition of partitions) {
      const opened = await openPartition(database, 'crm', partition, leaseOf(partition));
      placeIds.set(partition, opened?.placeId ?? 0);
    }
    const write = (db: Queryable, place: number) => {
      const writes = partitions.map((partition) => ({
        progress: { partition, place, ...NOTHING },
        lease: leaseOf(partition),
        placeId: placeIds.get(partition) ?? 0,
        open: true,
      }));
      return writeProgress(db, 'crm', writes, 0);
    };
    const count = async () => [
      await countPages((db) => write(db, WRITES)),
      await countPages((db) => readConsumerFigures(db)),
    ];
    const [written = 0, read = 0] = await count();
    for (let place = 1; place <= WRITES; place += 1) {
      const { held } = await write(database, place);
      for (const [partition, placeId] of held) placeIds.set(partition, placeId);
    }
    const [writtenLater, readLater] = await count();
    expect(writtenLater).toBeLessThan(2 * written);
    expect(readLater).toBeLessThan(2 * read);
    expect(await database.query('SELECT place::integer FROM connector.consumer_places')).toEqual(
      partitions.map(() => ({ place: WRITES })),
    );
  });
});
