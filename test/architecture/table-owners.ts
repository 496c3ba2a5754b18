/**
 * Which folder writes the rows of each table. Other folders call it, or use its parts of a statement.
 * The function `connector.number_changes` writes `connector.feed`, too.
 */
export const OWNERS: Readonly<Record<string, string>> = {
  'connector.accounts': 'src/connector/accounts/',
  'connector.answers': 'src/connector/inbox/',
  'connector.change_batches': 'src/connector/db/',
  'connector.changes': 'src/connector/db/',
  'connector.connections': 'src/connector/db/',
  'connector.coverage': 'src/connector/reconcile/',
  'connector.creations': 'src/connector/connections/',
  'connector.consumer_places': 'src/connector/consumers/',
  'connector.consumers': 'src/connector/consumers/',
  'connector.dead_letters': 'src/connector/consumers/',
  'connector.expired_messages': 'src/connector/db/',
  'connector.feed': 'src/connector/db/',
  'connector.gaps': 'src/connector/reconcile/',
  'connector.inbox': 'src/connector/db/',
  'connector.inbox_default': 'src/connector/db/',
  'connector.leases': 'src/connector/work/',
  'connector.media_keeping': 'src/connector/db/',
  'connector.messages': 'src/connector/db/',
  'connector.oauth_flows': 'src/connector/oauth/',
  'connector.oauth_grants': 'src/connector/oauth/',
  'connector.outbound': 'src/connector/outbox/',
  'connector.outbound_media': 'src/connector/outbox/',
  'connector.parked': 'src/connector/consumers/',
  'connector.parked_entries': 'src/connector/consumers/',
  'connector.poll_states': 'src/connector/accounts/',
  'connector.processes': 'src/connector/work/',
  'connector.quotas': 'src/connector/accounts/',
  'connector.receiver_tallies': 'src/connector/inbox/',
  'connector.repair_totals': 'src/connector/reconcile/',
  'connector.repairs': 'src/connector/reconcile/',
  'connector.statistics': 'src/connector/statistics/',
  'connector.subscriptions': 'src/connector/accounts/',
  'connector.sweeps': 'src/connector/reconcile/',
  'platform.api_keys': 'src/platform/credentials/',
  'platform.connections': 'src/platform/connections/',
  'platform.contacts': 'src/platform/network/',
  'platform.create_keys': 'src/platform/connections/',
  'platform.deliveries': 'src/platform/webhooks/',

  'platform.held_reports': 'src/platform/network/',
  'platform.ledger': 'src/platform/webhooks/',
  'platform.ledger_position': 'src/platform/db/',
  'platform.licenses': 'src/platform/licensing/',
  'platform.media': 'src/platform/media/',
  'platform.media_bytes': 'src/platform/media/',
  'platform.messages': 'src/platform/messages/',
  'platform.network_sessions': 'src/platform/network/',
  'platform.oauth_apps': 'src/platform/oauth/',
  'platform.oauth_codes': 'src/platform/oauth/',
  'platform.oauth_consents': 'src/platform/oauth/',
  'platform.oauth_grants': 'src/platform/oauth/',
  'platform.oauth_refresh_tokens': 'src/platform/oauth/',
  'platform.oauth_signing_keys': 'src/platform/oauth/',
  'platform.paired_numbers': 'src/platform/connections/',
  'platform.pairing_sessions': 'src/platform/connections/',
  'platform.phone_messages': 'src/platform/network/',
  'platform.sends': 'src/platform/messages/',
  'platform.service_state': 'src/platform/time/',
  'platform.timers': 'src/platform/time/',
  'platform.webhook_configurations': 'src/platform/webhooks/',
  'platform.workspaces': 'src/platform/workspaces/',
  'platform.sandbox_state': 'src/sandbox/',
  'platform.sandbox_transitions': 'src/sandbox/',
};

/** Files of other folders that write a table, and why. */
export const GUESTS: Readonly<Record<string, readonly [table: string, why: string]>> = {
  'src/sandbox/deliveries/control-deliveries.ts': [
    'platform.deliveries',
    'a person holds, resends and copies deliveries, which no client of the service can',
  ],
};

/** Files that write tables whose names are known only at run time, and which tables these are. */
export const WRITE_NAMED_TABLES: Readonly<Record<string, string>> = {
  'src/connector/accounts/accounts.ts': 'the tables of an account, from a list',
  'src/connector/db/time-partitions.ts': 'the partitions of the inbox and of the changes',
  'src/connector/db/invalid-deliveries.ts': 'the partitions of the inbox',
  'src/connector/db/sealed-columns.ts': 'every column that holds a sealed value, from a list',
  'src/platform/oauth/token/consume.ts': 'codes and refresh tokens, which are used up alike',
};

