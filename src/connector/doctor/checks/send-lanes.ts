import { oldestWaitMs, readSends } from '../../state/figures.ts';
import type { StoreFacts } from '../facts.ts';
import { type Check, type Finding, ok, problem, warning } from '../finding.ts';
import { count, some, span } from '../wording.ts';

const STUCK_MS = 5 * 60_000;
const LATELY_MS = 24 * 3_600_000;
const MOST = 1_000;

interface Lane {
  readonly connectionId: string;
  readonly since: number;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
}

/** Sends go out: no lane stands still, and nothing waits for an operator. */
export const sendLanes: Check<StoreFacts> = {
  id: 'sends',
  title: 'queued sends',
  async look({ database, clock }) {
    const now = clock.now();
    const lanes = await database.query<Lane>(
      `select distinct on (connection_id) connection_id as "connectionId",
              greatest(updated_at, coalesce(next_attempt_at, 0)) as since, last_error as "lastError",
              next_attempt_at as "nextAttemptAt"
         from connector.outbound where state in ('queued', 'sending')
        order by connection_id, position limit ${MOST}`,
    );
    const [ended] = await database.query<{ unknown: number; rejected: number; code: string | null }>(
      `select count(*) filter (where state = 'unknown') as unknown, count(*) filter (where state = 'rejected') as rejected,
              mode() within group (order by last_error) filter (where state = 'rejected') as code
         from (select state, last_error from connector.outbound where created_at >= $1::bigint
                order by created_at desc, id desc limit ${MOST}) o`,
      [now - LATELY_MS],
    );
    const sends = await readSends(database);
    const waiting = `${count(sends.waiting, 'send waits', 'sends wait')} in all, the oldest for ${span(oldestWaitMs(sends, now))}.`;
    const findings: Finding[] = [...judgeLanes(lanes, now, waiting)];
    if (ended !== undefined && ended.unknown > 0) {
      findings.push(
        warning(
          `${count(ended.unknown, 'send')} of 24 h ended as unknown: whether ${ended.unknown === 1 ? 'it went' : 'they went'} out, nobody knows.`,
          {
            advice: [
              'Look at the phone or ask the contact, then POST /v1/outbound/{id}/retry for those that did not arrive. GET /v1/outbound?state=unknown lists them.',
            ],
          },
        ),
      );
    }
    if (ended !== undefined && ended.rejected > 0) {
      findings.push(
        warning(`${count(ended.rejected, 'send')} of 24 h ended as rejected.`, {
          evidence: ended.code === null ? [] : [`The most frequent reason is ${ended.code}.`],
          advice: ['GET /v1/outbound?state=rejected lists them with their reasons.'],
        }),
      );
    }
    if (findings.length > 0) return findings;
    return ok(
      lanes.length === 0
        ? 'Nothing waits to be sent.'
        : `${count(lanes.length, 'connection sends', 'connections send')} right now.`,
    );
  },
};

function judgeLanes(lanes: readonly Lane[], now: number, allWaiting: string): Finding[] {
  const stuck = lanes.filter(({ since }) => now - since > STUCK_MS);
  const waiting = lanes.filter(
    ({ nextAttemptAt, lastError }) => lastError !== null && (nextAttemptAt ?? 0) > now,
  );
  const findings: Finding[] = [];
  if (stuck.length > 0) {
    const longest = Math.max(...stuck.map(({ since }) => now - since));
    findings.push(
      problem(
        `${count(stuck.length, 'lane stands', 'lanes stand')} still, the longest for ${span(longest)}.`,
        {
          evidence: [
            `${some(stuck.map(({ connectionId, lastError }) => `${connectionId} (${lastError ?? 'not tried yet'})`))}.`,
            allWaiting,
          ],
          advice: [
            'If no process sends (see the processes above), start one. If some do, look in their log for this connection.',
          ],
        },
      ),
    );
  }
  if (waiting.length > 0) {
    findings.push(
      warning(
        `${count(waiting.length, 'lane waits', 'lanes wait')} to repeat a send that was refused for now.`,
        {
          evidence: [
            `${some(waiting.map((lane) => `${lane.connectionId}: ${lane.lastError}, again in ${span((lane.nextAttemptAt ?? now) - now)}`))}.`,
          ],
          advice: ['It goes on by itself. warmup_limited passes within hours, on a number that is new.'],
        },
      ),
    );
  }
  return findings;
}
