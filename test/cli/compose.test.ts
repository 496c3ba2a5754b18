import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { type ComposeService, readComposeService } from '../support/compose-file.ts';
import { findFreePort } from '../support/connector-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { readProjectFile } from '../support/markdown.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { ROOT, type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const PASSWORD = 'password-of-the-test';
const CONNECTORS = ['web-1', 'web-2', 'worker-1', 'worker-2'];
const read = (name: string): ComposeService => readComposeService(name, { POSTGRES_PASSWORD: PASSWORD });

describe('docker-compose.yml', () => {
  it('leads web and worker to its own Postgres and Redis', () => {
    const postgres = read('postgres').environment ?? {};
    const { POSTGRES_USER: user, POSTGRES_DB: name } = postgres;
    expect(postgres['POSTGRES_PASSWORD']).toBe(PASSWORD);
    for (const service of CONNECTORS) {
      expect(read(service).environment).toMatchObject({
        DATABASE_URL: `postgres://${user}:${PASSWORD}@postgres:5432/${name}?sslmode=disable`,
        REDIS_URL: 'redis://redis:6379',
        CONNECTOR_ROLE: service.split('-')[0],
      });
      expect(read(service).env_file).toBe('.env');
    }
  });

  it('shows the proxy to this machine alone, and nothing else to anybody', () => {
    expect(read('proxy').ports).toEqual(['127.0.0.1:4020:4020']);
    for (const service of ['postgres', 'redis', ...CONNECTORS]) expect(read(service).ports).toBeUndefined();
  });

  it('gives the proxy a configuration that names each web in each backend', () => {
    const [mounted = ''] = read('proxy').volumes ?? [];
    const [file = '', , mode] = mounted.split(':');
    expect(mode).toBe('ro');
    const servers = [...readProjectFile(file).matchAll(/^ {2}server (\S+) (\S+)$/gm)];
    const webs = CONNECTORS.filter((service) => service.startsWith('web'));
    expect(servers.map(([, name, address]) => [name, address])).toEqual(
      [...webs, ...webs].map((web) => [web, `${web}:${read(web).environment?.['CONNECTOR_PORT']}`]),
    );
  });

  it('tells how to replace each process in turn, by commands that name what there is', () => {
    const told = [
      ...readProjectFile('docker-compose.yml').matchAll(
        /^# {3}docker compose up .*--no-deps --wait (\S+)$/gm,
      ),
    ];
    expect(told.map(([, service]) => service)).toEqual(CONNECTORS);
  });
});

describe.skipIf(REDIS_MISSING !== undefined)(
  `the services web-1 and worker-1 of docker-compose.yml${REDIS_MISSING === undefined ? '' : ` (${REDIS_MISSING})`}`,
  () => {
    const env = {
      CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
      CONNECTOR_SEALING_KEYS: generateSealingKey(),
    };
    let test: TestService;
    let database: TestDatabase;
    let redis: TestRedis;
    const started: SpawnedCommand[] = [];
    const ports: Record<string, number> = {};

    beforeAll(async () => {
      const [server, ...settings] = read('redis').command ?? [];
      expect(server).toBe('redis-server');
      [test, database, redis] = await Promise.all([
        startTestService(),
        createTestDatabase(),
        startTestRedis(settings.map((word, index) => (settings[index - 1] === '--appendonly' ? 'no' : word))),
      ]);
    }, SLOW_MS);

    afterAll(async () => {
      for (const command of started) await command.kill();
      await redis.stop();
      await test.close();
      await database.drop();
    });

    /** Starts exactly its command with its environment; only hosts and ports are those of this machine. */
    async function start(service: 'web-1' | 'worker-1'): Promise<SpawnedCommand> {
      const { command: [program, ...words] = [], environment } = read(service);
      const port = await findFreePort();
      ports[service] = port;
      if (service === 'web-1') test.service.attach(`http://127.0.0.1:${port}`);
      const command = spawnCommand(program ?? '', words, {
        cwd: ROOT,
        env: {
          ...env,
          SERVICE_BASE_URL: test.info.baseUrl,
          SERVICE_API_KEY: test.info.apiKey,
          WEBHOOK_PUBLIC_URL: test.service.webhookUrl,
          ...environment,
          DATABASE_URL: database.url,
          REDIS_URL: redis.url,
          CONNECTOR_PORT: String(port),
        },
      });
      started.push(command);
      await command.said(/connector ready/);
      return command;
    }

    async function isHealthy(service: 'web-1' | 'worker-1'): Promise<number | NodeJS.Signals> {
      const [, program, ...words] = read(service).healthcheck?.test ?? [];
      const here = words.map((word) => word.replace('4020', String(ports[service])));
      return (await spawnCommand(String(program), here).ended).code;
    }

    it(
      'web takes a webhook, worker polls what webhooks missed, both end with 0 on SIGTERM',
      async () => {
        const web = await start('web-1');
        const client = createLoopClient({
          ...test.info,
          connectorUrl: `http://127.0.0.1:${ports['web-1']}`,
          connectorToken: env.CONNECTOR_API_TOKEN,
        });
        const connectionId = await client.qrConnection();

        const byWebhook = await client.write(connectionId, 'By webhook');
        expect(await client.arrival(byWebhook)).toMatchObject({ text: 'By webhook', firstSeenBy: 'webhook' });

        await client.dropWebhooks();
        const lost = await client.write(connectionId, 'By poll');
        await test.service.settle();
        expect((await client.messages()).map(({ id }) => id)).toEqual([byWebhook]);

        const worker = await start('worker-1');
        expect(await client.arrival(lost)).toMatchObject({ text: 'By poll', firstSeenBy: 'poll' });

        expect(await isHealthy('web-1')).toBe(0);
        expect(await isHealthy('worker-1')).toBe(0);
        await expect(
          callJson(`http://127.0.0.1:${ports['worker-1']}/v1/messages`, { token: env.CONNECTOR_API_TOKEN }),
        ).rejects.toThrow('answered 404');

        for (const command of [web, worker]) command.signal('SIGTERM');
        expect(await Promise.all([web.ended, worker.ended])).toMatchObject([{ code: 0 }, { code: 0 }]);
        expect(await isHealthy('web-1')).toBe(1);
      },
      SLOW_MS,
    );
  },
);
