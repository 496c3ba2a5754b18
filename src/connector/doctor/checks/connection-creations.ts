import type { StoreFacts } from '../facts.ts';
import { type Check, type Finding, ok, warning } from '../finding.ts';
import { ago, count, some } from '../wording.ts';

const LATELY_MS = 30 * 24 * 3_600_000;
const OVERDUE_MS = 10 * 60_000;
const MOST = 100;

interface Doubtful {
  readonly label: string | null;
  readonly createdAt: number;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
}

/** Every request to create a connection came to an end. Implements `POST /connections`: idempotency. */
export const connectionCreations: Check<StoreFacts> = {
  id: 'creations',
  title: 'connections that were asked for',
  async look({ database, clock }) {
    const now = clock.now();
    const doubtful = await database.query<Doubtful>(
      `select label, created_at as "createdAt", last_error as "lastError", next_attempt_at as "nextAttemptAt"
         from connector.creations
        where connection_id is null and unsettled > 0 and created_at >= $1::bigint
        order by created_at desc limit ${MOST}`,
      [now - LATELY_MS],
    );
    const givenUp = doubtful.filter(({ nextAttemptAt }) => nextAttemptAt === null);
    const overdue = doubtful.filter(
      ({ nextAttemptAt }) => nextAttemptAt !== null && now - nextAttemptAt > OVERDUE_MS,
    );
    const findings: Finding[] = [];
    if (givenUp.length > 0) {
      findings.push(
        warning(
          `${count(givenUp.length, 'creation')} in doubt: whether there is a connection, nobody knows.`,
          {
            evidence: [list(givenUp, now)],
            advice: [
              'Compare the connections of the service with GET /v1/connections, and delete one that nobody wanted.',
            ],
          },
        ),
      );
    }
    if (overdue.length > 0) {
      findings.push(
        warning(`${count(overdue.length, 'creation waits', 'creations wait')} to be asked for again.`, {
          evidence: [list(overdue, now)],
          advice: ['Start a connector with CONNECTOR_ROLE all or worker: it asks again under the same key.'],
        }),
      );
    }
    return findings.length > 0 ? findings : ok('No creation of a connection is in doubt.');
  },
};

function list(creations: readonly Doubtful[], now: number): string {
  const told = creations.map(
    ({ label, createdAt, lastError }) =>
      `${label === null || label === '' ? 'without label' : label.slice(0, 40)}, asked for ${ago(createdAt, now)} (${lastError ?? 'no answer'})`,
  );
  return `${some(told)}.`;
}
