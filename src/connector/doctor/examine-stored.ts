import type { FindingList } from '../../contract/connector/findings.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { DoctorSettings } from './check-input.ts';
import { ACCOUNT_CHECKS, WORK_CHECKS } from './check-order.ts';
import { snapshotsCheck } from './checks/snapshots.ts';
import { listAccountsToExamine } from './examined-accounts.ts';
import { figureCheck } from './figure-check.ts';
import { runChecks } from './run-check.ts';

type Options = Pick<DoctorSettings, 'reconcileIntervalMs' | 'inboxRetentionDays' | 'webhookPublicUrl'>;

/**
 * The doctor's checks that need nothing but the database, for `GET /v1/doctor`: those of the settings, the network and
 * the service need its command. Rejects only if the accounts cannot be read.
 */
export async function examineStored({
  database,
  clock,
  reconcileIntervalMs,
  inboxRetentionDays,
  webhookPublicUrl,
}: Options & { readonly database: Queryable; readonly clock: Clock }): Promise<FindingList> {
  const known = { reconcileIntervalMs, inboxRetentionDays, webhookPublicUrl };
  const settings: DoctorSettings = { ...known, host: '', port: 0, sealingKeys: [] };
  const given = (signal: AbortSignal) => ({ settings, clock, signal, database });
  const at = toIso(clock.now());
  const reports = await runChecks([figureCheck('connections'), snapshotsCheck], given, clock);
  const { accounts } = await listAccountsToExamine(settings, database, clock.now());
  for (const { account } of accounts) {
    const ofAccount = (signal: AbortSignal) => ({ ...given(signal), account });
    reports.push(...(await runChecks(ACCOUNT_CHECKS, ofAccount, clock, account.id)));
  }
  reports.push(...(await runChecks(WORK_CHECKS, given, clock)));
  const findings = reports.map(({ accountId = null, code = null, broken: _, ...report }) => ({
    ...report,
    accountId,
    code,
    evidence: [...report.evidence],
    advice: [...report.advice],
  }));
  return { at, findings };
}
