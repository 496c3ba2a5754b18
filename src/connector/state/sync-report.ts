import { and, count, desc, eq, gte, max, sql } from 'drizzle-orm';
import type { AccountSync, ConnectionSync, WebhookHealth } from '../../contract/connector/sync.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { type Account, readAccounts } from '../accounts/account-store.ts';
import { isPollOverdue, type PollState, readPollState } from '../accounts/poll-state.ts';
import { c, DIRECTIONS, m, newestMessages } from '../db/newest-messages.ts';
import { repairTotals } from '../db/schema.ts';
import { type Progress, readProgress } from '../reconcile/progress.ts';
import { IS_OPEN, WIDEST_MS } from '../reconcile/sweep-statuses.ts';
import { countUndecided } from './deliveries.ts';

/** A repair this long ago says nothing about webhooks today. */
const LATELY_MS = 24 * 60 * 60_000;
/** Number of the newest messages of a connection and direction that are checked for the last webhook. */
const SAMPLE = 100;
/** Number of the newest sent messages of a connection among which the oldest open status is looked for. */
const SENT_SAMPLE = 1_000;

type ConnectionRow = Awaited<ReturnType<typeof readConnections>>[number];

/** Reads a limited number of messages of each connection by their index, at most of the seven days of a sweep. */
export async function readConnections(db: Queryable, accountId: string, since: number) {
  const sent = newestMessages(db, SENT_SAMPLE, gte(m.createdAt, since));
  const open = orm(db)
    .select({ id: sent.id, createdAt: sent.createdAt })
    .from(sql`(values ('outgoing')) d(direction)`)
    .crossJoinLateral(sent)
    .where(sql.raw(IS_OPEN))
    .orderBy(sent.createdAt, desc(sent.id))
    .limit(1)
    .as('open');
  const newest = newestMessages(db, SAMPLE);
  const webhooks = orm(db)
    .select({ lastAt: max(newest.webhookAt).as('last_webhook_at') })
    .from(DIRECTIONS)
    .crossJoinLateral(newest)
    .as('webhooks');
  const conflicts = orm(db)
    .select({ count: count().as('conflict_count') })
    .from(m)
    .where(
      and(
        eq(m.connectionId, c.connectionId),
        eq(m.direction, 'outgoing'),
        gte(m.createdAt, since),
        // A literal condition, so that the partial index is used.
        sql`${m.statusConflict}`,
      ),
    )
    .as('conflicts');
  return await orm(db)
    .select({
      connectionId: c.connectionId,
      provider: c.provider,
      visible: c.visible,
      openMessageId: open.id,
      openCreatedAt: open.createdAt,
      lastWebhookAt: sql<number | null>`greatest(${webhooks.lastAt}, ${c.webhookAt})`,
      conflicts: conflicts.count,
      repairedMessages: repairTotals.messages,
      repairedStatuses: repairTotals.statuses,
      repairedAt: repairTotals.lastAt,
    })
    .from(c)
    .leftJoin(repairTotals, eq(repairTotals.connectionId, c.connectionId))
    .leftJoinLateral(open, sql`true`)
    .crossJoinLateral(webhooks)
    .crossJoinLateral(conflicts)
    .where(eq(c.accountId, accountId))
    .orderBy(c.connectionId);
}

/** How far accounts are in sync with the service, for `GET /v1/sync`. Undefined if the account does not exist. */
export async function reportSync(
  options: { readonly database: Queryable; readonly clock: Clock },
  accountId: string | undefined,
): Promise<AccountSync[] | undefined> {
  const accounts = await readAccounts(options.database);
  const chosen = accounts.filter((account) => accountId === undefined || account.id === accountId);
  if (accountId !== undefined && chosen.length === 0) return undefined;
  const reports: AccountSync[] = [];
  for (const account of chosen) reports.push(await reportAccount(options, account));
  return reports;
}

