import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { DEPENDENCY_OUTAGES, type OutageKind } from '../support/dependency-outages.ts';
import { printTable } from '../support/print-table.ts';
import { REDIS_MISSING } from '../support/redis.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const BEFORE_MS = 1_000;
/** Longer than an answer may take, so that an answer that waits for the end of the outage is noticed. */
const OUTAGE_MS = WHOLE ? 30_000 : 8_000;
const AFTER_MS = 5_000;
const PACE = { burst: 2, everyMs: 100 };
/** The promised time of each answer, and what a busy machine may add. */
const PROMISED_MS = 5_000;
const SCHEDULING_MS = 1_500;
/** The specification's deadline for one attempt. */
const SENDER_DEADLINE_MS = 10_000;
const RECOVERY_MS = 10_000;

interface Outcome {
  readonly outage: string;
  readonly sent: number;
  readonly acknowledged: number;
  readonly refused: number;
  /** Answers other than 200 and 503. */
  readonly other: number;
  readonly slowestMs: number;
  readonly over5s: number;
  readonly over10s: number;
  readonly unanswered: number;
  /** From the end of the outage to the last answer other than 200, or to the first 200. */
  readonly recoveredMs: number;
  readonly violations: number;
  /** The status of `/readyz` at the end of the outage: without 200, a proxy sends no delivery. */
  readonly readiness: number;
}

const kinds = DEPENDENCY_OUTAGES.filter(
  ({ name }) => REDIS_MISSING === undefined || !name.startsWith('Redis'),
);
test('every delivery is answered within 5 s while a dependency is down, and every acknowledged event has its effect', async () => {
  const delays = monitorEventLoopDelay();
  delays.enable();
  const outcomes: Outcome[] = [];
  const atOnce = WHOLE ? 1 : 2;
  for (let at = 0; at < kinds.length; at += atOnce)
    outcomes.push(...(await Promise.all(kinds.slice(at, at + atOnce).map(strike))));
  printTable(outcomes);
  // A delay of this process delayed the answers, as did one of the connector's, which is as busy.
  const slackMs = SCHEDULING_MS + (2 * delays.max) / 1e6;
  for (const outcome of outcomes) {
    const { harmless = false } = kinds.find(({ name }) => name === outcome.outage) ?? {};
    expect.soft(outcome).toMatchObject({ other: 0, over10s: 0, unanswered: 0, violations: 0 });
    expect.soft(outcome.slowestMs, outcome.outage).toBeLessThan(PROMISED_MS + slackMs);
    expect.soft(outcome.recoveredMs, outcome.outage).toBeLessThan(RECOVERY_MS);
    if (harmless)
      expect.soft(outcome).toMatchObject({ acknowledged: outcome.sent, refused: 0, readiness: 200 });
    else expect.soft(outcome.refused, outcome.outage).toBeGreaterThan(0);
  }
});

async function strike({ name, start }: OutageKind): Promise<Outcome> {
  const { campaign, begin, end } = await start();
  let endedAt = 0;
  let readiness = 0;
  await campaign.underLoad(OUTAGE_MS, PACE, async () => {
    await systemClock.sleep(BEFORE_MS);
    await begin();
    try {
      await systemClock.sleep(OUTAGE_MS);
      readiness = (await fetch(`${campaign.url}/readyz`)).status;
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
    outage: name,
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
    readiness,
  };
}
