import type { AccountFacts } from '../facts.ts';
import { type Check, notChecked, ok, warning } from '../finding.ts';
import { ago, count, some } from '../wording.ts';
import { nameOf } from './licences.ts';

const MOST = 1_000;

interface WaitingRow {
  readonly connectionId: string;
  readonly label: string | null;
  readonly reason: string | null;
  readonly since: number | null;
}

/** No connection waits for its owner to pair it again. Implements `Connection status`: `needs_reconnect`. */
export const pairing: Check<AccountFacts> = {
  id: 'pairing',
  title: 'connections that wait for a scan',
  async look({ account, database, clock }) {
    const [{ all } = { all: 0 }] = await database.query<{ all: number }>(
      'select count(*) as all from connector.connections where account_id = $1 and visible',
      [account.id],
    );
    if (all === 0) return notChecked('The account has no connection yet.');
    const waiting = await database.query<WaitingRow>(
      `select connection_id as "connectionId", label, reason, coalesce(last_event_at, updated_at) as since
         from connector.connections where account_id = $1 and visible and needs_reconnect
        order by connection_id limit ${MOST}`,
      [account.id],
    );
    if (waiting.length === 0) return ok(`${count(all, 'connection is', 'connections are')} paired.`);
    const now = clock.now();
    const lines = waiting.map(
      (row) =>
        `${nameOf(row)}, told ${ago(row.since, now)}${row.reason === null ? '' : `: ${row.reason.slice(0, 40)}`}`,
    );
    return warning(
      `${count(waiting.length, 'connection waits', 'connections wait')} for the owner to pair again.`,
      {
        evidence: [`${some(lines)}.`],
        advice: [
          'Have the owner scan: POST /v1/connections/{id}/restart, then show GET /v1/connections/{id}/pairing.',
          'Sends to it fail until then; they are repeated where that is safe.',
        ],
      },
    );
  },
};
