import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { apiKeys, connections, licenses, workspaces } from './core-tables.ts';
import { media, mediaChunks } from './media-tables.ts';
import { assignedKeys, messages, sends } from './message-tables.ts';
import { contacts, phoneMessages } from './network-tables.ts';
import {
  oauthApps,
  oauthCodes,
  oauthCodeTries,
  oauthConsents,
  oauthGrants,
  oauthRefreshTokens,
} from './oauth-tables.ts';
import { createKeys, pairedNumbers, pairingSessions } from './pairing-tables.ts';
import { sandboxTransitions } from './sandbox-tables.ts';
import { heldReports, networkSessions } from './session-tables.ts';
import { timers } from './time-tables.ts';

/** The tables of workspaces, people and phones, each after those that reference it. */
const CLEARED = [
  ...[sandboxTransitions, heldReports, networkSessions, pairingSessions, pairedNumbers, createKeys],
  ...[oauthCodes, oauthRefreshTokens, oauthCodeTries, oauthConsents, oauthGrants, oauthApps],
  ...[messages, sends, assignedKeys, mediaChunks, media, phoneMessages, contacts, timers],
  ...[licenses, connections, apiKeys, workspaces],
];

/** Longer than for an ordinary statement, because a world may have grown large. */
const DEADLINE = { deadlineMs: 60_000 };

/**
 * Empties all tables of workspaces, people and phones. Keeps virtual time and the rest of the service's state. It
 * deletes rows: emptying a table as a whole would lock it, and could deadlock with a query that joins several.
 */
export async function clearTables(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    for (const table of CLEARED) await orm(tx).delete(table);
  }, DEADLINE);
}
