import { createHmac } from 'node:crypto';
import { FIRST_ACCOUNT_ID } from '../../../src/connector/accounts/account-store.ts';
import { POLL } from '../../../src/connector/accounts/poll-state.ts';
import { type Connector, type ConnectorOptions, createConnector } from '../../../src/connector/connector.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';
import { listen } from '../../support/listen.ts';
import { ofFile } from '../../support/of-file.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { silentLogger } from './event-fixtures.ts';
import { ManualNotifier } from './manual-notifier.ts';
import { ScriptedService } from './scripted-service.ts';

export const TOKEN = 'connector-token';
export const WEBHOOK_URL = 'https://crm.example/webhooks/messaging';

/** A poll that an event asks for comes no later. */
const SOON_MS = 1_000;

/** An answer of the connector with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // The tests look into it by path; its shape is checked where it matters.
  readonly body: Record<string, unknown>;
}

/** One connector process in this one, listening on a free port. */
export interface RunningConnector extends ReturnType<typeof drive> {
  stop(): Promise<void>;
}

/** A database, a service and a clock that connectors of one test share. */
export class ConnectorWorld {
  readonly clock: WatchedClock;
  readonly sealingKey = generateSealingKey();
  readonly #stops: (() => Promise<void>)[] = [];
  readonly databaseUrl: string;
  readonly database: Database;
  readonly service: ScriptedService;

  private constructor(clock: WatchedClock, databaseUrl: string, service: ScriptedService) {
    this.clock = clock;
    this.databaseUrl = databaseUrl;
    this.service = service;
    this.database = this.openDatabase();
  }

  static async open(): Promise<ConnectorWorld> {
    const clock = new WatchedClock();
    const { url, drop } = await createTestDatabase({ connector: true, clock });
    const world = new ConnectorWorld(clock, url, await ScriptedService.start());
    world.#stops.push(
      drop,
      () => world.database.close(),
      () => world.service.close(),
    );
    return world;
  }

  openDatabase(): Database {
    return openPool(this.databaseUrl, { poolSize: 4 });
  }

  /** Starts a connector that polls the service and registers its webhook, unless told otherwise. */
  async start(options: Partial<ConnectorOptions> = {}): Promise<RunningConnector> {
    const database = this.openDatabase();
    const notifier = new ManualNotifier();
    const connector = await createConnector({
      database,
      notifier,
      clock: this.clock,
      logger: silentLogger,
      role: 'all',
      apiToken: TOKEN,
      keyRing: createKeyRing([this.sealingKey]),
      service: { baseUrl: this.service.baseUrl, apiKey: 'key-1' },
      webhookPublicUrl: WEBHOOK_URL,
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
      random: () => 0,
      rotationNoticeMs: 0,
      ...options,
    });
    const server = await listen(connector.app);
    await connector.start();
    const running = drive(connector, notifier, database, server.url, this.clock);
    let stopping: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      connector.endStreams();
      await connector.close();
      await server.drain(0);
      await database.close();
    };
    const stopOnce = (): Promise<void> => (stopping ??= stop());
    this.#stops.push(stopOnce);
    return { ...running, stop: stopOnce };
  }

  /** The secret that the service signs with. */
  get secret(): string {
    return this.service.webhook?.secret ?? '';
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
  }
}

/** A connector for the tests of a file, in a world of its own, which `options` may prepare. */
export function connectorOfFile(options: (world: ConnectorWorld) => Partial<ConnectorOptions> = () => ({})): {
  readonly world: ConnectorWorld;
  readonly running: RunningConnector;
} {
  const world = ofFile(() => ConnectorWorld.open());
  const running = ofFile(
    () => world.start(options(world)),
    ({ stop }) => stop(),
  );
  return { world, running };
}

function drive(
  connector: Connector,
  notifier: ManualNotifier,
  database: Database,
  url: string,
  clock: WatchedClock,
) {
  const read = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : { text };
    return { status: response.status, headers: response.headers, body: body as Record<string, unknown> };
  };
  return {
    connector,
    notifier,
    url,
    /** Asks with the token, unless told otherwise. */
    async ask(
      method: string,
      path: string,
      {
        body,
        token = TOKEN,
        raw,
        headers,
      }: { body?: unknown; token?: string | null; raw?: string; headers?: Record<string, string> } = {},
    ): Promise<Answer> {
      const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      return await read(
        await fetch(`${url}${path}`, {
          method,
          headers: {
            ...(token === null ? {} : { authorization: `Bearer ${token}` }),
            ...(content === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(content === undefined ? {} : { body: content }),
        }),
      );
    },
    /** Delivers an event as the service does, signed with this secret. */
    async deliver(event: object, secret: string, signedAt = clock.now(), path = '/webhooks/messaging') {
      const body = JSON.stringify(event);
      const timestamp = String(signedAt);
      const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
      const headers = { 'x-service-timestamp': timestamp, 'x-service-signature': `sha256=${signature}` };
      return await read(await fetch(`${url}${path}`, { method: 'POST', headers, body }));
    },
    /** Does the polls that were asked for, until nothing is behind. */
    async runPolls() {
      const soon = await database.query<{ id: string }>(
        'update connector.poll_states set due_at = 0 where due_at <= $1 returning account_id as id',
        [clock.now() + SOON_MS],
      );
      for (const { id } of soon) await notifier.deliver(POLL, id);
      await connector.settle();
    },
    /** Has this process poll one account. */
    async poll(accountId = FIRST_ACCOUNT_ID) {
      await database.query('update connector.poll_states set due_at = 0 where account_id = $1', [accountId]);
      await notifier.deliver(POLL, accountId);
      await connector.settle();
    },
  };
}
