import { CONNECTION_HEALTH } from '../../contract/connector/connections.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { type HealthFacts, judgeHealth } from '../connections/judge-health.ts';
import { noticeByTime } from '../db/license-notice.ts';

interface CountRow extends HealthFacts {
  readonly accountId: string;
  readonly notice: string | null;
  readonly count: number;
}

const LISTED_AT = 'v.listed_at';

const COUNT = `
  select c.account_id as "accountId", c.visible, c.deleted_at as "deletedAt", c.license_valid as "licenseValid",
         c.status, c.needs_reconnect as "needsReconnect", n.notice, count(*) as count
    from connector.connections c left join connector.coverage v using (account_id)
   cross join lateral (select ${noticeByTime('c', '$1::bigint', LISTED_AT)} as notice) n
   group by 1, 2, 3, 4, 5, 6, 7`;

const NOTICES = ['ends_soon', 'end_passed'] as const;

/**
 * Registers how many connections of each account are in which health, and how many licences end. Counted in the
 * database when metrics are asked for, by the clock of now: a service that is away hides nothing. The number of
 * series rises with accounts, not with connections. Without a database they keep their last values.
 */
export function measureConnections(metrics: Metrics, db: Queryable, clock: Clock): void {
  const read = shareReads(() => db.query<CountRow>(COUNT, [clock.now()]).catch(() => null));
  metrics.gauge(
    'connector_connections',
    'Connections of the account, by health.',
    ['account', 'health'],
    async (connections) => {
      const rows = await read();
      if (rows === null) return;
      connections.reset();
      for (const account of listAccounts(rows)) {
        for (const health of CONNECTION_HEALTH) connections.set({ account, health }, 0);
      }
      for (const { accountId: account, notice, count, ...facts } of rows) {
        connections.inc({ account, health: judgeHealth(facts) }, count);
      }
    },
  );
  metrics.gauge(
    'connector_licences_ending',
    'Licences whose end comes within three days, or has passed while the service was not heard.',
    ['account', 'notice'],
    async (ends) => {
      const rows = await read();
      if (rows === null) return;
      ends.reset();
      for (const account of listAccounts(rows)) {
        for (const notice of NOTICES) ends.set({ account, notice }, 0);
      }
      for (const { accountId: account, notice, count } of rows) {
        if (notice !== null) ends.inc({ account, notice }, count);
      }
    },
  );
}

function listAccounts(rows: readonly CountRow[]): ReadonlySet<string> {
  return new Set(rows.map((row) => row.accountId));
}
