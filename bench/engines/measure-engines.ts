import postgres from 'postgres';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { Binaries } from '../../src/runtime/database/embedded/locate-binaries.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { INSTALLED_POSTGRES, INSTALLED_POSTGRES_MISSING } from '../../test/support/own-postgres.ts';
import type { BenchContext } from '../context.ts';
import { type Contender, startContender } from '../ingest/contenders.ts';
import type { LoadCommands, LoadResult } from '../ingest/generate-load.ts';
import { type BenchPostgres, openBenchPostgres } from '../postgres/bench-postgres.ts';
import type { Child } from '../process/child.ts';
import { readProcessorTimes } from '../process/processor-time.ts';

/** A stretch of webhooks on one engine. */
export interface EngineRound {
  readonly eventsPerSecond: number;
  /** Processor time of Postgres, its writers too, for an event. */
  readonly microseconds: number;
}

export interface EngineResult {
  readonly title: string;
  readonly version: string;
  readonly rounds: readonly EngineRound[];
}

export interface EnginesResult {
  /** From npm, then the distribution's. Empty when there is nothing to compare. */
  readonly engines: readonly EngineResult[];
  /** Statements that the distribution's compiled. */
  readonly compiled: number;
  readonly notMeasured?: string;
  readonly broken: readonly string[];
}

interface Engine {
  readonly title: string;
  readonly server: BenchPostgres;
  readonly contender: Contender;
  readonly rounds: EngineRound[];
  run: number;
}

const ON_NPM = 'from npm';
const INSTALLED = "the distribution's";
/** Requests built for a stretch: more than two cores can take. */
const EVENTS_PER_SECOND = 25_000;
/** Counts what is compiled. Its own cost falls on the distribution's side. */
const SETTINGS = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' };

/** Sends the same webhooks to a connector on each engine in turn, both with their default settings. */
export async function measureEngines(context: BenchContext): Promise<EnginesResult> {
  const { args, progress } = context;
  if (INSTALLED_POSTGRES === undefined)
    return { engines: [], compiled: 0, broken: [], notMeasured: INSTALLED_POSTGRES_MISSING ?? '' };
  const generator = context.start<LoadCommands>(new URL('../ingest/generate-load.ts', import.meta.url));
  const engines: Engine[] = [];
  const broken: string[] = [];
  try {
    engines.push(await startEngine(context, ON_NPM, 'npm'));
    engines.push(await startEngine(context, INSTALLED, INSTALLED_POSTGRES));
    for (let round = 0; round < args.rounds; round++) {
      for (const engine of engines) {
        await engine.server.checkpoint();
        // The first finds out what a later one knows: plans, and the size of the tables.
        await offer(engine, generator, Math.min(args.seconds, Math.max(1, args.seconds / 2)));
        const { measured, load } = await offer(engine, generator, args.seconds);
        engine.rounds.push(measured);
        const cost = `${measured.microseconds.toFixed(0)} µs of Postgres for an event`;
        progress(`round ${round + 1} of ${args.rounds}, Postgres ${engine.title}: ${cost}`);
        for (const [answer, times] of Object.entries(load.refused))
          broken.push(`Postgres ${engine.title}: ${times} events answered with ${answer}`);
      }
    }
    const compiled = await countCompiled(engines[1]?.contender.databaseUrl ?? '');
    if (compiled > 0) broken.push(`Postgres compiled ${compiled} statements`);
    return {
      engines: engines.map(({ title, server, rounds }) => ({
        title,
        version: server.settings.version,
        rounds,
      })),
      compiled,
      broken,
    };
  } finally {
    await generator.stop();
    for (const { contender, server } of engines) {
      await contender.server.stop();
      await server.close();
    }
  }
}

async function startEngine(
  context: BenchContext,
  title: string,
  programs: 'npm' | Binaries,
): Promise<Engine> {
  const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });
  const settings = programs === 'npm' ? {} : SETTINGS;
  const server = await openBenchPostgres({ clock: systemClock, logger, programs, settings });
  try {
    const contender = await startContender('connector', { ...context, postgres: server });
    return { title, server, contender, rounds: [], run: 0 };
  } catch (error) {
    await server.close();
    throw error;
  }
}

async function offer(
  engine: Engine,
  generator: Child<LoadCommands>,
  seconds: number,
): Promise<{ measured: EngineRound; load: LoadResult }> {
  const { dialect, port, path, secret, databaseUrl, server } = engine.contender;
  const of = { pid: server.pid, databaseUrl, writers: true };
  const before = await readProcessorTimes(of);
  const load = await generator.ask('load', {
    dialect,
    port,
    path,
    secret,
    run: engine.run++,
    forMs: seconds * 1_000,
    atMost: Math.ceil(seconds * EVENTS_PER_SECOND),
  });
  await server.ask('settle', {});
  const after = await readProcessorTimes(of);
  const spentMs = before === undefined || after === undefined ? Number.NaN : after.postgres - before.postgres;
  return {
    measured: {
      eventsPerSecond: load.eventsPerSecond,
      microseconds: (spentMs * 1_000) / load.acknowledged,
    },
    load,
  };
}

/** Statements of this database that were compiled at least once. */
async function countCompiled(databaseUrl: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    await sql`create extension pg_stat_statements`;
    const [row] = await sql<{ compiled: number }[]>`
      select count(*)::int4 as compiled from pg_stat_statements where jit_functions > 0`;
    return row?.compiled ?? 0;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
