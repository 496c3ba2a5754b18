import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import type { BenchReport } from '../../bench/measures.ts';
import { REDIS_MISSING } from '../support/redis.ts';

const RUN = new URL('../../bench/run.ts', import.meta.url).pathname;
const GENEROUS_MS = 600_000;

const run = promisify(execFile);

/** Runs the command as a user does, on the Postgres of the test run. Rejects unless it exits with 0. */
async function bench(...args: string[]): Promise<string> {
  const env = { ...process.env, TEST_DATABASE_URL: inject('databaseUrl') };
  const { stdout } = await run(process.execPath, [RUN, ...args], { env, timeout: GENEROUS_MS });
  return stdout;
}

async function benchReport(...args: string[]): Promise<BenchReport> {
  return JSON.parse(await bench(...args, '--json'));
}

const spread = { median: expect.any(Number), min: expect.any(Number), max: expect.any(Number) };

describe('ingest', () => {
  it('stores every event that a receiver acknowledges', async () => {
    const report = await benchReport('ingest', '--seconds', '0.1', '--rounds', '1');

    expect(report.broken).toEqual([]);
    expect(report.paces).toEqual({ ingest: { seconds: 0.1, rounds: 1 } });
    const names = ['connector', 'options', 'verify', 'insert'];
    expect(report.ingest?.contenders.map(({ name }) => name)).toEqual(names);
    for (const contender of report.ingest?.contenders ?? []) {
      expect(contender).toMatchObject({ eventsPerSecond: spread, p50Ms: spread, p99Ms: spread, broken: [] });
      expect(contender.acknowledged).toBeGreaterThan(0);
      for (const { expected, found } of contender.rows) expect(found).toBe(expected);
    }
    const [connector, options, verify, insert] = report.ingest?.contenders ?? [];
    expect(connector?.rows.map(({ what }) => what)).toEqual([
      'raw events',
      'messages',
      'messages delivered',
      'messages read',
      'changes that announce a message',
      'changes without a number',
    ]);
    expect(connector?.rows[0]).toMatchObject({ expected: connector?.acknowledged });
    expect(options?.rows[0]).toMatchObject({ expected: options?.acknowledged });
    expect(verify?.rows).toEqual([]);
    expect(insert?.rows).toEqual([
      { what: 'events', expected: insert?.acknowledged, found: insert?.acknowledged },
    ]);
    expect(report.ingest?.ratios).toEqual([
      expect.objectContaining({ ...spread, target: { atLeast: 0.5 }, reached: expect.any(Boolean) }),
      expect.objectContaining({ ...spread, target: { atLeast: 0.7 }, reached: expect.any(Boolean) }),
      expect.objectContaining({ ...spread, target: { below: 1 }, reached: expect.any(Boolean) }),
    ]);
  });
});

describe('delivery', () => {
  it('delivers and logs every event exactly once', async () => {
    const report = await benchReport('delivery', '--seconds', '0.1', '--rounds', '1');

    expect(report.broken).toEqual([]);
    const [platform, bare] = report.delivery?.contenders ?? [];
    expect(platform).toMatchObject({ name: 'platform', eventsPerSecond: spread, broken: [] });
    expect(bare).toMatchObject({ name: 'bare', eventsPerSecond: spread, broken: [] });
    expect(platform?.rows.map(({ what }) => what)).toEqual([
      'events delivered',
      'requests at the receiver',
      'events in the ledger',
      'deliveries written down',
    ]);
    for (const { expected, found } of platform?.rows ?? []) {
      expect(expected).toBeGreaterThan(0);
      expect(found).toBe(expected);
    }
    expect(report.delivery?.ratios).toEqual([
      expect.objectContaining({ ...spread, target: { atLeast: 0.35 }, reached: expect.any(Boolean) }),
    ]);
  });
});

describe('sends', () => {
  it('are all made by the other process, with each kind of notification and with none', async () => {
    const { broken, sends } = await benchReport('sends', '--seconds', '0.2', '--rounds', '1');

    expect(broken).toEqual([]);
    const kinds = REDIS_MISSING === undefined ? ['Postgres', 'Redis', 'nothing'] : ['Postgres', 'nothing'];
    expect(sends?.contenders).toMatchObject(
      kinds.map((title) => ({ title, p50Ms: spread, p99Ms: spread, longestMs: spread })),
    );
    expect(sends?.rows).toMatchObject(kinds.map(() => ({ expected: 30, found: 30 })));
    expect(sends?.ratios.map(({ what }) => what)).toEqual(
      kinds.flatMap((title) =>
        title === 'nothing'
          ? ['notified by nothing: p99 / 1000 ms']
          : [`notified by ${title}: p99 / 100 ms`, `notified by ${title}: p50 / bare`],
      ),
    );
  });
});

describe('reconcile', () => {
  it('stores every message of every service exactly once', async () => {
    const { broken, paces, reconcile } = await benchReport('reconcile', '--messages', '450', '--rounds', '1');

    expect(broken).toEqual([]);
    expect(paces).toEqual({ reconcile: { seconds: 0, rounds: 1 } });
    expect(reconcile?.ratios).toHaveLength(3);
    expect(reconcile?.ratios).toMatchObject(Array(3).fill({ target: { atLeast: 0.7 } }));
    // Five counts for each of three services.
    expect(reconcile?.rows).toHaveLength(15);
    expect(reconcile?.rows.filter(({ expected }) => expected === 450)).toHaveLength(9);
    for (const { expected, found } of reconcile?.rows ?? []) expect(found).toBe(expected);
  });
});

describe('console', () => {
  it('shows every delivery and keeps a bounded number of them in the page', async () => {
    const { broken, console: page } = await benchReport(
      ...['console', '--deliveries', '40', '--events', '400', '--rounds', '1'],
    );

    expect(broken).toEqual([]);
    expect(page?.rowsHeld).toBeGreaterThanOrEqual(40);
    expect(page?.events).toBeGreaterThanOrEqual(400);
    expect(page?.heapMb).toEqual([
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(page?.firstPaintMs.bare.min).toBeGreaterThan(0);
    expect(page?.ratios).toMatchObject([
      { what: 'first paint / 1000 ms', target: { below: 1 } },
      { what: 'longest task / 50 ms', target: { below: 1 } },
      { what: 'memory at the end / after a quarter', target: { below: 1.25 } },
    ]);
  });
});

describe('npm run bench', () => {
  it('prints its usage', async () => {
    expect(await bench('--help')).toContain('Usage: npm run bench');
  });

  it('rejects an unknown benchmark', async () => {
    await expect(bench('sending')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no benchmark sending'),
    });
  });

  it('rejects a number of seconds that is not a number', async () => {
    await expect(bench('--seconds', 'five')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--seconds takes a number'),
    });
  });
});
