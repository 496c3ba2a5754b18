import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { printTable } from '../support/print-table.ts';
import { REDIS_MISSING } from '../support/redis.ts';
import { SILENCES, type SilenceKind } from '../support/silences.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const BEFORE_MS = 1_000;
/** Longer than an answer may take, so that an answer that waits for the end is seen. */
const SILENT_MS = WHOLE ? 30_000 : 8_000;
const AFTER_MS = 5_000;
const PACE = { burst: 2, everyMs: 100 };
/** What the connector promises of each answer, and what a busy machine may add. */
const PROMISED_MS = 5_000;
const SCHEDULING_MS = 1_500;
/** Of one attempt, by the specification. */
const SENDER_DEADLINE_MS = 10_000;
const RECOVERY_MS = 10_000;

interface Outcome {
  readonly silence: string;
  readonly sent: number;
  readonly acknowledged: number;
  readonly refused: number;
  /** Answers other than 200 and 503. */
  readonly other: number;
  readonly slowestMs: number;
  readonly over5s: number;
  readonly over10s: number;
  readonly unanswered: number;
  /** From the end of the silence to the last answer that was not 200, or the first that was. */
  readonly recoveredMs: number;
  readonly violations: number;
}

const missing = REDIS_MISSING;
const kinds = SILENCES.filter(
  ({ name, long }) => (WHOLE || long !== true) && (missing === undefined || !name.startsWith('Redis')),
);
test('every delivery is answered within 5 s, whatever is silent, and what is acknowledged has its effect', async () => {
  const delays = monitorEventLoopDelay();
  delays.enable();
  const outcomes: Outcome[] = [];
  if (WHOLE) for (const kind of kinds) outcomes.push(await strike(kind));
  else outcomes.push(...(await Promise.all(kinds.map(strike))));
  printTable(outcomes);
  // What held this process up held up its answers, too.
  const slackMs = SCHEDULING_MS + delays.max / 1e6;
  for (const outcome of outcomes) {
    const { harmless = false } = kinds.find(({ name }) => name === outcome.silence) ?? {};
    expect.soft(outcome).toMatchObject({ other: 0, over10s: 0, unanswered: 0, violations: 0 });
    expect.soft(outcome.slowestMs, outcome.silence).toBeLessThan(PROMISED_MS + slackMs);
    expect.soft(outcome.recoveredMs, outcome.silence).toBeLessThan(RECOVERY_MS);
    if (harmless) expect.soft(outcome).toMatchObject({ acknowledged: outcome.sent, refused: 0 });
    else expect.soft(outcome.refused, outcome.silence).toBeGreaterThan(0);
  }
});

async function strike({ name, start }: SilenceKind): Promise<Outcome> {
  const { campaign, begin, end } = await start();
  let endedAt = 0;
  await campaign.underLoad(SILENT_MS, PACE, async () => {
    await systemClock.sleep(BEFORE_MS);
    await begin();
    try {
      await systemClock.sleep(SILENT_MS);
    } finally {
      await end();
      endedAt = systemClock.elapsed();
    }
    await systemClock.sleep(AFTER_MS);
  });
  const attempts = campaign.sender.sent.flatMap((event) => event.attempts);
  const endOf = (attempt: { begun: number; ms: number }): number => attempt.begun + attempt.ms - endedAt;
  const later = attempts.filter((attempt) => endOf(attempt) > 0);
  const firstTaken = Math.min(...later.filter(({ status }) => status === 200).map(endOf));
  const lastOther = Math.max(0, ...later.filter(({ status }) => status !== 200).map(endOf));
  const { sent, acknowledged, answers, slowestMs, broken } = campaign.summarize();
  await campaign.catchUp();
  const violations = await campaign.findViolations();
  return {
    silence: name,
    sent,
    acknowledged,
    refused: answers.get(503) ?? 0,
    other: [...answers].reduce((sum, [status, n]) => (status === 200 || status === 503 ? sum : sum + n), 0),
    slowestMs,
    over5s: attempts.filter(({ ms }) => ms > PROMISED_MS).length,
    over10s: attempts.filter(({ ms }) => ms >= SENDER_DEADLINE_MS).length,
    unanswered: broken,
    recoveredMs: Math.round(Math.max(firstTaken, lastOther)),
    violations: violations.length,
  };
}
