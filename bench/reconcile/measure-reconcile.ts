import postgres from 'postgres';
import type { BenchContext } from '../context.ts';
import { type ProcessorTimes, readProcessorTimes, type TimedProcesses } from '../process/processor-time.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { type Service, type ServiceName, startServices } from './services.ts';
import type { WalkerCommands, WalkResult } from './walk-commands.ts';

/** A walk, with the processor time that it took; undefined where that cannot be read. */
export interface MeasuredWalk extends WalkResult {
  readonly walker: ProcessorTimes | undefined;
  readonly service: ProcessorTimes | undefined;
}

/** All walks over one service, round by round. */
export interface ServiceWalks {
  readonly name: ServiceName;
  readonly title: string;
  readonly connector: readonly MeasuredWalk[];
  readonly bare: readonly MeasuredWalk[];
}

export interface ReconcileResult {
  readonly messages: number;
  readonly services: readonly ServiceWalks[];
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

interface Walking extends ServiceWalks {
  readonly connector: MeasuredWalk[];
  readonly bare: MeasuredWalk[];
}

const CONNECTOR = new URL('./connector.ts', import.meta.url);
const BARE = new URL('./bare-client.ts', import.meta.url);

/**
 * Lets a fresh connector and a bare client walk all messages of each service, in turn. Each walk is made by a new
 * process, the connector's on a new database, whose rows are counted afterwards.
 */
export async function measureReconcile(context: BenchContext): Promise<ReconcileResult> {
  const { args, postgres: server, progress } = context;
  const services = await startServices(context);
  try {
    const walks: Walking[] = services.map(({ name, title }) => ({ name, title, connector: [], bare: [] }));
    const rows: RowCheck[] = [];
    for (let round = 0; round < args.rounds; round += 1) {
      for (const [index, service] of services.entries()) {
        const of = walks[index];
        if (of === undefined) continue;
        of.bare.push(await walk(context, BARE, service, ''));
        await server.checkpoint();
        const databaseUrl = await server.createDatabase(`walked_${service.name}_${round}`);
        of.connector.push(await walk(context, CONNECTOR, service, databaseUrl));
        const at = `round ${round + 1}, ${service.title}`;
        rows.push(...(await countRows(databaseUrl, at, args.messages)));
        rows.push({
          what: `${at}: messages read`,
          expected: args.messages,
          found: of.bare.at(-1)?.messages ?? 0,
        });
        progress(`round ${round + 1} of ${args.rounds}, ${describeRound(of)}`);
      }
    }
    return { messages: args.messages, services: walks, rows, broken: describeMismatches(rows) };
  } finally {
    await Promise.all(services.map(({ child }) => child.stop()));
  }
}

async function walk(
  context: BenchContext,
  module: URL,
  service: Service,
  databaseUrl: string,
): Promise<MeasuredWalk> {
  const walker = context.start<WalkerCommands>(module);
  const { baseUrl, apiKey } = service;
  try {
    await walker.ask('prepare', { baseUrl, apiKey, databaseUrl });
    const ownTime = await startTiming({ pid: walker.pid, databaseUrl, writers: true });
    const serviceTime = await startTiming({
      pid: service.child.pid,
      databaseUrl: service.databaseUrl,
      writers: false,
    });
    const result = await walker.ask('walk', {});
    return { ...result, walker: await ownTime(), service: await serviceTime() };
  } finally {
    await walker.stop();
  }
}

/** Resolves with a function that tells what was used since. */
async function startTiming(of: TimedProcesses): Promise<() => Promise<ProcessorTimes | undefined>> {
  const before = await readProcessorTimes(of);
  return async () => {
    const after = await readProcessorTimes(of);
    if (before === undefined || after === undefined) return undefined;
    return { node: after.node - before.node, postgres: after.postgres - before.postgres };
  };
}

async function countRows(databaseUrl: string, at: string, messages: number): Promise<RowCheck[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  const queries: [what: string, expected: number, text: string][] = [
    ['messages stored', messages, 'connector.messages'],
    ['changes that announce one', messages, `connector.changes WHERE type = 'message.created'`],
    ['batches of changes without a number', 0, 'connector.change_batches WHERE last_seq IS NULL'],
    ['gaps left open', 0, 'connector.gaps'],
  ];
  try {
    const checks: RowCheck[] = [];
    for (const [what, expected, text] of queries) {
      const [row] = await sql.unsafe<{ count: number }[]>(`SELECT count(*)::int AS count FROM ${text}`);
      checks.push({ what: `${at}: ${what}`, expected, found: row?.count ?? -1 });
    }
    return checks;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function describeRound({ title, connector, bare }: Walking): string {
  const seconds = (results: readonly MeasuredWalk[]): string =>
    ((results.at(-1)?.elapsedMs ?? 0) / 1000).toFixed(1);
  return `${title}: connector ${seconds(connector)} s, bare client ${seconds(bare)} s`;
}
