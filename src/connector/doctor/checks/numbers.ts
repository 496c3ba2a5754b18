import { type Quota, readQuotas } from '../../accounts/quota.ts';
import { type ListedNumber, listAbandonedCreations, listNumbers } from '../../state/figures.ts';
import type { AccountCheckInput, DoctorSettings } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { ago, count, inPortal, some, span } from '../wording.ts';

const LATELY_MS = 30 * 24 * 3_600_000;
const MAX = 100;

/**
 * The numbers of the account work: each is licensed and paired, and exists once. A number without a license is
 * not listed, cannot send and emits no events.
 */
export const numbersCheck: Check<AccountCheckInput> = {
  id: 'numbers',
  title: 'numbers: license and pairing',
  async run(input) {
    const { account, database, clock, settings } = input;
    const now = clock.now();
    const listed = await listNumbers(database, account.id, now);
    const quota = (await readQuotas(database)).find(({ accountId }) => accountId === account.id);
    const lapsed = listed.filter((row) => !row.visible || row.licenseValid === false);
    const ending = listed.filter(({ notice }) => notice !== null);
    const waiting = listed.filter(({ visible, needsReconnect }) => visible && needsReconnect === true);
    const findings = [
      ...(lapsed.length > 0 ? [explainLapsed(lapsed, listed.length, quota, settings)] : []),
      ...(ending.length > 0 ? [explainEnding(ending, now, settings)] : []),
      ...(waiting.length > 0 ? [explainWaiting(waiting, now)] : []),
      ...(await judgeCreations(input, now)),
    ];
    if (findings.length > 0) return findings;
    if (listed.length === 0) return notChecked('The account has no connection yet.');
    return ok(
      `${count(listed.length, 'connection is', 'connections are')} licensed and paired; no license ends within 3 days.`,
    );
  },
};

const RENEWAL = 'PUT /connections/{id}/licence {"status":"active"}';

function explainLapsed(
  lapsed: readonly ListedNumber[],
  all: number,
  quota: Quota | undefined,
  settings: DoctorSettings,
): Finding {
  const lines = lapsed.map(
    (row) => `${nameOf(row)}${row.licenseStatus === null ? '' : `, license ${row.licenseStatus}`}`,
  );
  return problem(
    `${count(lapsed.length, 'connection is', 'connections are')} without a valid license or no longer listed by the service.`,
    {
      evidence: [
        `${lapsed.length} of ${all}: ${some(lines)}.`,
        ...(quota?.slotsAvailable === 0
          ? [`No slot is free: ${quota.slotsUsed} of ${quota.slotsTotal} are used.`]
          : []),
      ],
      advice: [
        `Renew the license or the add-on ${inPortal(settings, RENEWAL)}. Until then, these numbers neither send nor receive.`,
        'If they were deleted, or the key no longer covers them, no action is needed.',
        'Polling reads what they missed once they are listed again.',
      ],
    },
  );
}

function explainEnding(ending: readonly ListedNumber[], now: number, settings: DoctorSettings): Finding {
  const lines = ending.map((row) => {
    const left = (row.licenseExpires ?? now) - now;
    return `${nameOf(row)} ${left > 0 ? `in ${span(left)}` : 'now'}`;
  });
  return warning(`${count(ending.length, 'license ends', 'licenses end')} within 3 days.`, {
    evidence: [`${some(lines)}.`],
    advice: [
      `Renew ${inPortal(settings, RENEWAL)} before then. A connection without a license neither sends nor receives.`,
    ],
  });
}

function explainWaiting(waiting: readonly ListedNumber[], now: number): Finding {
  const lines = waiting.map(
    (row) =>
      `${nameOf(row)}, reported ${ago(row.since, now)}${row.reason === null ? '' : `: ${row.reason.slice(0, 40)}`}`,
  );
  return warning(`${count(waiting.length, 'connection needs', 'connections need')} to be paired again.`, {
    evidence: [`${some(lines)}.`],
    advice: [
      'Call POST /v1/connections/{id}/restart, then show its owner the QR code from GET /v1/connections/{id}/pairing.',
      'Until then its sends fail. They are retried where that is safe.',
    ],
  });
}

/** Requests to create a connection that are no longer repeated; a person must find out their outcome. */
async function judgeCreations(
  { account, database }: AccountCheckInput,
  now: number,
): Promise<readonly Finding[]> {
  const inDoubt = await listAbandonedCreations(database, account.id, now - LATELY_MS, MAX);
  if (inDoubt.length === 0) return [];
  const lines = inDoubt.map(
    ({ label, createdAt, lastError }) =>
      `${label === null || label === '' ? 'without label' : label.slice(0, 40)}, requested ${ago(createdAt, now)} (${lastError ?? 'no answer'})`,
  );
  return [
    warning(
      `${count(inDoubt.length, 'creation is', 'creations are')} in doubt: whether a connection was created is unknown.`,
      {
        evidence: [`${some(lines)}.`],
        advice: [
          'Compare the connections at the service with GET /v1/connections, and delete those that are not wanted.',
        ],
      },
    ),
  ];
}

/** The id, and the label that people know. */
function nameOf({ connectionId, label }: ListedNumber): string {
  return label === null || label === '' ? connectionId : `${connectionId} (${label.slice(0, 40)})`;
}
