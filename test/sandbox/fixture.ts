import { type AttachedConnector, createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createSandboxPorts, type SandboxPorts } from '../../src/sandbox/sandbox-ports.ts';
import { askPort } from '../support/ask-as.ts';
import { checkAnswer } from '../support/check-answer.ts';
import { listen } from '../support/listen.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { type ApiAnswer, silentLogger, startTestPlatform, type TestPlatform } from '../support/platform.ts';

export interface SandboxAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
  readonly body: any;
}

/** An answer of the service to its client. */
export interface ServiceAnswer extends ApiAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
  readonly body: any;
}

/** A sandbox over a platform on a database of its own, reached over HTTP. */
export interface TestSandbox {
  readonly service: TestPlatform;
  readonly sandbox: Sandbox;
  readonly ports: SandboxPorts;
  readonly port: number;
  /** `body` is sent as JSON, a string as it is; the host is `127.0.0.1:<port>` unless a header says otherwise. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<SandboxAnswer>;
  /** Calls the service with the seeded key; `faulted` for an answer that a fault makes up. */
  api(
    method: string,
    path: string,
    body?: unknown,
    options?: { faulted?: boolean; headers?: Readonly<Record<string, string>> },
  ): Promise<ServiceAnswer>;
  /** A `qr` connection of the seeded workspace. */
  qrConnection(): Promise<string>;
  /** Another sandbox over the same database, as after a restart without options. */
  again(): Promise<{ sandbox: Sandbox; ports: SandboxPorts }>;
  close(): Promise<void>;
}

export interface TestSandboxOptions {
  readonly clock?: ManualClock;
  readonly sendScale?: number;
  /** Draws in [0, 1), in place of those of the sandbox. */
  readonly random?: () => number;
  readonly webhookSecret?: string;
  readonly tunnelTargets?: readonly string[];
  readonly connector?: AttachedConnector;
  readonly allowedHosts?: readonly string[];
}

export async function startTestSandbox(options: TestSandboxOptions = {}): Promise<TestSandbox> {
  const { webhookSecret, clock, sendScale, random, connector, allowedHosts } = options;
  const makePorts = ({ tunnelTargets } = options) =>
    createSandboxPorts({
      ...(webhookSecret === undefined ? {} : { webhookSecret }),
      ...(tunnelTargets === undefined ? {} : { tunnelTargets }),
    });
  const ports = makePorts();
  const service = await startTestPlatform({
    ports: { ...ports.platform, ...(random === undefined ? {} : { random }) },
    ...(clock === undefined ? {} : { clock }),
    ...(sendScale === undefined ? {} : { sendScale }),
  });
  let port = 0;
  const make = (over: SandboxPorts): Promise<Sandbox> =>
    createSandbox({
      platform: service.platform,
      ports: over,
      database: service.database,
      logger: silentLogger,
      clock: service.clock,
      addresses: () => ({
        baseUrl: `${service.origin}/api/v1`,
        legacyBaseUrl: `${service.origin}/api/v1`,
        authUrl: service.origin,
        mcpUrl: `${service.origin}/api/mcp`,
        sandboxUrl: `http://127.0.0.1:${port}`,
        connectorUrl: connector === undefined ? null : 'http://127.0.0.1:4020',
        webhookUrl: null,
      }),
      ...(connector === undefined ? {} : { connector }),
      ...(allowedHosts === undefined
        ? {}
        : { allowedHosts: { names: allowedHosts, setting: 'PLATFORM_ALLOWED_HOSTS' } }),
    });
  const sandbox = await make(ports);
  const server = await listen(sandbox.app);
  ({ port } = server);
  const api: TestSandbox['api'] = (method, path, body, more = {}) =>
    service.call(method, path, {
      key: sandbox.seed.apiKey,
      ...more,
      ...(body === undefined ? {} : { body }),
    });

  return {
    service,
    sandbox,
    ports,
    port,
    // fetch would not let a test send a Host of its own.
    async call(method, path, body, headers = {}) {
      const payload = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
      const type = payload === undefined ? {} : { 'content-type': 'application/json' };
      const { text, ...answer } = await askPort(port, `/sandbox/v1${path}`, {
        method,
        headers: { ...type, ...headers },
        body: payload,
      });
      const parsed: unknown = text === '' ? null : JSON.parse(text);
      checkAnswer('sandbox', method, path, {
        status: answer.status,
        body: parsed,
        header: (name) => [answer.headers[name]].flat()[0] ?? null,
      });
      return { ...answer, body: parsed };
    },
    api,
    async qrConnection() {
      const { connections } = (await api('GET', '/connections')).body;
      return connections.find(({ provider }: { provider: string }) => provider === 'qr').id;
    },
    async again() {
      const fresh = makePorts({});
      return { sandbox: await make(fresh), ports: fresh };
    },
    async close() {
      await server.drain(0);
      await service.close();
    },
  };
}
