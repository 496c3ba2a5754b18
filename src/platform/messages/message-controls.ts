import { and, desc, eq, lt } from 'drizzle-orm';
import type { Filter } from '../../contract/sandbox/filter.ts';
import type { MessageKey } from '../../contract/sandbox/messages.ts';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Connection } from '../connections/read-connections.ts';
import { filterSql } from '../db/filter-sql.ts';
import { media } from '../db/media-tables.ts';
import { messages } from '../db/message-tables.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaAddress } from '../media/media-address.ts';
import { keepFile, type MediaStore } from '../media/media-store.ts';
import type { NetworkReports, PhoneNetwork } from '../network/network.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { applyReceipts } from './apply-receipts.ts';
import { checkStorableMedia } from './check-storable.ts';
import { type IncomingMessage, receiveMessages } from './receive-messages.ts';
import { readWarmup, type Warmup } from './send-allowance.ts';

/**
 * Messages of people that are stored at once. Those of a workspace are stored one after the other, so more of them would
 * only hold sessions with the database, which deliveries and lists need.
 */
const STORED_AT_ONCE = 4;

/** A file that a person sends. */
export interface WrittenFile {
  readonly filename: string;
  readonly mimetype: string;
  /** Base64. */
  readonly data: string;
  readonly caption?: string | undefined;
}

/** Messages and statuses that arrive from outside of the API. */
export interface MessageControls {
  /**
   * A person writes to a connection. While its session does not work, the message is kept and arrives later, with the
   * returned id. A message of a blocked person never arrives. Throws `not_found` for an unknown connection,
   * `send_failed` for one that has never paired.
   */
  receive(connectionId: string, message: IncomingMessage): Promise<{ messageId: string }>;
  /** The same for several messages, in one transaction and in order. Returns the ids in the same order. */
  receiveMany(connectionId: string, batch: readonly IncomingMessage[]): Promise<string[]>;
  /** The same for a file. Also throws `invalid_request`, for a name, a type or data that cannot be stored or served. */
  receiveFile(connectionId: string, from: string, file: WrittenFile): Promise<{ messageId: string }>;
  /**
   * Sets the status of an outgoing message, by the rules of the ladder. `changed` is false if the status was not new.
   * Throws `not_found` for an unknown or incoming message.
   */
  setStatus(messageId: string, status: MessageStatus): Promise<{ changed: boolean; status: MessageStatus }>;
  /** The warm-up of a connection; null if there is none, or it is over. */
  warmup(connection: Pick<Connection, 'id' | 'warmupUntil'>): Promise<Warmup | null>;
  /** The messages of all workspaces, newest first. */
  list(page: MessageListPage): Promise<ListedMessage[]>;
}

/** Which messages to list. `before` is a position: only older ones. */
export interface MessageListPage {
  readonly where: Filter<MessageKey>;
  readonly before?: number;
  readonly limit: number;
}

/** A page of messages, along the index of positions or of what the filter names. */
function selectMessages(db: Queryable, { where, before, limit }: MessageListPage) {
  const { id, position, workspaceId, connectionId, direction, peer, text, mediaType } = messages;
  const { status, errorMessage, waMessageId, createdAt } = messages;
  const keys = {
    ...{ status, direction, message: id, workspace: workspaceId },
    ...{ connection: connectionId, contact: peer, media: mediaType },
  };
  return orm(db)
    .select({
      ...{ id, position, workspaceId, connectionId, direction, peer, text, mediaType },
      ...{ status, errorMessage, waMessageId, createdAt },
      filename: media.filename,
    })
    .from(messages)
    .leftJoin(media, eq(media.id, messages.mediaId))
    .where(
      and(
        before === undefined ? undefined : lt(position, before),
        filterSql(where, { keys, texts: [text, peer] }),
      ),
    )
    .orderBy(desc(position))
    .limit(limit);
}

/** A message in the list of all workspaces. */
export type ListedMessage = Awaited<ReturnType<typeof selectMessages>>[number];

interface Options {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly network: Pick<PhoneNetwork, 'passInbound'>;
  readonly mediaStore: MediaStore;
  readonly mediaAddress: MediaAddress;
}

export function createMessageControls({
  database,
  changeState,
  network,
  mediaStore,
  mediaAddress,
}: Options): MessageControls {
  const write = async (
    change: StateChange,
    connectionId: string,
    batch: readonly IncomingMessage[],
  ): Promise<string[]> => {
    const written = batch.map((message) => ({ id: newIdentifier(), ...message }));
    const arriving = await network.passInbound(change, connectionId, written);
    if (arriving.length > 0) await receiveMessages(change, connectionId, arriving, { mediaAddress });
    return written.map(({ id }) => id);
  };

  const turns = createTurns(STORED_AT_ONCE);
  const store = <T>(work: (change: StateChange) => Promise<T>): Promise<T> =>
    turns.run(() => changeState(work));

  const first = ([messageId]: readonly string[]): { messageId: string } => {
    if (messageId === undefined) throw new PlatformError('internal_error');
    return { messageId };
  };

  return {
    receiveMany: (connectionId, batch) => store((change) => write(change, connectionId, batch)),

    receive: async (connectionId, message) =>
      first(await store((change) => write(change, connectionId, [message]))),

    async receiveFile(connectionId, from, written) {
      const { filename, mimetype, data } = written;
      checkStorableMedia({ filename, mimetype, data });
      const media = await mediaStore.save({ filename, mimetype, data });
      try {
        const text = written.caption === undefined || written.caption === '' ? null : written.caption;
        return first(
          await store(async (change) => {
            await keepFile(change.tx, media, change.now);
            const reference = { id: media.id, mimetype };
            return write(change, connectionId, [{ from, text, media: reference }]);
          }),
        );
      } finally {
        await mediaStore.discard(media.id);
      }
    },

    warmup: (connection) => changeState(({ tx, now }) => readWarmup(tx, connection, now)),

    list: async (page) => await selectMessages(database, page),

    setStatus: (messageId, status) =>
      changeState(async (change) => {
        const standings = await applyReceipts(change, [
          { messageId, status, at: change.now, reportedAt: change.now },
        ]);
        const standing = standings.get(messageId);
        if (standing === undefined) throw new PlatformError('not_found');
        return standing;
      }),
  };
}

export function createNetworkReports(mediaAddress: MediaAddress): NetworkReports {
  return {
    async receipts(change, receipts) {
      await applyReceipts(change, receipts);
    },

    async inbound(change, { connectionId, at, ...message }) {
      try {
        await receiveMessages(change, connectionId, [message], { mediaAddress, at });
      } catch (error) {
        // A deleted or broken connection receives nothing, and the person gets no error.
        if (!(error instanceof PlatformError)) throw error;
      }
    },
  };
}
