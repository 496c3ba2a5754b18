import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';

/** Requests that either sender has under way at a time. */
export const CONCURRENCY = 64;

/** What both senders offer to the benchmark. */
export type SenderCommands = {
  prepare(input: SenderSetup): Promise<void>;
  /** Delivers `count` events of a run, all of them built before the clock starts. */
  deliver(input: DeliverInput): Promise<DeliverResult>;
};

export interface SenderSetup {
  readonly receiverPort: number;
  readonly path: string;
  readonly secret: string;
  /** Empty for the sender without a database. */
  readonly databaseUrl: string;
}

export interface DeliverInput {
  readonly run: number;
  readonly count: number;
}

export interface DeliverResult {
  /** Events answered 2xx. */
  readonly delivered: number;
  /** From the first event handed over until nothing is left to send or to write down. */
  readonly elapsedMs: number;
}

export type SenderName = 'platform' | 'bare';

/** A sender in a process of its own. */
export interface Sender {
  readonly name: SenderName;
  readonly title: string;
  readonly child: Child<SenderCommands>;
  /** Where the receiver counts its requests. */
  readonly path: string;
  readonly databaseUrl: string;
}

const SECRET = 'bench-signing-secret-0123456789abcdef';

/** Starts both senders, each ready to post to the receiver. */
export async function startSenders(context: BenchContext, receiverPort: number): Promise<readonly Sender[]> {
  const platform = await startSender(context, receiverPort, {
    name: 'platform',
    title: 'the platform, every attempt written down',
    module: new URL('./platform-delivery.ts', import.meta.url),
    path: '/platform',
    databaseUrl: await context.postgres.createDatabase('platform'),
  });
  try {
    const bare = await startSender(context, receiverPort, {
      name: 'bare',
      title: 'a bare loop that signs and posts',
      module: new URL('./bare-loop.ts', import.meta.url),
      path: '/bare',
      databaseUrl: '',
    });
    return [platform, bare];
  } catch (error) {
    await platform.child.stop();
    throw error;
  }
}

async function startSender(
  context: BenchContext,
  receiverPort: number,
  { module, ...sender }: Omit<Sender, 'child'> & { readonly module: URL },
): Promise<Sender> {
  const child = context.start<SenderCommands>(module);
  try {
    await child.ask('prepare', {
      receiverPort,
      secret: SECRET,
      databaseUrl: sender.databaseUrl,
      path: sender.path,
    });
    return { ...sender, child };
  } catch (error) {
    await child.stop();
    throw error;
  }
}
