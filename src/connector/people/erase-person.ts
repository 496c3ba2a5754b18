import { variants } from '../../patterns/phone-variants.ts';
import type { Database } from '../../runtime/database/database.ts';
import { forgetErrors } from '../consumers/dead-letters.ts';
import { type ErasedMessages, type Erasure, eraseMessages, tellErasures } from '../db/erase-messages.ts';
import { type ErasedSend, eraseSends } from '../outbox/erase-sends.ts';

/** All changes of the feed are read once. */
const DEADLINE_MS = 140_000;
/** Ids of messages, and of sends, in one change of the feed. */
const IDS_AT_ONCE = 500;

/**
 * Erases a person in one transaction: number, texts, addresses of files and references in messages, changes, the raw
 * log, sends and the errors of consumers. The ids of the messages stay, so that polling brings nothing back. The feed
 * tells consumers the ids. Can be repeated. Throws as `transaction` does, and what `eraseSends` throws.
 */
export async function erasePerson(
  database: Database,
  phone: string,
  now: number,
): Promise<{ readonly messages: number; readonly sends: number }> {
  const phones = variants(phone);
  return await database.transaction(
    async (tx) => {
      const sends = await eraseSends(tx, phones);
      const messages = await eraseMessages(tx, phones);
      await forgetErrors(
        tx,
        messages.flatMap(({ ids }) => ids),
      );
      // Last, because the number of a batch must not wait for the rest of the transaction.
      const told = tell(messages, sends);
      await tellErasures(tx, told, now);
      return { messages: messages.reduce((sum, { ids }) => sum + ids.length, 0), sends: sends.length };
    },
    { deadlineMs: DEADLINE_MS },
  );
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
