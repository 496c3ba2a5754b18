import type { Database } from '../../runtime/database/database.ts';
import { ALL_ROWS, emptyTables } from '../../runtime/database/saved-tables.ts';

/** Virtual time, the state of process and sandbox, and what the delivery of webhooks empties itself. */
const KEPT = [
  ...['service_state', 'process_lease', 'sandbox_state', 'oauth_signing_keys'],
  ...['ledger', 'ledger_position', 'deliveries', 'webhook_configurations'],
];

/** Empties all tables of workspaces, people and phones. Keeps virtual time and the rest of the service's state. */
export async function clearTables(database: Database): Promise<void> {
  await database.transaction((tx) => emptyTables(tx, 'platform', KEPT), ALL_ROWS);
}
