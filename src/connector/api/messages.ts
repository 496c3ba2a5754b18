import { and, desc, eq, isNull, lte, sql } from 'drizzle-orm';
import {
  type ConnectorMessage,
  connectorMessage,
  type ListConnectorMessagesQuery,
} from '../../contract/connector/messages.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { type Database, type Queryable, sqlState } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { askForCopy } from '../db/media-copies.ts';
import { shownFields } from '../db/message-tables.ts';
import { namePeer } from '../db/name-peer.ts';
import { c, DIRECTIONS, m, NOT_ERASED } from '../db/newest-messages.ts';
import { addressesOf } from '../people/read-contact.ts';
import { traceMessage } from '../trace/trace-message.ts';
import { ApiError, notFound } from './api-error.ts';
import { cutPage, decodeCursor, MESSAGE_KEY } from './cursors.ts';
import type { ApiParts, Operations } from './operations.ts';
import { shownColumns } from './shown-columns.ts';

const SHOWN = { ...shownColumns(m, connectorMessage), customerRef: c.customerRef };

/** The operations of messages. */
export function operateMessages({ database, clock, mediaStore, feed }: ApiParts) {
  return {
    /** Newest first. */
    async listMessages({ query }) {
      const rows =
        query.text === undefined ? await readPage(database, query) : await findText(database, query);
      const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [
        row.createdAt,
        row.id,
        row.connectionId,
      ]);
      return { messages: page.map(present), nextCursor, hasMore };
    },
    getMessage: async ({ id }) => (await readMessage(database, id)).message,
    /** What touched a message, oldest first. */
    async getMessageTrace({ id }) {
      const trace = await traceMessage(database, id);
      if (trace === null) throw notFound('message');
      return trace;
    },
    async keepMessageMedia({ id }) {
      if (mediaStore === null) throw new ApiError('media_store_off', 'No files are kept; set `MEDIA_STORE`.');
      const { message } = await readMessage(database, id);
      if (message.mediaUrl === null) throw new ApiError('no_media', 'The message has no file.');
      await askForCopy(database, message, clock.now());
      feed.notify();
      return (await readMessage(database, id)).message;
    },
    /** What the service has named stays, also if it does so during the call. */
    async namePeer({ id, body }) {
      const { message: found } = await readMessage(database, id);
      await namePeer(database, found, body.phone, clock.now());
      feed.notify();
      const { message, peerNamed } = await readMessage(database, id);
      if (!peerNamed)
        throw new ApiError('peer_known', 'The service has named the other party of this message.');
      return message;
    },
  } satisfies Operations;
}

/** The lists, as `d`, that together contain what the query is about, and the condition that selects one of them. */
function listsOf({ peer, person, direction }: ListConnectorMessagesQuery) {
  if (peer === 'none')
    return { lists: ONE_LIST, inList: and(isNull(m.peer), sql`${m.direction} = 'incoming'`) };
  if (person !== undefined) {
    const spellings = addressesOf(person).map((phone) => sql`(${phone}::text)`);
    const lists = sql`(values ${sql.join(spellings, sql`, `)}) d(peer)`;
    return { lists, inList: and(sql`${m.peer} = d.peer`, peer === undefined ? undefined : eq(m.peer, peer)) };
  }
  if (peer !== undefined) return { lists: ONE_LIST, inList: eq(m.peer, peer) };
  if (direction !== undefined) return { lists: ONE_LIST, inList: undefined };
  return { lists: DIRECTIONS, inList: sql`${m.direction} = d.direction` };
}

const ONE_LIST = sql`(values (null)) d(direction)`;

/**
 * The newest messages of each connection are read from a separate index (by conversation, or by direction), and
 * the newest of all are taken from these. Conditions that the query does not use are left out: no index serves an
 * optional condition.
 */
async function readPage(db: Queryable, query: ListConnectorMessagesQuery) {
  const { direction, connectionId, accountId, limit } = query;
  const [at, id, ofConnection] = decodeCursor(MESSAGE_KEY, query.cursor) ?? [];
  const isBefore = sql`(${m.createdAt} < ${at} or (${m.id}, ${m.connectionId}) > (${id}, ${ofConnection}))`;
  const { lists, inList } = listsOf(query);
  const newest = orm(db)
    .select()
    .from(m)
    .where(
      and(
        eq(m.connectionId, c.connectionId),
        NOT_ERASED,
        inList,
        direction === undefined ? undefined : eq(m.direction, direction),
        at === undefined ? undefined : and(lte(m.createdAt, at), isBefore),
      ),
    )
    .orderBy(desc(m.createdAt), m.id)
    .limit(limit + 1)
    .as('m');
  return await orm(db)
    .select(SHOWN)
    .from(c)
    .crossJoin(lists)
    .crossJoinLateral(newest)
    .where(
      and(
        connectionId === undefined ? undefined : eq(c.connectionId, connectionId),
        accountId === undefined ? undefined : eq(c.accountId, accountId),
      ),
    )
    .orderBy(desc(m.createdAt), m.id, m.connectionId)
    .limit(limit + 1);
}

