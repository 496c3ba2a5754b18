import { expect } from 'vitest';
import type { z } from 'zod';
import { createPlatform, type Platform, type PlatformPorts } from '../../src/platform/platform.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import type { Logger } from '../../src/runtime/logger/logger.ts';
import { checkAnswer } from './check-answer.ts';
import { openTestDatabase, silentLogger } from './database.ts';
import { listen } from './listen.ts';
import { ManualClock } from './manual-clock.ts';

/** An answer of the service. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface CallOptions {
  readonly key?: string;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** A fault answers, so the response is not checked against the contract. */
  readonly faulted?: boolean;
  /** The origin of another listener. */
  readonly at?: string;
}

/** A platform on its own database, called over HTTP. */
export interface TestPlatform {
  readonly platform: Platform;
  readonly database: Database;
  readonly databaseUrl: string;
  readonly clock: ManualClock;
  /** Address of the API without `/api/v1`. */
  readonly origin: string;
  readonly port: number;
  /** Fails the test for an answer that the contract does not list for the call. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>;
  /** Ends the platform as in a crash or a restart, and starts another on its data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface TestPlatformOptions {
  readonly clock?: ManualClock;
  readonly sendScale?: number;
  readonly sendsPerMinute?: number;
  readonly ports?: PlatformPorts;
  readonly trustedProxies?: readonly string[];
  readonly logger?: Logger;
  /** Wraps the database of the platform. */
  readonly wrapDatabase?: (database: Database) => Database;
}

/** A public address for every name, so that no test uses a resolver. */
const somewherePublic: NonNullable<PlatformPorts['lookup']> = async () => [
  { address: '93.184.216.34', family: 4 },
];

export { silentLogger };

/** Starts a platform with a manual clock and, by default, sends without latency. */
export async function startTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const { clock = new ManualClock(), sendScale = 0, sendsPerMinute } = options;
  const opened = await openTestDatabase({ platform: true }, 10);
  const { database } = opened;
  let origin = 'http://127.0.0.1';
  const start = (): Promise<Platform> =>
    createPlatform({
      database: options.wrapDatabase?.(database) ?? database,
      systemClock: clock,
      logger: options.logger ?? silentLogger,
      baseUrls: () => ({ api: `${origin}/api/v1`, legacyApi: `${origin}/api/v1`, auth: origin }),
      sendScale,
      ...(sendsPerMinute === undefined ? {} : { sendsPerMinute }),
      ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies }),
      ports: { lookup: somewherePublic, ...options.ports },
    });
  let platform = await start();
  const server = await listen((request, response) => platform.app(request, response));
  const { port } = server;
  origin = server.url;

  return {
    get platform() {
      return platform;
    },
    database,
    databaseUrl: opened.url,
    clock,
    origin,
    port,

    async call(method, path, { key, body, headers = {}, faulted = false, at = origin } = {}) {
      const answer = await fetch(`${at}/api/v1${path}`, {
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await answer.text();
      const { status, headers: answered } = answer;
      const content: unknown = text === '' ? null : JSON.parse(text);
      const wire = { status, body: content, header: (name: string) => answered.get(name) };
      if (!faulted) checkAnswer('service', method, path, wire);
      return { status, headers: answered, body: content };
    },

    async restart() {
      await platform.close();
      platform = await start();
    },

    async close() {
      await server.drain(0);
      await platform.close();
      await opened.close();
    },
  };
}

/** Another live connection of a workspace. */
export const addConnection = (
  { platform }: Pick<TestPlatform, 'platform'>,
  workspaceId: string,
  phoneNumber: string,
  provider: 'qr' | 'cloud_api' = 'qr',
) => platform.connections.createPaired(workspaceId, { provider, phoneNumber });

/** What was told of a connection, oldest first. */
export const toldOf = async ({ platform }: Pick<TestPlatform, 'platform'>, connectionId: string) =>
  (await platform.ledger.read({}, 1_000_000)).filter((entry) => entry.connectionId === connectionId);

/** A standalone workspace with one live `qr` connection and a key with all scopes. */
export async function seedWorkspace(
  { platform }: Pick<TestPlatform, 'platform'>,
  options: { readonly kind?: 'standalone' | 'crm_portal'; readonly phoneNumber?: string } = {},
): Promise<{ workspaceId: string; connectionId: string; key: string }> {
  const workspace = await platform.workspaces.create({ kind: options.kind ?? 'standalone' });
  const connection = await platform.connections.createPaired(workspace.id, {
    provider: 'qr',
    phoneNumber: options.phoneNumber ?? '4915112345678',
    label: 'Front desk',
  });
  const { key } = await platform.apiKeys.create(workspace.id);
  return { workspaceId: workspace.id, connectionId: connection.id, key };
}

/** Parses a body with a shape, and fails on any key that the shape does not list, at any depth that it lists. */
export function readExactly<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const read = schema.parse(body);
  expect(body).toEqual(read);
  return read;
}
