import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import type { Dialect } from './build-requests.ts';

/** What every server under load offers to the benchmark. */
export type ServerCommands = {
  /** Prepares the database, listens on a free port and answers with it. */
  listen(input: ServerSetup): Promise<{ port: number }>;
  /** Resolves when nothing is left to do for the events acknowledged so far. */
  settle(input: Record<string, never>): Promise<void>;
};

export interface ServerSetup {
  readonly databaseUrl: string;
  readonly secret: string;
}

export type ContenderName = 'connector' | 'verify' | 'insert' | 'stripe';

interface ContenderKind {
  readonly name: ContenderName;
  readonly title: string;
  readonly module: URL;
  readonly dialect: Dialect;
  readonly path: string;
  readonly secret: string;
}

/** A contender whose server runs. */
export interface Contender extends ContenderKind {
  readonly port: number;
  readonly databaseUrl: string;
  readonly server: Child<ServerCommands>;
}

const SERVICE = {
  dialect: 'service',
  path: '/webhooks/messaging',
  secret: 'bench-signing-secret-0123456789abcdef',
} as const;

const KINDS: Readonly<Record<ContenderName, ContenderKind>> = {
  connector: {
    name: 'connector',
    title: 'the connector',
    module: new URL('./servers/connector.ts', import.meta.url),
    ...SERVICE,
  },
  verify: {
    name: 'verify',
    title: 'verifies, stores nothing',
    module: new URL('./servers/verify-only.ts', import.meta.url),
    ...SERVICE,
  },
  insert: {
    name: 'insert',
    title: 'one INSERT per event',
    module: new URL('./servers/insert-each.ts', import.meta.url),
    ...SERVICE,
  },
  stripe: {
    name: 'stripe',
    title: 'stripe-sync-engine 0.48.5',
    module: new URL('./servers/stripe-sync.ts', import.meta.url),
    dialect: 'stripe',
    path: '/webhooks',
    secret: 'whsec_bench0123456789abcdef',
  },
};

/** Starts a contender's server in a process of its own, on a database of its own. */
export async function startContender(name: ContenderName, context: BenchContext): Promise<Contender> {
  const kind = KINDS[name];
  const databaseUrl = await context.postgres.createDatabase(name);
  const server = context.start<ServerCommands>(kind.module);
  try {
    const { port } = await server.ask('listen', { databaseUrl, secret: kind.secret });
    return { ...kind, port, databaseUrl, server };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
