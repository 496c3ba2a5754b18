import { randomBytes } from 'node:crypto';
import { and, eq, gte, isNotNull, ne, notExists, sql } from 'drizzle-orm';
import { CONSUMER_SECRET_OVERLAP_MS, type ConsumerPosition } from '../../contract/connector/consumers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { needOrDelete } from '../db/delete-old-changes.ts';
import {
  changeBatches,
  consumerPlaces,
  consumers,
  deadLetters,
  parked,
  parkedEntries,
  processes,
} from '../db/schema.ts';
import { consumerRedisContext, consumerSecretContext } from '../db/sealed-columns.ts';
import { revokeLeases } from '../work/presence.ts';
import { CONSUMER } from './consumer-store.ts';
import { HANDLER } from './dead-letters.ts';
import { PARTITIONS } from './partition-of.ts';

const { name, state, version } = consumers;
/** Processes compare it, and take up the row when it has changed. */
const nextVersion = sql`${version} + 1`;
const SECRET_BYTES = 32;
/** The clocks of processes differ: a batch with a later time may have a lower number. */
const CLOCK_MARGIN_MS = 60_000;

type Row = typeof consumers.$inferSelect;
/** What can be changed of a consumer. */
export type ConsumerChange = Partial<
  Pick<
    Row,
    'filter' | 'batch' | 'concurrency' | 'attempts' | 'deadlineMs' | 'historic' | 'placeChanges' | 'placeMs'
  >
> & {
  /** Merged into the settings of its kind. */
  readonly settings?: Readonly<Record<string, string | boolean>>;
  /** Null: that of the connector. */
  readonly redisUrl?: string | null | undefined;
};

/** A new secret of a consumer that is called over HTTP: `whsec_` and base64. */
export function generateConsumerSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Seals what a new row contains. */
export async function sealConsumer(
  keyRing: KeyRing,
  consumer: string,
  {
    secret,
    redisUrl,
  }: { readonly secret?: string | undefined; readonly redisUrl?: string | null | undefined },
): Promise<Pick<Row, 'sealedSecret' | 'sealedRedisUrl'>> {
  return {
    sealedSecret: secret === undefined ? null : await keyRing.seal(secret, consumerSecretContext(consumer)),
    sealedRedisUrl: redisUrl == null ? null : await keyRing.seal(redisUrl, consumerRedisContext(consumer)),
  };
}

/**
 * The place of a consumer that begins at a position: the last number that it does not receive. `lastSeq` is the end of
 * the feed. Null for a number beyond it. Throws as `query` does.
 */
export async function findPlace(
  db: Queryable,
  from: ConsumerPosition,
  lastSeq: number,
): Promise<number | null> {
  if (from === 'now') return lastSeq;
  if (from === 'beginning') return 0;
  if (typeof from === 'number') return from - 1 > lastSeq ? null : from - 1;
  const { size, changedAt, lastSeq: last } = changeBatches;
  const [first] = await orm(db)
    .select({ place: sql<number | null>`min(${last} - ${size})` })
    .from(changeBatches)
    .where(and(gte(changedAt, Date.parse(from) - CLOCK_MARGIN_MS), isNotNull(last)));
  return first?.place ?? lastSeq;
}

/** Changes the settings of a consumer; false if there is none. Throws as `query` does. */
export async function changeConsumer(
  database: Database,
  consumer: string,
  { settings = {}, redisUrl, ...columns }: ConsumerChange,
  keyRing: KeyRing,
): Promise<boolean> {
  const { sealedRedisUrl } = await sealConsumer(keyRing, consumer, { redisUrl });
  const changed = await orm(database)
    .update(consumers)
    .set({
      ...columns,
      ...(redisUrl === undefined ? {} : { sealedRedisUrl }),
      settings: sql`${consumers.settings} || ${JSON.stringify(settings)}::jsonb`,
      version: nextVersion,
    })
    .where(eq(name, consumer))
    .returning({ name });
  return changed.length > 0;
}

/** Pauses a consumer that runs. Calls in progress end, and its place is kept. Throws as `query` does. */
export async function pauseConsumer(db: Queryable, consumer: string): Promise<void> {
  await orm(db)
    .update(consumers)
    .set({ state: 'paused', version: nextVersion })
    .where(and(eq(name, consumer), eq(state, 'running')));
}

