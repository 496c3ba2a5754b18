import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import type { ServiceAddress, ServiceCommands } from './walk-commands.ts';

export type ServiceName = 'platform' | 'distant' | 'memory';

interface ServiceKind {
  readonly name: ServiceName;
  readonly title: string;
  readonly module: URL;
  /** What each answer waits, in milliseconds. */
  readonly delayMs: number;
  /** It keeps its messages in a database. */
  readonly stored: boolean;
}

/** A service that runs, with its messages. */
export interface Service extends ServiceKind, ServiceAddress {
  readonly child: Child<ServiceCommands>;
  /** Where it keeps its messages; empty for one that has them in memory. */
  readonly databaseUrl: string;
}

const CONNECTIONS = 20;
const PAGES = new URL('./page-server.ts', import.meta.url);

/** From the one that is most like the real service to the one that is least. */
const KINDS: readonly ServiceKind[] = [
  {
    name: 'platform',
    title: 'the service of this package',
    module: new URL('./platform-server.ts', import.meta.url),
    delayMs: 0,
    stored: true,
  },
  { name: 'distant', title: 'pages from memory, 20 ms away', module: PAGES, delayMs: 20, stored: false },
  { name: 'memory', title: 'pages from memory, at once', module: PAGES, delayMs: 0, stored: false },
];

/** Starts each service that is asked for in a process of its own. What was started is stopped again when one fails. */
export async function startServices(context: BenchContext): Promise<readonly Service[]> {
  const { args, postgres, progress } = context;
  const services: Service[] = [];
  try {
    for (const kind of KINDS.filter(({ name }) => !args.without.includes(name))) {
      progress(`making ${args.messages} messages: ${kind.title}`);
      const child = context.start<ServiceCommands>(kind.module);
      const setup = { messages: args.messages, connections: CONNECTIONS, delayMs: kind.delayMs };
      const databaseUrl = kind.stored ? await postgres.createDatabase(`reconcile_${kind.name}`) : '';
      services.push({ ...kind, child, databaseUrl, baseUrl: '', apiKey: '' });
      const address = await child.ask('listen', { ...setup, databaseUrl });
      services.splice(-1, 1, { ...kind, child, databaseUrl, ...address });
    }
    return services;
  } catch (error) {
    await Promise.all(services.map(({ child }) => child.stop()));
    throw error;
  }
}
