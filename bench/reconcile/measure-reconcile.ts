import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { type ProcessorTimes, startTiming } from '../process/processor-time.ts';
import { countRows, describeMismatches, type RowCheck } from '../report/row-check.ts';
import { ratioOf, spreadOf } from '../report/statistics.ts';
import { measureSizes } from '../report/table-sizes.ts';

/** A service that serves its messages, in a process of its own. */
export type ServiceCommands = {
  /** Makes the messages, listens on a free port and answers where, and with which key. */
  listen(input: ServiceSetup): Promise<ServiceAddress>;
};

export interface ServiceSetup {
  readonly messages: number;
  readonly connections: number;
  /** What each answer waits, for a service that costs nothing itself. */
  readonly delayMs: number;
  /** For a service that keeps its messages in a database; empty for another. */
  readonly databaseUrl: string;
}

export interface ServiceAddress {
  /** `{base_url}`, the `/api/v1` prefix included. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** One that walks all pages of a service, in a process of its own. */
export type WalkerCommands = {
  /** Gets ready; nothing of it is measured. The database is for a walker that stores what it reads. */
  prepare(input: ServiceAddress & { readonly databaseUrl: string }): Promise<void>;
  /** Walks once. */
  walk(input: Record<string, never>): Promise<WalkResult>;
};

export interface WalkResult {
  /** Messages that were read, or that are stored. */
  readonly messages: number;
  /** From the first request to the end: the last page read, or all of it committed. */
  readonly elapsedMs: number;
}

/** A walk, with the processor time that its walker took; undefined where that cannot be read. */
interface MeasuredWalk extends WalkResult {
  readonly used: ProcessorTimes | undefined;
}

interface Service extends ServiceAddress {
  readonly name: string;
  readonly title: string;
  readonly walks: { readonly connector: MeasuredWalk[]; readonly bare: MeasuredWalk[] };
  /** What the last walk stored. */
  bytesPerMessage: Record<string, number>;
}

const CONNECTIONS = 20;
const PLATFORM = new URL('./platform-server.ts', import.meta.url);
const PAGES = new URL('./page-server.ts', import.meta.url);
const CONNECTOR = new URL('./connector.ts', import.meta.url);
const BARE = new URL('./bare-client.ts', import.meta.url);

/** From the one that is most like the real service to the one that is least. */
const SERVICES = [
  { name: 'platform', title: 'the service of this package', module: PLATFORM, delayMs: 0 },
  { name: 'distant', title: 'pages from memory, 20 ms away', module: PAGES, delayMs: 20 },
  { name: 'memory', title: 'pages from memory, at once', module: PAGES, delayMs: 0 },
];

/**
 * Lets a fresh connector and a bare client walk all messages of each service, in turn. Each walk is made by a new
 * process, the connector's on a new database, whose rows are counted afterwards.
 */
export async function measureReconcile(context: BenchContext) {
  const { args, postgres, progress } = context;
  const { messages } = args;
  const children: Child<ServiceCommands>[] = [];
  const services: Service[] = [];
  try {
    for (const { name, title, module, delayMs } of SERVICES) {
      progress(`making ${messages} messages: ${title}`);
      const child = context.start<ServiceCommands>(module);
      children.push(child);
      const databaseUrl = name === 'platform' ? await postgres.createDatabase('reconcile') : '';
      const address = await child.ask('listen', { messages, connections: CONNECTIONS, delayMs, databaseUrl });
      const walks = { connector: [], bare: [] };
      services.push({ name, title, ...address, walks, bytesPerMessage: {} });
    }
    const rows: RowCheck[] = [];
    for (let round = 0; round < args.rounds; round += 1) {
      for (const service of services) {
        const at = `round ${round + 1}, ${service.title}`;
        const bare = await walk(context, BARE, service, '');
        await postgres.checkpoint();
        const databaseUrl = await postgres.createDatabase(`walked_${service.name}_${round}`);
        const connector = await walk(context, CONNECTOR, service, databaseUrl);
        rows.push(
          ...(await countRows(databaseUrl, [
            [`${at}: messages stored`, messages, 'connector.messages'],
            [
              `${at}: changes that announce one`,
              messages,
              `connector.changes WHERE type = 'message.created'`,
            ],
            [
              `${at}: batches of changes without a number`,
              0,
              'connector.change_batches WHERE last_seq IS NULL',
            ],
            [`${at}: gaps left open`, 0, 'connector.gaps'],
          ])),
          { what: `${at}: messages read`, expected: messages, found: bare.messages },
        );
        service.bytesPerMessage = await measureSizes(databaseUrl);
        service.walks.bare.push(bare);
        service.walks.connector.push(connector);
        const seconds = ({ elapsedMs }: WalkResult): string => `${(elapsedMs / 1000).toFixed(1)} s`;
        progress(`${at}: connector ${seconds(connector)}, bare client ${seconds(bare)}`);
      }
    }
    return { report: { messages, ...summarise(services), rows }, broken: describeMismatches(rows) };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function walk(
  context: BenchContext,
  module: URL,
  { baseUrl, apiKey }: Service,
  databaseUrl: string,
): Promise<MeasuredWalk> {
  const walker = context.start<WalkerCommands>(module);
  try {
    await walker.ask('prepare', { baseUrl, apiKey, databaseUrl });
    const timeUsed = await startTiming({ pid: walker.pid, databaseUrl });
    const result = await walker.ask('walk', {});
    return { ...result, used: await timeUsed() };
  } finally {
    await walker.stop();
  }
}

/** One ratio for each service, its messages per second, and its cost. */
function summarise(services: readonly Service[]) {
  const rates = (walks: readonly MeasuredWalk[]) =>
    walks.map(({ messages, elapsedMs }) => (messages / elapsedMs) * 1_000);
  return {
    ratios: services.map(({ title, walks: { connector, bare } }) =>
      ratioOf(`connector / bare client: ${title}`, { atLeast: 0.7 }, rates(connector), rates(bare)),
    ),
    services: services.map(({ title, walks, bytesPerMessage }) => {
      const [connector, bare] = [costOf(walks.connector), costOf(walks.bare)];
      return {
        title,
        connector: spreadOf(rates(walks.connector)),
        bare: spreadOf(rates(walks.bare)),
        bytesPerMessage,
        ...(connector === undefined || bare === undefined ? {} : { cost: { connector, bare } }),
      };
    }),
  };
}

/** Milliseconds of processor time for 100 messages; undefined where processor time cannot be read. */
function costOf(walks: readonly MeasuredWalk[]) {
  const costs = walks.flatMap(({ messages, used }) =>
    used === undefined ? [] : [{ used, hundreds: messages / 100 }],
  );
  if (costs.length < walks.length || costs.length === 0) return undefined;
  return {
    node: spreadOf(costs.map(({ used, hundreds }) => used.node / hundreds)),
    postgres: spreadOf(costs.map(({ used, hundreds }) => used.postgres / hundreds)),
  };
}