async function reportAccount(
  { database, clock }: { readonly database: Queryable; readonly clock: Clock },
  { id: accountId, awaitsConsent }: Account,
): Promise<AccountSync> {
  const state = await readPollState(database, accountId);
  const progress = await readProgress(database, accountId);
  const now = clock.now();
  const rows = await readConnections(database, accountId, now - WIDEST_MS);
  const connections = rows.map((row) => reportConnection(row, progress, now));
  const open = connections.flatMap(({ oldestOpenStatus }) =>
    oldestOpenStatus === null ? [] : [oldestOpenStatus],
  );
  open.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  const { coverage, visibility } = progress;
  const visible = new Set(rows.filter((row) => row.visible).map((row) => row.connectionId));
  return {
    accountId,
    reauthRequired: awaitsConsent,
    coveredUntil: toIsoOrNull(coverage.watermark),
    // What a hidden connection misses cannot be read before it is visible again.
    openGaps: coverage.gaps.length + visibility.filter(({ slot }) => visible.has(slot)).length,
    oldestOpenStatus: open[0] ?? null,
    unresolvedStatuses: state.unresolved,
    lastPoll: reportLastPoll(state),
    pollOverdue: !awaitsConsent && isPollOverdue(state, now),
    lastGoodPollAt: toIsoOrNull(state.lastGoodAt),
    repaired: {
      messages: sum(rows, (row) => row.repairedMessages ?? 0),
      statuses: sum(rows, (row) => row.repairedStatuses ?? 0),
    },
    undecidedRepairs: await countUndecided(database, accountId),
    statusConflicts: sum(rows, (row) => row.conflicts),
    webhookHealth: worst(connections.map((connection) => connection.webhookHealth)),
    lastWebhookAt: toIsoOrNull(Math.max(0, ...rows.map((row) => row.lastWebhookAt ?? 0)) || null),
    connections,
  };
}

function reportConnection(row: ConnectionRow, progress: Progress, now: number): ConnectionSync {
  const hidden = progress.visibility.find(({ slot }) => slot === row.connectionId);
  const { openMessageId: messageId, openCreatedAt: createdAt, connectionId } = row;
  return {
    connectionId,
    coveredUntil: toIsoOrNull(hidden === undefined ? progress.coverage.watermark : hidden.gap.floor),
    oldestOpenStatus:
      messageId === null || createdAt === null
        ? null
        : { messageId, connectionId, createdAt: toIso(createdAt) },
    repaired: { messages: row.repairedMessages ?? 0, statuses: row.repairedStatuses ?? 0 },
    webhookHealth: judgeWebhook(row, now),
    lastWebhookAt: toIsoOrNull(row.lastWebhookAt),
  };
}

function reportLastPoll(state: PollState): AccountSync['lastPoll'] {
  if (state.lastStartedAt === null) return null;
  return {
    startedAt: toIso(state.lastStartedAt),
    ok: state.lastErrorCode === null,
    error: state.lastErrorCode,
    notBefore: toIsoOrNull(state.notBefore),
  };
}

/** Only `qr` connections emit events, so nothing is known about others. */
function judgeWebhook(row: ConnectionRow, now: number): WebhookHealth {
  if (row.provider !== 'qr') return 'unknown';
  const repairedLately = row.repairedAt !== null && now - row.repairedAt < LATELY_MS;
  if (repairedLately) return row.lastWebhookAt === null ? 'silent' : 'lossy';
  return row.lastWebhookAt === null ? 'unknown' : 'healthy';
}

function worst(healths: readonly WebhookHealth[]): WebhookHealth {
  const order: readonly WebhookHealth[] = ['silent', 'lossy', 'healthy'];
  return order.find((health) => healths.includes(health)) ?? 'unknown';
}

function sum(rows: readonly ConnectionRow[], read: (row: ConnectionRow) => number): number {
  return rows.reduce((total, row) => total + read(row), 0);
}
