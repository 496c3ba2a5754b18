import type { AccountFacts, DoctorSettings } from '../facts.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { count, inPortal, some, span } from '../wording.ts';

const SOON_MS = 3 * 24 * 3_600_000;
const MOST = 1_000;

interface LicenceRow {
  readonly connectionId: string;
  readonly label: string | null;
  readonly visible: boolean;
  readonly valid: boolean | null;
  readonly status: string | null;
  readonly expires: number | null;
}

/**
 * Connections have a licence. One without is hidden from lists, takes no sends and emits no events. Implements
 * `What the service does`: the access gate. What is valid is read from the service, never from a date.
 */
export const licences: Check<AccountFacts> = {
  id: 'licences',
  title: 'licences of connections',
  async look({ account, database, clock, settings }) {
    const rows = await database.query<LicenceRow>(
      `select connection_id as "connectionId", label, visible, license_valid as valid, license_status as status,
              license_expires as expires
         from connector.connections where account_id = $1 and listed_at is not null and deleted_at is null
        order by connection_id limit ${MOST}`,
      [account.id],
    );
    if (rows.length === 0) return notChecked('The account has no connection yet.');
    const now = clock.now();
    const lapsed = rows.filter((row) => !row.visible || row.valid === false);
    const ending = rows.filter(
      (row) => row.visible && row.valid !== false && row.expires !== null && row.expires - now < SOON_MS,
    );
    const findings: Finding[] = [];
    if (lapsed.length > 0) findings.push(explainLapsed(lapsed, rows.length, settings));
    if (ending.length > 0) findings.push(explainEnding(ending, now, settings));
    if (findings.length > 0) return findings;
    return ok(
      `${count(rows.length, 'connection has', 'connections have')} a licence, and none ends within 3 days.`,
    );
  },
};

const RENEWAL = 'PUT /connections/{id}/licence {"status":"active"}';

function explainLapsed(lapsed: readonly LicenceRow[], all: number, settings: DoctorSettings): Finding {
  const lines = lapsed.map((row) => `${nameOf(row)}${row.status === null ? '' : `, licence ${row.status}`}`);
  return problem(
    `${count(lapsed.length, 'connection is', 'connections are')} shown by the service no longer.`,
    {
      evidence: [`${lapsed.length} of ${all}: ${some(lines)}.`],
      advice: [
        `Renew the licence or the add-on ${inPortal(settings, RENEWAL)}: until then these numbers neither send nor receive.`,
        'If they were deleted, or the key was narrowed to others, this is as it should be.',
        'What they miss is read by polling once they are back.',
      ],
    },
  );
}

function explainEnding(ending: readonly LicenceRow[], now: number, settings: DoctorSettings): Finding {
  const lines = ending.map((row) => {
    const left = (row.expires ?? now) - now;
    return `${nameOf(row)} ${left > 0 ? `in ${span(left)}` : 'about now'}`;
  });
  return warning(`${count(ending.length, 'licence ends', 'licences end')} within 3 days.`, {
    evidence: [`${some(lines)}.`],
    advice: [
      `Renew ${inPortal(settings, RENEWAL)} before that: a connection without a licence neither sends nor receives.`,
    ],
  });
}

/** The id, and the label that people know it by. */
export function nameOf({ connectionId, label }: { connectionId: string; label: string | null }): string {
  return label === null || label === '' ? connectionId : `${connectionId} (${label.slice(0, 40)})`;
}