/** SQL: the partitions of messages that have no index for texts. */
const UNINDEXED = sql<{ name: string }>`
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent = 'connector.messages'::regclass
     AND NOT EXISTS (SELECT FROM pg_inherits x JOIN pg_index d ON d.indexrelid = x.inhrelid
                      WHERE x.inhparent = to_regclass('connector.messages_text') AND d.indrelid = c.oid)
   ORDER BY 1`;

/** Statements that turn the search for texts on. Deliveries do not wait for them. */
export async function textIndexStatements(db: Queryable): Promise<string[]> {
  const index = 'USING gin (text gin_trgm_ops)';
  return [
    'CREATE EXTENSION IF NOT EXISTS pg_trgm;',
    `CREATE INDEX IF NOT EXISTS messages_text ON ONLY connector.messages ${index};`,
    ...(await orm(db).execute(UNINDEXED)).flatMap(({ name }) => [
      `CREATE INDEX CONCURRENTLY ${name}_text ON connector.${name} ${index};`,
      `ALTER INDEX connector.messages_text ATTACH PARTITION connector.${name}_text;`,
    ]),
  ];
}

/** Ended by the server, so that the connection stays and no deadline is reported. */
const LONGEST_SEARCH = sql`SET LOCAL statement_timeout = '2s'`;
const CANCELLED = '57014';

/** The newest messages that contain a text. The index costs each new message time and space, so it is optional. */
async function findText(database: Database, { text = '', ...query }: ListConnectorMessagesQuery) {
  const [index] = await orm(database)
    .select({ isValid: sql<boolean>`indisvalid` })
    .from(sql`pg_catalog.pg_index`)
    .where(sql`indexrelid = to_regclass('connector.messages_text')`);
  if (index?.isValid !== true)
    throw new ApiError(
      'search_off',
      `Text search needs an index. Create it once, in Postgres: ${(await textIndexStatements(database)).join(' ')}`,
    );
  const { peer, person, direction, connectionId, accountId, limit, cursor } = query;
  const [at, id, ofConnection] = decodeCursor(MESSAGE_KEY, cursor) ?? [];
  const isBefore = sql`(${m.createdAt} < ${at} or (${m.createdAt} = ${at} and (${m.id}, ${m.connectionId}) > (${id}, ${ofConnection})))`;
  const where = and(
    sql`${m.text} ilike ${`%${text.replace(/[\\%_]/g, '\\$&')}%`}`,
    NOT_ERASED,
    peer === 'none' ? and(isNull(m.peer), eq(m.direction, 'incoming')) : undefined,
    peer === undefined || peer === 'none' ? undefined : eq(m.peer, peer),
    person === undefined ? undefined : isAnyOf(m.peer, addressesOf(person)),
    direction === undefined ? undefined : eq(m.direction, direction),
    connectionId === undefined ? undefined : eq(m.connectionId, connectionId),
    accountId === undefined ? undefined : eq(c.accountId, accountId),
    at === undefined ? undefined : isBefore,
  );
  const search = async (tx: Queryable) => {
    await orm(tx).execute(LONGEST_SEARCH);
    return await orm(tx)
      .select(SHOWN)
      .from(m)
      .innerJoin(c, eq(c.connectionId, m.connectionId))
      .where(where)
      .orderBy(desc(m.createdAt), m.id, m.connectionId)
      .limit(limit + 1);
  };
  return await database.transaction(search).catch((error: unknown) => {
    if (sqlState(error) !== CANCELLED) throw error;
    throw new ApiError('search_too_broad', 'The search took longer than 2 s; narrow it.');
  });
}

async function readMessage(database: Database, id: string) {
  const [row] = await orm(database)
    .select({ ...SHOWN, peerNamed: m.peerNamed })
    .from(m)
    .innerJoin(c, eq(c.connectionId, m.connectionId))
    .where(and(eq(m.id, id), NOT_ERASED))
    .orderBy(desc(m.createdAt))
    .limit(1);
  if (row === undefined) throw notFound('message');
  const { peerNamed, ...message } = row;
  return { message: present(message), peerNamed };
}

function present(row: Awaited<ReturnType<typeof readPage>>[number]): ConnectorMessage {
  return { ...row, ...shownFields(row), createdAt: toIso(row.createdAt) };
}
