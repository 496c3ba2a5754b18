import { readLateSends, readWaitingSends } from '../../outbox/due-queues.ts';
import { listSendQueues, oldestWaitMs, readFailedSends } from '../../state/figures.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, type Finding, ok, problem, warning } from '../finding.ts';
import { count, some, span } from '../wording.ts';

const STUCK_MS = 5 * 60_000;
const LATE_MS = 60_000;
const LATELY_MS = 24 * 3_600_000;

type Queue = Awaited<ReturnType<typeof listSendQueues>>[number];

/** Sends go out: no queue is stuck, and no send waits for an operator. */
export const sendsCheck: Check<StoreCheckInput> = {
  id: 'sends',
  title: 'queued sends',
  async run({ database, clock }) {
    const now = clock.now();
    const queues = await listSendQueues(database);
    const ended = await readFailedSends(database, now - LATELY_MS);
    const sends = await readWaitingSends(database, null);
    const waiting = `${count(sends.waiting, 'send waits', 'sends wait')} in total, the oldest for ${span(oldestWaitMs(sends, now))}.`;
    const late = await readLateSends(database, null, now);
    const findings: Finding[] = [...judgeQueues(queues, now, waiting), ...judgeLate(late, now)];
    if (ended.unknown > 0) {
      findings.push(
        warning(
          `${count(ended.unknown, 'send')} of the last 24 h ended as unknown: whether ${ended.unknown === 1 ? 'it was' : 'they were'} sent is not known.`,
          {
            advice: [
              'Check the phone or ask the contact, then call POST /v1/outbound/{id}/retry for those that did not arrive. GET /v1/outbound?state=unknown lists them.',
            ],
          },
        ),
      );
    }
    if (ended.rejected > 0) {
      findings.push(
        warning(`${count(ended.rejected, 'send')} of the last 24 h ended as rejected.`, {
          evidence: ended.code === null ? [] : [`The most frequent reason is ${ended.code}.`],
          advice: ['GET /v1/outbound?state=rejected lists them with their reasons.'],
        }),
      );
    }
    if (findings.length > 0) return findings;
    return ok(
      queues.length === 0
        ? 'No send is waiting.'
        : `${count(queues.length, 'connection is', 'connections are')} sending.`,
    );
  },
};

/** Queues that have stalled are reported as such. */
function judgeLate(late: Awaited<ReturnType<typeof readLateSends>>, now: number): Finding[] {
  const lateMs = oldestWaitMs(late, now);
  if (lateMs <= LATE_MS || lateMs > STUCK_MS) return [];
  return [
    warning(
      `${count(late.waiting, 'send is', 'sends are')} due and not begun, the latest for ${span(lateMs)}.`,
      {
        advice: [
          'The processes are at their limit, files wait for memory, or no process sends. Start another one with CONNECTOR_ROLE worker. The metric connector_sends_oldest_due_seconds shows how late sends begin.',
        ],
      },
    ),
  ];
}

function judgeQueues(queues: readonly Queue[], now: number, allWaiting: string): Finding[] {
  const stuck = queues.filter(({ since }) => now - since > STUCK_MS);
  const waiting = queues.filter(
    ({ nextAttemptAt, lastError }) => lastError !== null && (nextAttemptAt ?? 0) > now,
  );
  const findings: Finding[] = [];
  if (stuck.length > 0) {
    const longest = Math.max(...stuck.map(({ since }) => now - since));
    findings.push(
      problem(
        `${count(stuck.length, 'queue has', 'queues have')} stalled, the longest for ${span(longest)}.`,
        {
          evidence: [
            `${some(stuck.map(({ connectionId, lastError }) => `${connectionId} (${lastError ?? 'not tried yet'})`))}.`,
            allWaiting,
          ],
          advice: [
            'If no process sends (see the check processes), start one. Otherwise look for these connections in the logs of the processes.',
          ],
        },
      ),
    );
  }
  if (waiting.length > 0) {
    findings.push(
      warning(
        `${count(waiting.length, 'queue waits', 'queues wait')} to retry a send that was refused temporarily.`,
        {
          evidence: [
            `${some(waiting.map((queue) => `${queue.connectionId}: ${queue.lastError}, next attempt in ${span((queue.nextAttemptAt ?? now) - now)}`))}.`,
          ],
          advice: [
            'The queue continues by itself. warmup_limited applies to new numbers and ends within hours.',
          ],
        },
      ),
    );
  }
  return findings;
}
