import { READER_VERSION } from '../../contract/service/read-fields.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { type Repeat, repeat } from '../../runtime/clock/repeat.ts';
import { type Queryable, sqlState } from '../../runtime/database/database.ts';
import type { Base } from '../db/base.ts';
import type { RawDelivery } from '../db/facts.ts';
import {
  DAY_DEADLINE_MS,
  deleteDeliveries,
  listInvalidDeliveries,
  listUnreadPartitions,
  markPartitionRead,
} from '../db/invalid-deliveries.ts';
import type { Lease } from '../db/lease.ts';
import { listPartitions } from '../db/time-partitions.ts';
import type { Presence } from '../work/presence.ts';
import { assignAccounts } from './assign-accounts.ts';
import { commitDeliveries } from './commit-deliveries.ts';
import { interpretBody } from './interpret-body.ts';

const EVERY_MS = 60 * 60_000;
/** The name of the lease. */
const LEASE = 'reading:inbox';
const PAGE = 50;
const PAGE_DEADLINE_MS = 30_000;
const ASSIGN_WITHIN_MS = 5_000;
const UNDEFINED_TABLE = '42P01';

export interface ReadAgainOptions extends Base {
  readonly presence: Presence;
  readonly onCommitted: () => void;
}

/**
 * Reads kept deliveries again that an earlier version stored as invalid. What this version can read is merged as if it
 * had just arrived, and takes the place of the invalid delivery. Each day is read once per `READER_VERSION`, by one
 * process: now, or an hour later if it fails. A day that has not ended is read a second time an hour later, because
 * processes of the earlier version may still add to it.
 */
export function startReadingAgain(options: ReadAgainOptions): Repeat {
  const { database, clock, logger, presence } = options;
  const seen = new Set<string>();

  async function readAll(_lease: Lease, stopping: AbortSignal): Promise<void> {
    const ended = (await listPartitions(database, 'inbox')).filter(({ to }) => to <= clock.now());
    for (const name of await listUnreadPartitions(database, READER_VERSION)) {
      const isReadWhole = await readDay(options, name, stopping);
      if (!isReadWhole) return;
      if (seen.has(name) || ended.some((day) => day.name === name))
        await markPartitionRead(database, name, READER_VERSION);
      seen.add(name);
    }
  }

  const runs = repeat({
    clock,
    everyMs: EVERY_MS,
    run: async (stopping) => void (await presence.hold(LEASE, readAll, stopping)),
    onError: (err) => logger.warn({ err }, 'kept deliveries could not be read again; retrying in an hour'),
  });
  runs.start();
  runs.trigger();
  return runs;
}

/** Resolves with whether the day was read to its end. One that is dropped meanwhile was. */
async function readDay(options: ReadAgainOptions, name: string, stopping: AbortSignal): Promise<boolean> {
  const { database, logger } = options;
  let count = 0;
  for (let after: number | null = 0; after !== null; ) {
    if (stopping.aborted) return false;
    const from: number = after;
    const page = await database
      .transaction((tx) => readPage(options, tx, name, from), { deadlineMs: DAY_DEADLINE_MS })
      .catch((error: unknown) => {
        if (sqlState(error) === UNDEFINED_TABLE) return { last: null, count: 0 };
        throw error;
      });
    after = page.last;
    count += page.count;
  }
  if (count > 0)
    logger.info({ count, day: name }, 'deliveries that were invalid for an earlier version were read');
  return true;
}

/**
 * Stores a page on another connection while `tx` has it locked: an erasure waits, and finds what was stored. Resolves with
 * the id after which the next page begins, or null, and with how many were read.
 */
async function readPage(
  options: ReadAgainOptions,
  tx: Queryable,
  name: string,
  after: number,
): Promise<{ readonly last: number | null; readonly count: number }> {
  const rows = await listInvalidDeliveries(tx, name, after, PAGE);
  const readable = rows.flatMap(({ id, secretVersion, ...row }) => {
    const { kind, ...content } = interpretBody(Buffer.from(row.body), row);
    const verified = secretVersion === null ? {} : { secretVersion };
    return kind === 'message' || kind === 'connection'
      ? [{ id, delivery: { ...row, ...verified, ...content } }]
      : [];
  });
  await store(
    options,
    readable.map(({ delivery }) => delivery as RawDelivery),
  );
  await deleteDeliveries(
    tx,
    name,
    readable.map(({ id }) => id),
  );
  return { last: rows.length === PAGE ? (rows.at(-1)?.id ?? null) : null, count: readable.length };
}

/** Throws if one of them could not be stored. */
async function store(options: ReadAgainOptions, deliveries: readonly RawDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  const { database, clock, logger, onCommitted } = options;
  const deadline = new Deadline(clock, PAGE_DEADLINE_MS);
  try {
    const assigned = await assignAccounts(database, deliveries, ASSIGN_WITHIN_MS);
    const failed = await commitDeliveries({ database, clock, logger, deadline, onCommitted }, assigned);
    if (failed.size > 0)
      throw new Error(`${failed.size} of ${deliveries.length} deliveries could not be stored`);
  } finally {
    deadline.done();
  }
}
