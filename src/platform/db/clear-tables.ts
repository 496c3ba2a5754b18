import type { Queryable } from '../../runtime/database/database.ts';

/** Empties all tables of workspaces, people and phones. Keeps virtual time and the rest of the service's state. */
export async function clearTables(db: Queryable): Promise<void> {
  await db.query(
    `TRUNCATE platform.workspaces, platform.api_keys, platform.connections, platform.licenses,
       platform.messages, platform.sends, platform.assigned_keys, platform.media,
       platform.media_chunks, platform.contacts, platform.phone_messages, platform.timers,
       platform.network_sessions, platform.held_reports, platform.pairing_sessions, platform.create_keys,
       platform.paired_numbers, platform.oauth_apps, platform.oauth_grants, platform.oauth_codes,
       platform.oauth_refresh_tokens, platform.oauth_consents, platform.oauth_code_tries,
       platform.sandbox_transitions`,
  );
}
