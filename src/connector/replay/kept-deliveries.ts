import { and, count, gt, isNull, min, or, sql } from 'drizzle-orm';
import { EVENT_TYPES } from '../../contract/service/events.ts';
import { type Queryable, sqlState } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connectorSchema } from '../db/column-types.ts';
import { UNMERGED } from '../db/erase-messages.ts';
import type { MessageFacts } from '../db/facts.ts';
import { inbox, inboxColumns } from '../db/inbox-table.ts';
import { listPartitions } from '../db/time-partitions.ts';
import { interpretBody } from '../inbox/interpret-body.ts';

/**
 * What the kept deliveries about messages report now, and how many report nothing because their fields are
 * invalid.
 */
export interface Kept {
  readonly facts: readonly MessageFacts[];
  readonly deliveries: number;
  readonly invalid: number;
}

/** Limits of a page: messages, and bytes of their deliveries. The first message is always included. */
const PAGE = 500;
const PAGE_BYTES = 8 * 1024 * 1024;
const UNNAMED = 200;
/** A whole day is read to find the deliveries that name no message. */
const DAY_DEADLINE_MS = 10 * 60_000;
const UNDEFINED_TABLE = '42P01';

const MESSAGE_EVENTS = EVENT_TYPES.filter((type) => type.startsWith('message.'));
const ABOUT_MESSAGES = sql.raw(`event in (${MESSAGE_EVENTS.map((type) => `'${type}'`).join(', ')})`);

/** The next messages after `after`, in order of their ids, that kept deliveries name or that are in `others`. */
export async function listNextMessages(
  db: Queryable,
  after: string,
  others: readonly string[],
): Promise<readonly string[]> {
  // Messages that are named come from the index of each day, in order of their ids.
  const named = orm(db)
    .select({ id: inbox.messageId, bytes: sql<number>`sum(octet_length(${inbox.body}))`.as('bytes') })
    .from(inbox)
    .where(and(gt(inbox.messageId, after), ABOUT_MESSAGES))
    .groupBy(inbox.messageId)
    .orderBy(inbox.messageId)
    .limit(PAGE)
    .as('named');
  const id = sql<string>`coalesce(${named.id}, other)`;
  const rows = await orm(db)
    .select({ id, bytes: sql<number>`coalesce(${named.bytes}, 0)` })
    .from(named)
    .fullJoin(sql`unnest(${sql.param(others)}::text[]) other`, sql`other = ${named.id}`)
    .where(gt(id, after))
    .orderBy(id)
    .limit(PAGE);
  let bytes = 0;
  const fitting = rows.filter((row, index) => {
    bytes += row.bytes;
    return index === 0 || bytes <= PAGE_BYTES;
  });
  return fitting.map((row) => row.id);
}

/**
 * Locks the deliveries of these messages that became none, and those of `unnamed` that are still kept, whose ids it
 * returns: an erasure that would delete them waits, and finds the messages that they become.
 */
export async function lockUnmerged(
  tx: Queryable,
  messageIds: readonly string[],
  unnamed: readonly number[],
): Promise<ReadonlySet<number>> {
  const { messageId, outcome, id } = inbox;
  const isNamed = isAnyOf(messageId, messageIds);
  const isOne = unnamed.length === 0 ? isNamed : or(isNamed, and(isNull(messageId), isAnyOf(id, unnamed)));
  const rows = await orm(tx)
    .select({ id })
    .from(inbox)
    .where(and(isOne, isAnyOf(outcome, UNMERGED)))
    .for('key share');
  return new Set(rows.map((row) => row.id));
}

/** The kept deliveries of these messages, in the order in which they were stored. Equal copies are read once. */
export async function readKeptDeliveries(db: Queryable, messageIds: readonly string[]): Promise<Kept> {
  const { messageId, accountId, body } = inbox;
  const rows = await orm(db)
    .select({ accountId, body, signedAt: sql<number>`min(${inbox.signedAt})`, copies: count() })
    .from(inbox)
    .where(and(isAnyOf(messageId, messageIds), ABOUT_MESSAGES))
    .groupBy(messageId, accountId, body)
    .orderBy(min(inbox.id));
  return readFacts(rows);
}

/**
 * The kept deliveries whose message could not be read when they arrived: newer code may be able to. Each day is
 * read separately; a day that is dropped during this is skipped from there on.
 */
export async function* readUnnamedDeliveries(
  db: Queryable,
  signal: AbortSignal,
): AsyncGenerator<Kept & { readonly id: number }> {
  for (const { name } of [...(await listPartitions(db, 'inbox')), { name: 'inbox_default' }]) {
    const day = connectorSchema.table(name, inboxColumns);
    for (let after = 0, full = true; full; ) {
      signal.throwIfAborted();
      const { id, accountId, body, signedAt } = day;
      const rows = await orm(db, DAY_DEADLINE_MS)
        .select({ id, accountId, body, signedAt })
        .from(day)
        .where(and(isNull(day.messageId), ABOUT_MESSAGES, gt(id, after)))
        .orderBy(id)
        .limit(UNNAMED)
        .catch((error: unknown) => {
          if (sqlState(error) === UNDEFINED_TABLE) return [];
          throw error;
        });
      for (const row of rows) yield { id: row.id, ...readFacts([{ ...row, copies: 1 }]) };
      after = rows.at(-1)?.id ?? after;
      full = rows.length === UNNAMED;
    }
  }
}

type Stored = Pick<typeof inbox.$inferSelect, 'accountId' | 'body' | 'signedAt'> & {
  readonly copies: number;
};

function readFacts(rows: readonly Stored[]): Kept {
  const facts: MessageFacts[] = [];
  let [deliveries, invalid] = [0, 0];
  for (const { body, copies, ...context } of rows) {
    const event = interpretBody(Buffer.from(body), context);
    deliveries += copies;
    if (event.kind === 'message') facts.push(event.message);
    else invalid += copies;
  }
  return { facts, deliveries, invalid };
}
