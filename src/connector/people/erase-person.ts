import { variants } from '../../patterns/phone-variants.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { forgetErrors, forgetErrorsOf } from '../consumers/dead-letters.ts';
import {
  type ErasedMessages,
  type Erasure,
  eraseChanges,
  eraseMessages,
  tellErasures,
} from '../db/erase-messages.ts';
import { listCopies } from '../db/media-copies.ts';
import type { MediaStore } from '../media/media-store.ts';
import { type ErasedSend, eraseSends } from '../outbox/erase-sends.ts';

/** All changes of the feed are read three times. */
const DEADLINE_MS = 140_000;
/** Ids of messages, and of sends, in one change of the feed. */
const IDS_AT_ONCE = 500;
/** Files that are removed at the same time. */
const FILES_AT_ONCE = 8;

/** Files of the person are kept, and this process has no store. */
export class NoMediaStore extends Error {
  override readonly name = 'NoMediaStore';
}

/**
 * Erases a person in one transaction: number, texts, addresses of files and references in changes, the raw log, sends, the
 * errors of consumers, and at last in messages; the kept files before their messages. Whatever reads much comes first:
 * while the rows of messages are locked, deliveries about them wait, and those of other people that are stored with them.
 * A file that is being stored meanwhile is removed by the worker. The ids of the messages stay, so that polling brings
 * nothing back. The feed tells consumers the ids. Can be repeated. Throws as `transaction` does, what `eraseSends` throws,
 * and a `StoreFailure`.
 * @throws {NoMediaStore}
 */
export async function erasePerson(
  { database, mediaStore }: { readonly database: Database; readonly mediaStore: MediaStore | null },
  phone: string,
  now: number,
): Promise<{ readonly messages: number; readonly sends: number }> {
  const phones = variants(phone);
  const erased = await database.transaction(
    async (tx) => {
      const changes = await eraseChanges(tx, phones);
      const sends = await eraseSends(tx, phones);
      const files = await removeFiles(tx, phones, mediaStore);
      await forgetErrorsOf(tx, changes.messages);
      const messages = await eraseMessages(tx, phones, files, changes, now);
      // Last, because the number of a batch must not wait for the rest of the transaction.
      const told = tell(messages, sends);
      await tellErasures(tx, told, now);
      return { messages: messages.reduce((sum, { ids }) => sum + ids.length, 0), sends: sends.length };
    },
    { deadlineMs: DEADLINE_MS },
  );
  // Those of what came meanwhile. If this fails, retention does it within an hour.
  await forgetErrors(database);
  return erased;
}

/** Removes the files of a person before their rows, and returns their keys. */
async function removeFiles(
  tx: Queryable,
  phones: readonly string[],
  store: MediaStore | null,
): Promise<readonly string[]> {
  const keys = await listCopies(tx, phones);
  if (keys.length === 0) return keys;
  if (store === null) throw new NoMediaStore();
  const turns = createTurns(FILES_AT_ONCE);
  await Promise.all(keys.map((key) => turns.run(() => store.remove(key))));
  return keys;
}

/** What the feed says: for each connection one change, and more of them only if it has more ids than one names. */
function tell(messages: readonly ErasedMessages[], sends: readonly ErasedSend[]): Erasure[] {
  const byConnection = Map.groupBy([...messages, ...sends], ({ connectionId }) => connectionId);
  return [...byConnection].flatMap(([connectionId, erased]) => {
    const accountId = erased[0]?.accountId ?? '';
    const messageIds = erased.flatMap((found) => ('ids' in found ? found.ids : []));
    const outboundIds = erased.flatMap((found) => ('id' in found ? found.id : []));
    const parts = Math.ceil(Math.max(messageIds.length, outboundIds.length) / IDS_AT_ONCE);
    return Array.from({ length: parts }, (_, part) => {
      const cut = (ids: readonly string[]) => ids.slice(part * IDS_AT_ONCE, (part + 1) * IDS_AT_ONCE);
      return { accountId, connectionId, messageIds: cut(messageIds), outboundIds: cut(outboundIds) };
    });
  });
}
