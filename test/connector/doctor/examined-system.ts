import { createHmac, randomBytes } from 'node:crypto';
import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type RunningConnector, runConnector } from '../../../src/commands/run-connector.ts';
import type { DoctorSettings, PublicReach } from '../../../src/connector/doctor/check-input.ts';
import { examine } from '../../../src/connector/doctor/examine.ts';
import type { Report, Verdict } from '../../../src/connector/doctor/finding.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';
import { silentLogger } from '../../support/platform.ts';
import { serve } from '../../support/serve.ts';
import { createShiftedClock } from '../../support/shifted-clock.ts';
import { TEST_CERTIFICATE } from '../../support/tls-certificate.ts';
import { ScriptedService } from '../support/scripted-service.ts';

export const MIGRATIONS = join(import.meta.dirname, '../../../drizzle/connector');

/** What the public address answers: what stands behind it, or this. */
export type Front = 'connector' | { readonly status: number; readonly headers?: Record<string, string> };

/** Opens a handle for whoever only looks. */
export function openForDoctor(url: string): Database {
  return openPool(url, { name: 'connector-doctor', poolSize: 2 });
}

/** Runs the checks on other settings or another database, and expects no secret in what they say. */
export async function examineWith(
  settings: DoctorSettings,
  options: Partial<Parameters<typeof examine>[0]> & { readonly databaseUrl?: string },
): Promise<Report[]> {
  const { databaseUrl, ...more } = options;
  const database = databaseUrl === undefined ? null : openForDoctor(databaseUrl);
  try {
    const reports = await examine({
      settings,
      database,
      clock: systemClock,
      migrations: MIGRATIONS,
      ...more,
    });
    expectNoSecret(reports, settings);
    return reports;
  } finally {
    await database?.close();
  }
}

function expectNoSecret(
  reports: readonly Report[],
  { apiToken, sealingKeys, service }: DoctorSettings,
): void {
  const told = JSON.stringify(reports);
  for (const secret of [apiToken, service?.apiKey, ...sealingKeys]) {
    if (secret !== undefined) expect(told).not.toContain(secret);
  }
  expect(told).not.toContain('whsec_');
}

/** What a check said, with its verdict first. */
export function told(reports: readonly Report[], check: string): string {
  return reports
    .filter((report) => report.check === check)
    .map(({ verdict, says, evidence, advice }) => [`${verdict}: ${says}`, ...evidence, ...advice].join('\n'))
    .join('\n');
}

/** The checks with this verdict. */
export function having(reports: readonly Report[], verdict: Verdict): string[] {
  return reports.filter((report) => report.verdict === verdict).map(({ check }) => check);
}

/** Passes a request on, as a proxy does. */
export function passOn(to: string, request: IncomingMessage, response: ServerResponse): void {
  const { method = '', url = '', headers } = request;
  const onward = requestHttp(`${to}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.writeHead(502).end());
  request.pipe(onward);
}

/**
 * A connector as it is deployed, a service, and a proxy with TLS at the connector's public address, to be broken
 * one thing at a time.
 */
export class ExaminedSystem {
  readonly clock = createShiftedClock();
  readonly service: ScriptedService;
  readonly settings: DoctorSettings;
  readonly database: Database;
  /** Nobody listens there, and no other test can: it is a port of the system, and one that `fetch` allows. */
  readonly closedPort = 2;
  front: Front = 'connector';
  #connector: RunningConnector | null = null;
  readonly #drop: () => Promise<void>;

  private constructor(made: {
    service: ScriptedService;
    settings: DoctorSettings;
    proxy: Server;
    drop: ExaminedSystem['close'];
  }) {
    this.service = made.service;
    this.settings = made.settings;
    this.#drop = made.drop;
    this.database = openForDoctor(made.settings.databaseUrl ?? '');
    made.proxy.on('request', (request, response) => {
      if (this.front !== 'connector')
        return void response.writeHead(this.front.status, this.front.headers).end('-');
      passOn(this.url, request, response);
    });
  }

  static async open(): Promise<ExaminedSystem> {
    const { url, drop } = await createTestDatabase({ connector: true });
    const service = await ScriptedService.start();
    service.secretPrefix = 'whsec_';
    service.apiKeys.clear();
    const apiKey = `msk_${randomBytes(18).toString('base64url')}`;
    service.apiKeys.add(apiKey);
    const proxy = createServer({ cert: TEST_CERTIFICATE.cert, key: TEST_CERTIFICATE.key });
    const { port, close } = await serve(proxy);
    const settings = {
      databaseUrl: url,
      host: '127.0.0.1',
      port: 0,
      apiToken: randomBytes(24).toString('base64url'),
      sealingKeys: [generateSealingKey()],
      service: { baseUrl: service.baseUrl, apiKey },
      webhookPublicUrl: `https://hooks.example.com:${port}/webhooks/messaging`,
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
    };
    return new ExaminedSystem({
      service,
      settings,
      proxy,
      drop: async () => void (await Promise.all([close(), drop()])),
    });
  }

  get url(): string {
    return this.#connector?.url ?? `http://127.0.0.1:${this.closedPort}`;
  }

  /** Starts the connector; it has registered its webhook then. */
  async start(): Promise<void> {
    const { databaseUrl = '', sealingKeys, service, webhookPublicUrl, apiToken = '' } = this.settings;
    this.#connector = await runConnector({
      databaseUrl,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken,
      sealingKeys,
      service,
      webhookPublicUrl,
      reconcileIntervalMs: 3_600_000,
      inboxRetentionDays: 30,
      clock: this.clock,
      logger: silentLogger,
    });
  }

  /** Stops the connector. What it had counted is in the database then. */
  async stop(): Promise<void> {
    await this.#connector?.close();
    this.#connector = null;
  }

  async call(method: string, path: string, body?: object): Promise<{ readonly status: number }> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.settings.apiToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await answer.text();
    return answer;
  }

  /** Polls until no gap is left, or the service refuses. */
  async poll(): Promise<void> {
    await this.call('POST', '/v1/sync', {});
  }

  /** Delivers as the service does. */
  async deliver(
    event: object,
    { secret = this.service.webhook?.secret ?? '', signedAt = this.clock.now() } = {},
  ): Promise<number> {
    const body = JSON.stringify(event);
    const signature = createHmac('sha256', secret).update(`${signedAt}.${body}`).digest('hex');
    const headers = { 'x-service-timestamp': String(signedAt), 'x-service-signature': `sha256=${signature}` };
    const answer = await fetch(`${this.url}/webhooks/messaging`, { method: 'POST', headers, body });
    await answer.text();
    return answer.status;
  }

  /** Runs the checks as they are run where the connector runs. */
  async examine(changes: Partial<DoctorSettings> = {}): Promise<Report[]> {
    const port = this.#connector === null ? this.closedPort : Number(new URL(this.url).port);
    const settings = { ...this.settings, port, ...changes };
    const lookup: PublicReach['lookup'] = (_host, _options, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    const reports = await examine({
      settings,
      database: this.database,
      clock: this.clock,
      migrations: MIGRATIONS,
      reach: { ca: TEST_CERTIFICATE.cert, lookup },
    });
    expectNoSecret(reports, settings);
    return reports;
  }

  /** What one check says. */
  async ask(check: string, changes: Partial<DoctorSettings> = {}): Promise<string> {
    return told(await this.examine(changes), check);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.service.close();
    await this.database.close();
    await this.#drop();
  }
}
