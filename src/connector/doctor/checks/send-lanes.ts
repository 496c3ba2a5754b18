import { listSendLanes, oldestWaitMs, readFailedSends, readSends } from '../../state/figures.ts';
import type { StoreFacts } from '../facts.ts';
import { type Check, type Finding, ok, problem, warning } from '../finding.ts';
import { count, some, span } from '../wording.ts';

const STUCK_MS = 5 * 60_000;
const LATELY_MS = 24 * 3_600_000;

type Lane = Awaited<ReturnType<typeof listSendLanes>>[number];

/** Sends go out: no lane stands still, and nothing waits for an operator. */
export const sendLanes: Check<StoreFacts> = {
  id: 'sends',
  title: 'queued sends',
  async look({ database, clock }) {
    const now = clock.now();
    const lanes = await listSendLanes(database);
    const ended = await readFailedSends(database, now - LATELY_MS);
    const sends = await readSends(database);
    const waiting = `${count(sends.waiting, 'send waits', 'sends wait')} in all, the oldest for ${span(oldestWaitMs(sends, now))}.`;
    const findings: Finding[] = [...judgeLanes(lanes, now, waiting)];
    if (ended.unknown > 0) {
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
    if (ended.rejected > 0) {
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