/** Continues a consumer that does not run, where it stopped. Throws as `query` does. */
export async function resumeConsumer(db: Queryable, consumer: string): Promise<void> {
  await orm(db)
    .update(consumers)
    .set({ state: 'running', disabledReason: null, version: nextVersion })
    .where(and(eq(name, consumer), ne(state, 'running')));
}

/**
 * Has a consumer begin after `place`. Processes that work for it lose their leases, so that none of them writes the
 * place where it was. Entries of parked connections up to `place` stay, unless `skips`: then nothing that waits is kept.
 * False if there is no such consumer. Throws as `query` does.
 */
export async function replayConsumer(
  database: Database,
  consumer: string,
  { place, skips }: { readonly place: number; readonly skips: boolean },
): Promise<boolean> {
  return await database.transaction(async (tx) => {
    const db = orm(tx);
    const found = await db
      .update(consumers)
      .set({ version: nextVersion })
      .where(eq(name, consumer))
      .returning({ name });
    if (found.length === 0) return false;
    await needOrDelete(tx);
    await revokeLeases(tx, leasesOf(consumer));
    await db.update(consumerPlaces).set({ place, open: false }).where(eq(consumerPlaces.consumer, consumer));
    const { seq, key } = parkedEntries;
    const entries = and(eq(parkedEntries.consumer, consumer), skips ? undefined : sql`${seq} > ${place}`);
    await db.delete(parkedEntries).where(entries);
    const left = db
      .select({ seq })
      .from(parkedEntries)
      .where(and(eq(parkedEntries.consumer, parked.consumer), eq(key, parked.key)));
    await db.delete(parked).where(and(eq(parked.consumer, consumer), notExists(left)));
    return true;
  });
}

/**
 * Deletes a consumer and everything about it. A living process with handlers would create theirs again and skip what
 * came in between: then nothing is deleted. Throws as `query` does.
 */
export async function deleteConsumer(
  database: Database,
  consumer: string,
): Promise<'deleted' | 'unknown' | 'in_use'> {
  return await database.transaction(async (tx) => {
    if (consumer === HANDLER && (await orm(tx).$count(processes, eq(processes.handles, true))) > 0)
      return 'in_use';
    const gone = await orm(tx).delete(consumers).where(eq(name, consumer)).returning({ name });
    await revokeLeases(tx, leasesOf(consumer));
    await orm(tx).delete(consumerPlaces).where(eq(consumerPlaces.consumer, consumer));
    await orm(tx).delete(parkedEntries).where(eq(parkedEntries.consumer, consumer));
    await orm(tx).delete(parked).where(eq(parked.consumer, consumer));
    await orm(tx).delete(deadLetters).where(eq(deadLetters.consumer, consumer));
    return gone.length > 0 ? 'deleted' : 'unknown';
  });
}

/** A rotated secret. */
export interface RotatedSecret {
  readonly secret: string;
  /** Until when the previous one signs as well, epoch ms; null if it does not. */
  readonly previousUntil: number | null;
}

/**
 * Replaces the secret of a consumer. The old one signs as well for a day, unless it is `compromised`. Null if there is
 * no consumer with a secret under this name. Throws as `query` does.
 */
export async function rotateSecret(
  {
    database,
    keyRing,
    clock,
  }: { readonly database: Queryable; readonly keyRing: KeyRing; readonly clock: Clock },
  consumer: string,
  compromised: boolean,
): Promise<RotatedSecret | null> {
  const secret = generateConsumerSecret();
  const { sealedSecret } = await sealConsumer(keyRing, consumer, { secret });
  const previousUntil = compromised ? null : clock.now() + CONSUMER_SECRET_OVERLAP_MS;
  const rotated = await orm(database)
    .update(consumers)
    .set({
      sealedSecret,
      // All secrets of a consumer have the same context, so a value can move from one column to the other.
      sealedPreviousSecret: compromised ? null : sql`${consumers.sealedSecret}`,
      previousUntil,
      version: nextVersion,
    })
    .where(and(eq(name, consumer), isNotNull(consumers.sealedSecret)))
    .returning({ name });
  return rotated.length === 0 ? null : { secret, previousUntil };
}

function leasesOf(consumer: string): string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => `${CONSUMER}:${consumer}/${partition}`);
}
