import postgres from 'postgres';
import type { BenchContext } from '../context.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { type Service, type ServiceName, startServices } from './services.ts';
import type { WalkerCommands, WalkResult } from './walk-commands.ts';

/** All walks over one service, round by round. */
export interface ServiceWalks {
  readonly name: ServiceName;
  readonly title: string;
  readonly connector: readonly WalkResult[];
  readonly bare: readonly WalkResult[];
}

export interface ReconcileResult {
  readonly messages: number;
  readonly services: readonly ServiceWalks[];
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

interface Walking extends ServiceWalks {
  readonly connector: WalkResult[];
  readonly bare: WalkResult[];
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
  { baseUrl, apiKey }: Service,
  databaseUrl: string,
): Promise<WalkResult> {
  const walker = context.start<WalkerCommands>(module);
  try {
    await walker.ask('prepare', { baseUrl, apiKey, databaseUrl });
    return await walker.ask('walk', {});
  } finally {
    await walker.stop();
  }
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
  const seconds = (results: readonly WalkResult[]): string =>
    ((results.at(-1)?.elapsedMs ?? 0) / 1000).toFixed(1);
  return `${title}: connector ${seconds(connector)} s, bare client ${seconds(bare)} s`;
}
