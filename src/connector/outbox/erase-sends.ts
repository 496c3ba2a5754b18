import type { Queryable } from '../../runtime/database/database.ts';
import type { outbound } from '../db/outbox-tables.ts';

export type ErasedSend = Pick<typeof outbound.$inferSelect, 'id' | 'accountId' | 'connectionId'>;

/** A send to the person is in progress, so its outcome is not known yet. Try again when it has ended. */
export class SendInProgress extends Error {
  override readonly name = 'SendInProgress';
}

/**
 * Deletes all sends to these numbers, queued ones included.
 * @throws {SendInProgress}
 */
export async function eraseSends(tx: Queryable, phones: readonly string[]): Promise<readonly ErasedSend[]> {
  const sends = await tx.query<ErasedSend & { readonly state: string }>(
    `SELECT id, account_id AS "accountId", connection_id AS "connectionId", state FROM connector.outbound
      WHERE recipient = ANY($1::text[]) ORDER BY id FOR UPDATE`,
    [phones],
  );
  if (sends.some(({ state }) => state === 'sending')) throw new SendInProgress();
  await tx.query('DELETE FROM connector.outbound WHERE id = ANY($1::text[])', [sends.map(({ id }) => id)]);
  return sends;
}
