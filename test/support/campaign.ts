import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { checkEffects, checkFeed, checkFollowed, type Violation } from './check-invariants.ts';
import { type CrashingConnector, startCrashingConnector } from './crashing-connector.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type FeedReader, followFeed, readFeed } from './follow-feed.ts';
import { type LoadEvent, planLoad } from './load-plan.ts';
import { createLoadSender, type LoadSender, type Pace } from './load-sender.ts';
import { readStoredState } from './read-connector.ts';

export interface CampaignOptions {
  /** Connector processes on the one database. */
  readonly processes: number;
  /** Preloaded processes behind each of them, to replace killed ones. Default 2. */
  readonly spares?: number;
  /** Selects the webhook address for an event. Default: the first. */
  readonly targets?: (webhooks: readonly string[], event: LoadEvent, attempt: number) => readonly string[];
  /** Additional environment variables for the processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Passed to the sender. */
  readonly keepAlive?: boolean;
  /** Passed to the sender. */
  readonly connections?: number;
  /** Creates the database. Default: on the server of the run. */
  readonly createDatabase?: () => Promise<TestDatabase>;
  /** Replaces the database's address for the processes, for a test with a proxy. */
  readonly routeDatabase?: (databaseUrl: string) => Promise<string>;
}

export interface LoadSummary {
  /** Copies of events that were sent. */
  readonly sent: number;
  readonly acknowledged: number;
  /** Acknowledged after the first attempt. */
  readonly retried: number;
  /** Attempts without an answer. */
  readonly broken: number;
  /** Attempts by the status they were answered with. */
  readonly answers: ReadonlyMap<number, number>;
  readonly slowestMs: number;
}

/** Connector processes on their own database, a sender, and a reader of each process. */
export interface Campaign {
  readonly databaseUrl: string;
  readonly connectors: readonly CrashingConnector[];
  readonly readers: readonly FeedReader[];
  readonly sender: LoadSender;
  /** The address of the first process. */
  readonly url: string;
  /** The bearer token of its API. */
  readonly token: string;
  /** Sends unique events at this pace until `faults` resolves; resolves with its result. */
  underLoad<T>(seed: number, pace: Pace, faults: () => Promise<T>): Promise<T>;
  /**
   * Sends one more event and waits until every reader has it: by then they have read everything acknowledged
   * before. Throws if it is not acknowledged.
   */
  catchUp(): Promise<void>;
  summarize(): LoadSummary;
  /** Every violated guarantee to senders or readers, found by HTTP and SQL. */
  findViolations(): Promise<Violation[]>;
}

const SECRET = 'whsec_of_a_campaign';
export const TOKEN = 'token-of-a-campaign-for-tests';
/** More than any load sends; the load ends with its faults. */
const MESSAGES = 60_000;
const HOUR_MS = 3_600_000;

/** Starts a campaign, which ends with the running test. */
export async function startCampaign(options: CampaignOptions): Promise<Campaign> {
  const { processes, targets = (webhooks) => webhooks.slice(0, 1) } = options;
  const database = await (options.createDatabase?.() ?? createTestDatabase({ connector: true }));
  onTestFinished(() => database.drop());
  const settings = {
    databaseUrl: (await options.routeDatabase?.(database.url)) ?? database.url,
    webhookSecret: SECRET,
    apiToken: TOKEN,
    sealingKey: generateSealingKey(),
    env: options.env ?? {},
  };
  const connectors = await Promise.all(
    Array.from({ length: processes }, () => startCrashingConnector(settings, options.spares)),
  );
  onTestFinished(async () => void (await Promise.all(connectors.map((connector) => connector.stop()))));
  const urls = await Promise.all(connectors.map((connector) => connector.live()));
  const readers = connectors.map((connector) => followFeed({ live: connector.live, token: TOKEN }));
  onTestFinished(async () => void (await Promise.all(readers.map((reader) => reader.close()))));
  const webhooks = urls.map((url) => `${url}/webhooks/messaging`);
  const sender = createLoadSender({
    secret: SECRET,
    clock: systemClock,
    keepAlive: options.keepAlive ?? true,
    ...(options.connections === undefined ? {} : { connections: options.connections }),
    targets: (event, attempt) => targets(webhooks, event, attempt),
  });
  onTestFinished(() => sender.close());

  return {
    databaseUrl: database.url,
    connectors,
    readers,
    sender,
    url: urls[0] ?? '',
    token: TOKEN,
    async underLoad(seed, pace, faults) {
      const over = new AbortController();
      const startAt = systemClock.now() - HOUR_MS;
      const load = sender.run(planLoad({ seed, messages: MESSAGES, startAt }), pace, over.signal);
      try {
        return await faults();
      } finally {
        over.abort();
        await load;
      }
    },
    async catchUp() {
      const [last] = planLoad({ seed: systemClock.now(), messages: 1, startAt: systemClock.now() });
      if (last === undefined) throw new Error('a plan is empty');
      const copies = await sender.deliver(last);
      if (!copies.every((copy) => copy.acknowledged)) throw new Error('the last event was not taken');
      await Promise.all(
        readers.map((reader) => reader.until(({ messageId }) => messageId === last.messageId)),
      );
    },
    summarize: () => summarize(sender),
    async findViolations() {
      const sent = sender.sent.map(({ event, acknowledged }) => ({ ...event, acknowledged }));
      const feed = await readFeed(urls[0] ?? '', TOKEN);
      const { messages, logged, unnumbered } = await readStoredState(database.url);
      return [
        ...(unnumbered === 0 ? [] : [{ rule: 'gap' as const, about: `${unnumbered} without a number` }]),
        ...checkFeed(feed),
        ...checkEffects({ sent, messages, feed, logged }),
        ...readers.flatMap((reader) => checkFollowed(reader.changes, feed)),
      ];
    },
  };
}

function summarize({ sent }: LoadSender): LoadSummary {
  const attempts = sent.flatMap((copy) => copy.attempts);
  const acknowledged = sent.filter((copy) => copy.acknowledged);
  const answers = new Map<number, number>();
  for (const { status } of attempts) if (status !== null) answers.set(status, (answers.get(status) ?? 0) + 1);
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    retried: acknowledged.filter((copy) => copy.attempts.length > 1).length,
    broken: attempts.filter((attempt) => attempt.error !== null).length,
    answers,
    slowestMs: Math.round(attempts.reduce((slowest, { ms }) => Math.max(slowest, ms), 0)),
  };
}
