import type { Database } from '../../runtime/database/database.ts';
import { ALL_ROWS, emptyTables } from '../../runtime/database/saved-tables.ts';

/** Tables that describe running processes, and are not part of the connector's data. */
export const TABLES_OF_PROCESSES = ['processes', 'leases'];

/** Removes what a stopped connector has stored. Its feed begins anew, under another id. */
export async function clearTables(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await emptyTables(tx, 'connector', TABLES_OF_PROCESSES);
    await tx.query('INSERT INTO connector.feed ("only", base_seq) VALUES (true, 0)');
  }, ALL_ROWS);
}
