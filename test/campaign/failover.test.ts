import postgres from 'postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Campaign, startCampaign, TOKEN } from '../support/campaign.ts';
import { INSTALLED_POSTGRES_MISSING } from '../support/own-postgres.ts';
import { type Fault, startPostgresPair } from '../support/postgres-pair.ts';
import { printTable } from '../support/print-table.ts';
import { readStoredState } from '../support/read-connector.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const TIMES = WHOLE ? 20 : 1;
const FAULTS: readonly Fault[] = ['kill', 'freeze', 'switchover'];
const PACE = { burst: 6, everyMs: 30 };
/** How long events are stored and read on a primary. */
const STEADY_MS = 600;
/** How long an asynchronous standby lags when its primary goes. */
const LAG_MS = 400;
const LONGEST_RECOVERY_MS = 6_000;
/** How long a change waits for its number at most. A batch that is only found by the look at all waits a minute. */
const NUMBERED_MS = 3_000;

/** A reader as the documents describe it: it keeps `seq` and `feedId`, and reads from the start if it is told to. */
function startReader(url: string) {
  const seen = new Map<string, string>();
  const messages = new Set<string>();
  const reused = new Set<string>();
  const over = new AbortController();
  let after = 0;
  let restarts = 0;
  async function read(following = true): Promise<number> {
    const answer = await fetch(`${url}/v1/changes?after=${after}&limit=1000`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    if (answer.status === 409) {
      restarts += 1;
      after = 0;
      return 1;
    }
    if (answer.status !== 200) throw new Error(`the feed answered ${answer.status}`);
    const page = (await answer.json()) as {
      feedId: string;
      changes: { seq: number; messageId?: string; message?: { id: string } }[];
    };
    for (const change of page.changes) {
      const key = `${page.feedId}-${change.seq}`;
      const content = JSON.stringify(change);
      if (seen.has(key) && seen.get(key) !== content) reused.add(key);
      seen.set(key, content);
      const id = change.messageId ?? change.message?.id;
      if (following && id !== undefined) messages.add(id);
      after = change.seq;
    }
    return page.changes.length;
  }
  const reading = (async () => {
    while (!over.signal.aborted) {
      await read().catch(() => 0);
      await systemClock.sleep(40);
    }
  })();
  return {
    messages,
    reused,
    get restarts() {
      return restarts;
    },
    /** Has read something that the feed did not contain before the call. */
    async hasReadMore() {
      const before = seen.size;
      while (seen.size === before) await systemClock.sleep(10);
    },
    /** Reads to the end of the feed and then all of it once more, which shows each number that has another content. */
    async finish() {
      over.abort();
      await reading;
      while ((await read()) > 0);
      after = 0;
      while ((await read(false)) > 0);
    },
  };
}

interface Outcome {
  readonly fault: Fault;
  readonly recoveryMs: number;
}

interface Result {
  readonly outcomes: readonly Outcome[];
  readonly acknowledged: number;
  readonly lost: readonly string[];
  readonly unseen: readonly string[];
  readonly reused: number;
  readonly restarts: number;
}

async function storedMessages(url: string): Promise<Set<string>> {
  const sql = postgres(url, { max: 1 });
  try {
    const rows = await sql<{ id: string }[]>`select id from connector.messages`;
    return new Set(rows.map(({ id }) => id));
  } finally {
    await sql.end();
  }
}

/** Waits until all changes have their numbers, which takes moments; on a busy machine, a little longer. */
async function untilNumbered(url: string): Promise<void> {
  const begun = systemClock.elapsed();
  while ((await readStoredState(url)).unnumbered > 0 && systemClock.elapsed() - begun < NUMBERED_MS)
    await systemClock.sleep(20);
}

/** The first 200 of an event that was sent after `since`. */
async function firstAnswer(campaign: Campaign): Promise<number> {
  const before = campaign.sender.answered(200);
  const begun = systemClock.elapsed();
  while (campaign.sender.answered(200) === before) {
    if (systemClock.elapsed() - begun > 60_000) throw new Error('no event was stored after the promotion');
    await systemClock.sleep(5);
  }
  return Math.round(systemClock.elapsed() - begun);
}

async function failOver(synchronous: boolean, faults: readonly Fault[]): Promise<Result> {
  const pair = await startPostgresPair(synchronous);
  onTestFinished(() => pair.stop());
  const campaign = await startCampaign({
    processes: 1,
    spares: 0,
    createDatabase: async () => ({ url: pair.url, drop: async () => undefined }),
  });
  const reader = startReader(campaign.url);
  const outcomes: Outcome[] = [];
  for (const [round, fault] of faults.entries()) {
    await campaign.underLoad(round + 1, PACE, async () => {
      await systemClock.sleep(STEADY_MS);
      if (!synchronous && fault !== 'switchover') {
        await pair.cutReplication();
        await systemClock.sleep(LAG_MS);
        await reader.hasReadMore();
      }
      await pair.failOver(fault);
      outcomes.push({ fault, recoveryMs: await firstAnswer(campaign) });
      await systemClock.sleep(STEADY_MS);
    });
    if (round < faults.length - 1) await pair.rebuild();
  }
  await untilNumbered(pair.primaryUrl);
  await reader.finish();
  const stored = await storedMessages(pair.primaryUrl);
  const acknowledged = campaign.sender.sent.filter((copy) => copy.acknowledged);
  const ids = [...new Set(acknowledged.map(({ event }) => event.messageId))];
  return {
    outcomes,
    acknowledged: ids.length,
    lost: ids.filter((id) => !stored.has(id)),
    unseen: [...stored].filter((id) => !reader.messages.has(id)),
    reused: reader.reused.size,
    restarts: reader.restarts,
  };
}

function report(standby: string, { outcomes, acknowledged, lost, unseen, reused }: Result): void {
  const times = FAULTS.map((fault) => {
    const ms = outcomes.filter((outcome) => outcome.fault === fault).map(({ recoveryMs }) => recoveryMs);
    return [`${fault}: ms to the first 200`, ms.sort((one, other) => one - other).join(' ')] as const;
  });
  printTable([
    {
      standby,
      failovers: outcomes.length,
      acknowledged,
      lost: lost.length,
      'not seen': unseen.length,
      'keys used twice': reused,
      ...Object.fromEntries(times),
    },
  ]);
}

describe.skipIf(INSTALLED_POSTGRES_MISSING !== undefined)('failover of Postgres', () => {
  const rounds = Array.from({ length: TIMES }, () => FAULTS).flat();

  test('with a synchronous standby, nothing that was acknowledged is lost', async () => {
    const result = await failOver(true, rounds);
    report('synchronous', result);
    expect(result).toMatchObject({ lost: [], unseen: [], reused: 0, restarts: 0 });
    for (const { recoveryMs } of result.outcomes) expect(recoveryMs).toBeLessThan(LONGEST_RECOVERY_MS);
  });

  test('with an asynchronous standby, what is stored is seen, and no key is used twice', async () => {
    const result = await failOver(false, rounds);
    report('asynchronous', result);
    expect(result.lost.length).toBeGreaterThan(0);
    expect(result).toMatchObject({ unseen: [], reused: 0, restarts: 0 });
    for (const { recoveryMs } of result.outcomes) expect(recoveryMs).toBeLessThan(LONGEST_RECOVERY_MS);
  });
});
