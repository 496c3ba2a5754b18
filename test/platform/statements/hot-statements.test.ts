import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { openTestDatabase } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { describeHotStatements } from '../../support/statements.ts';
import { HOT_STATEMENTS, T0 } from './hot-statements.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
/** In a small table, reading all of it is the cheapest plan. */
const LARGE = /^(?:messages|connections|sends|timers|ledger|deliveries|oauth_grants)$/;

const opened = ofFile(() => openTestDatabase({ platform: true }, 2));
beforeAll(() => fill(), 120_000);

/** A service of some days: 200 workspaces with 10 connections each, 20,000 messages, events, deliveries and timers. */
async function fill(): Promise<void> {
  const now = `${T0}::bigint`;
  for (const statement of [
    `INSERT INTO platform.workspaces (id, kind, slots, last_created_at, created_at)
     SELECT 'w-' || n, 'standalone', 10, ${now}, ${now} FROM generate_series(0, 199) n`,
    `INSERT INTO platform.connections (id, workspace_id, provider, label, tier, state, needs_reconnect, reported_broken,
       is_default, created_at, paired_at)
     SELECT 'c-' || n, 'w-' || n % 200, 'qr', '', 'basic', 'live', false, false, false, ${now}, ${now}
       FROM generate_series(0, 1999) n`,
    `INSERT INTO platform.messages (id, workspace_id, connection_id, direction, peer, status, receipts, created_at)
     SELECT 'm-' || n, 'w-' || n % 200, 'c-' || n % 2000, 'incoming', '4917' || n % 100, 'delivered', 2, ${now}
       FROM generate_series(1, 20000) n`,
    `INSERT INTO platform.sends (message_id, workspace_id, key_hash, message_hash, answer, expires_at)
     SELECT 's-' || n, 'w-' || n % 200, sha256(n::text::bytea), '', '{}', ${now} + n FROM generate_series(1, 20000) n`,
    `INSERT INTO platform.timers (due_at, kind, payload)
     SELECT ${now} + n * 1000, 'receipt.read', '{}' FROM generate_series(-50, 20000) n`,
    `INSERT INTO platform.ledger (seq, at, workspace_id, connection_id, message_id, event, body)
     SELECT n, ${now}, 'w-' || n % 200, 'c-' || n % 2000, 'm-' || n, 'message.received', '{}'
       FROM generate_series(1, 20000) n`,
    `INSERT INTO platform.deliveries (event_id, subscription_id, outcome, created_at, due_at)
     SELECT n, 'w-' || n % 200, CASE WHEN n % 10 = 0 THEN 'pending' ELSE 'delivered' END, ${now},
       CASE WHEN n % 10 = 0 THEN ${now} END FROM generate_series(1, 20000) n`,
    `INSERT INTO platform.oauth_apps (id, name, secret_hash, redirect_uris, scopes, legacy_subscription, enabled,
       created_at)
     SELECT 'a-' || n, 'app', '', '{}', '{}', false, true, ${now} FROM generate_series(1, 5) n`,
    `INSERT INTO platform.oauth_grants (id, app_id, workspace_id, scopes, connection_ids, legacy, refreshes, created_at)
     SELECT 'g-' || n, 'a-' || n % 5 + 1, 'w-' || n % 200, '{}', '{}', false, 0, ${now}
       FROM generate_series(1, 20000) n`,
    'ANALYZE',
  ]) {
    await opened.database.query(statement, [], { deadlineMs: 60_000 });
  }
}

describeHotStatements({
  statements: HOT_STATEMENTS,
  golden: GOLDEN,
  large: LARGE,
  database: () => opened.database,
});