/** Files that run SQL as text, and why drizzle does not suffice there. */
export const RAW_SQL: Readonly<Record<string, string>> = {
  'src/runtime/database/migrate.ts': 'reads the catalog and the journal of migrations',
  'src/runtime/database/saved-tables.ts': 'reads and writes the rows of any table, from the catalog',
  'src/runtime/database/orm.ts': 'runs the statements of drizzle',
  'src/runtime/database/in-turns.ts': 'passes statements on, in turns',
  'src/runtime/notifier/postgres-notifier.ts': 'calls pg_notify',
  'src/commands/database-owner.ts': 'reads the catalog, and marks the schema of a sandbox',
  'src/commands/run-replay.ts': 'asks the catalog whether the tables exist',
  'src/commands/self-check.ts': 'creates and drops a database',
  'src/connector/connections/creation-store.ts':
    'stores a created connection, its row and its change in one statement',
  'src/connector/work/presence.ts':
    'hot: each heartbeat, one a second in every process, and each take and release of a lease is one statement',
  'src/connector/db/clear-tables.ts': 'makes the one row of the feed, as the migrations do',
  'src/connector/db/commit-batch.ts': 'runs the merge',
  'src/connector/db/connection-rows.ts':
    'writes a row and its change in one statement, each a comparison of the row before and after',
  'src/connector/db/expire-messages.ts': 'finds, locks and empties rows in one statement',
  'src/connector/db/erase-messages.ts': 'updates rows by arrays of keys, and writes the changes',
  'src/connector/db/delete-old-changes.ts':
    'deletes batches with their changes and moves the position of the feed in one statement',
  'src/connector/db/media-copies.ts':
    'writes a row and its change in one statement; reads what is due, without what others work on',
  'src/connector/db/message-periods.ts': 'makes and attaches partitions',
  'src/connector/db/name-peer.ts': 'writes a row and its change in one statement',
  'src/connector/db/settle-origins.ts': 'writes rows and their changes in one statement',
  'src/connector/db/time-partitions.ts': 'makes, attaches and drops partitions',
  'src/connector/db/invalid-deliveries.ts': 'reads the catalog and writes the comments of partitions',
  'src/connector/doctor/checks/rights.ts': 'reads the catalog of the server',
  'src/connector/doctor/examine.ts': 'asks the server for its version',
  'src/connector/api/messages.ts': 'limits the time of a search in its transaction',
  'src/connector/feed/read-changes.ts': 'hot: pages of the feed',
  'src/connector/consumers/consumer-store.ts':
    'hot: all that a process has to write of a consumer in one statement; opens a partition under its lease',
  'src/connector/outbox/erase-sends.ts': 'locks rows by an array of numbers',
  'src/connector/consumers/dead-letters.ts': 'moves a dead letter in one statement',
  'src/connector/inbox/assign-accounts.ts': 'joins the connections of a batch, with a deadline of its own',
  'src/connector/inbox/answer-log.ts': 'adds, and deletes what is old, in one statement',
  'src/connector/inbox/receiver-tally.ts':
    'adds the counts of two seconds in one statement, with a deadline of its own',
  'src/connector/outbox/due-queues.ts': 'hot: moves from queue to queue, and takes the rule of the next send',
  'src/connector/outbox/queue-store.ts': 'hot: each step of a send with its change in one statement',
  'src/connector/outbox/queue-send.ts':
    'stores, cancels and retries a send, each in one statement with its change',
  'src/connector/reconcile/poll-connections.ts':
    'stores a listing, its gaps and its changes in one statement',
  'src/connector/reconcile/sweep-statuses.ts':
    'counts by the index of each connection, with a deadline of its own',
  'src/connector/accounts/poll-state.ts': 'hot: what is due; drizzle inserts no part of a row from a query',
  'src/connector/reconcile/progress.ts':
    'reads the progress of an account, from four tables, in one statement',
  'src/connector/reconcile/store-page.ts': 'judges repairs and adds them up in one statement',
  'src/connector/reconcile/walk-messages.ts': 'joins the messages of a page',
  'src/connector/db/sealed-columns.ts': 'reads and writes columns of several tables, from a list',
  'src/connector/statistics/keep-statistics.ts': 'adds, and deletes what is old, in one statement',
  'src/connector/state/server-sessions.ts': 'reads the catalog of the server',
  'src/connector/feed/sequencer.ts': 'calls connector.number_changes',
  'src/platform/db/clear-tables.ts': 'sets the one row that numbers the events',
  'src/platform/messages/apply-receipts.ts': 'updates any number of messages, each to its own values',
  'src/platform/messages/receive-messages.ts': 'inserts any number of messages',
  'src/platform/webhooks/delivery-rows.ts':
    'stores any number of attempts that have ended, and sets the planner',
  'src/platform/webhooks/ledger.ts': 'inserts any number of events, and their deliveries',
};
