import { coversWorkspace, pageQuery, readPage } from '../../src/platform/messages/read-page.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { Pace } from '../arguments.ts';
import type { BenchContext } from '../context.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { spreadOf } from '../report/statistics.ts';
import { type FilledDatabase, fillMessages } from './fill-messages.ts';
import { listCases, type PageCase, readPlainly } from './page-cases.ts';

/** What one page cost in one database. */
export interface PageCost {
  /** Database pages that the statement touched, in memory or not. */
  readonly buffers: number;
  /** Of each round: the median of its reads, in milliseconds. */
  readonly ms: readonly number[];
}

export interface PageResult {
  readonly name: string;
  readonly small: PageCost;
  readonly large: PageCost;
}

export interface PagesResult {
  readonly rows: { readonly small: number; readonly large: number };
  readonly pages: readonly PageResult[];
  readonly broken: readonly string[];
}

const SMALL_ROWS = 10_000;
/** Reads before anything counts: the statement is prepared, its pages are in memory. */
const WARM_UP_READS = 20;
const READS_PER_SECOND = 20;

/** Fills a small and a large database, and reads the same pages of both in turn. */
export async function measurePages(context: BenchContext): Promise<PagesResult> {
  const { args, postgres, progress } = context;
  const opened: FilledDatabase[] = [];
  try {
    for (const rows of [SMALL_ROWS, args.rows]) {
      progress(`making ${rows} messages`);
      opened.push(await fillMessages(await postgres.createDatabase(`pages_${rows}`), rows));
    }
    const [small, large] = opened;
    if (small === undefined || large === undefined) throw new Error('two databases are compared');
    await postgres.checkpoint();
    const [casesOfSmall, casesOfLarge] = [await listCases(small), await listCases(large)];
    const pages: PageResult[] = [];
    const broken: string[] = [];
    for (const [index, one] of casesOfSmall.entries()) {
      const other = casesOfLarge[index];
      if (other === undefined) throw new Error(`no page to compare with ${one.name}`);
      progress(one.name);
      broken.push(...(await check(small, one)), ...(await check(large, other)));
      pages.push(await compare({ at: small, page: one }, { at: large, page: other }, args));
    }
    return { rows: { small: small.rows, large: large.rows }, pages, broken };
  } finally {
    for (const one of opened) await one.close();
  }
}

interface Side {
  readonly at: FilledDatabase;
  readonly page: PageCase;
}

async function compare(small: Side, large: Side, { rounds, seconds }: Pace): Promise<PageResult> {
  const reads = Math.ceil(seconds * READS_PER_SECOND);
  const times = { small: [] as number[], large: [] as number[] };
  await readInTurn(small, large, WARM_UP_READS);
  for (let round = 0; round < rounds; round += 1) {
    const medians = await readInTurn(small, large, reads);
    times.small.push(medians.small);
    times.large.push(medians.large);
  }
  return {
    name: small.page.name,
    small: { buffers: await countBuffers(small), ms: times.small },
    large: { buffers: await countBuffers(large), ms: times.large },
  };
}

/** Reads both pages as the service does, one after the other, again and again; the median of each in ms. */
async function readInTurn(
  small: Side,
  large: Side,
  reads: number,
): Promise<{ small: number; large: number }> {
  const times = { small: [] as number[], large: [] as number[] };
  for (let read = 0; read < reads; read += 1) {
    times.small.push(await timeRead(small));
    times.large.push(await timeRead(large));
  }
  return { small: spreadOf(times.small).median, large: spreadOf(times.large).median };
}

async function timeRead({ at, page }: Side): Promise<number> {
  const began = systemClock.elapsed();
  await readPage(at.database, page.range);
  return systemClock.elapsed() - began;
}

interface ExplainedPlan {
  readonly Plan: Readonly<Record<string, unknown>>;
}

/** Runs the very statement of the service under EXPLAIN and adds up what it touched. */
async function countBuffers({ at, page }: Side): Promise<number> {
  const whole = page.range.connectionIds.length > 1 && (await coversWorkspace(at.database, page.range));
  const { sql, params } = pageQuery(at.database, page.range, whole).toSQL();
  const [row] = await at.database.query<{ 'QUERY PLAN': unknown }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
    params,
  );
  const told = row?.['QUERY PLAN'];
  const plans: readonly ExplainedPlan[] = typeof told === 'string' ? JSON.parse(told) : told;
  const plan = plans[0]?.Plan ?? {};
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
}

/** Whether the page holds what it must, in the order it must. */
async function check({ database, rows }: FilledDatabase, page: PageCase): Promise<string[]> {
  const found = (await readPage(database, page.range)).map(({ id }) => id);
  const plain = await readPlainly(database, page.range);
  const checks: RowCheck[] = [
    { what: `${page.name} of ${rows}: rows`, expected: page.expected, found: found.length },
    {
      what: `${page.name} of ${rows}: rows in their place`,
      expected: plain.length,
      found: plain.filter((id, place) => id === found[place]).length,
    },
  ];
  return describeMismatches(checks);
}
