import type { Queryable } from '../../runtime/database/database.ts';

/** Empties the ledger, the deliveries and the configurations; ids and numbers begin anew. For a reset. */
export async function clearWebhookTables(tx: Queryable): Promise<void> {
  await tx.query(
    'TRUNCATE platform.ledger, platform.deliveries, platform.webhook_configurations RESTART IDENTITY',
  );
  await tx.query('UPDATE platform.ledger_position SET last_seq = 0');
}
