import type { Database } from '../../runtime/database/database.ts';
import { ALL_ROWS, emptyTables } from '../../runtime/database/saved-tables.ts';

/** Virtual time, the state of the sandbox, and the row that numbers the events. */
const KEPT = ['service_state', 'sandbox_state', 'oauth_signing_keys', 'ledger_position'];

/** Empties all tables of workspaces, people, phones and webhooks. Keeps virtual time and the rest of the service's state. */
export async function clearTables(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await emptyTables(tx, 'platform', KEPT);
    await tx.query('UPDATE platform.ledger_position SET last_seq = 0');
  }, ALL_ROWS);
}
