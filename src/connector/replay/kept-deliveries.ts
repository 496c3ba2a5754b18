import { and, count, gt, min, sql } from 'drizzle-orm';
import { EVENT_TYPES } from '../../contract/service/events.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { UNMERGED } from '../db/erase-messages.ts';
import type { MessageFacts } from '../db/facts.ts';
import { inbox } from '../db/inbox-table.ts';
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

const MESSAGE_EVENTS = EVENT_TYPES.filter((type) => type.startsWith('message.'));
const ABOUT_MESSAGES = sql.raw(`event in (${MESSAGE_EVENTS.map((type) => `'${type}'`).join(', ')})`);

/** The next messages after `after` that kept deliveries name, in order of their ids. */
export async function listNextMessages(db: Queryable, after: string): Promise<readonly string[]> {
  // They come from the index of each day.
  const rows = await orm(db)
    .select({ id: inbox.messageId, bytes: sql<number>`sum(octet_length(${inbox.body}))` })
    .from(inbox)
    .where(and(gt(inbox.messageId, after), ABOUT_MESSAGES))
    .groupBy(inbox.messageId)
    .orderBy(inbox.messageId)
    .limit(PAGE);
  let bytes = 0;
  const fitting = rows.filter((row, index) => {
    bytes += row.bytes;
    return index === 0 || bytes <= PAGE_BYTES;
  });
  return fitting.flatMap(({ id }) => id ?? []);
}

/**
 * Locks the deliveries of these messages that became none: an erasure that would delete them waits, and finds the
 * messages that they become.
 */
export async function lockUnmerged(tx: Queryable, messageIds: readonly string[]): Promise<void> {
  const { messageId, outcome, id } = inbox;
  await orm(tx)
    .select({ id })
    .from(inbox)
    .where(and(isAnyOf(messageId, messageIds), isAnyOf(outcome, UNMERGED)))
    .for('key share');
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
  const facts: MessageFacts[] = [];
  let [deliveries, invalid] = [0, 0];
  for (const { body: bytes, copies, ...context } of rows) {
    const event = interpretBody(Buffer.from(bytes), context);
    deliveries += copies;
    if (event.kind === 'message') facts.push(event.message);
    else invalid += copies;
  }
  return { facts, deliveries, invalid };
}
