import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectorOptions } from '../../src/commands/connector-options.ts';
import { allSettings } from '../../src/commands/settings.ts';
import { findEntry } from '../../src/runtime/addresses/address-ranges.ts';
import { variablesOf } from '../../src/runtime/config/read-settings.ts';
import { environmentOf, readComposeFile, readComposeService } from '../support/compose-file.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { ROOT } from '../support/root.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const CONNECTORS = ['web-1', 'web-2', 'worker-1', 'worker-2'];
const ALL = ['proxy', ...CONNECTORS, 'postgres', 'redis'];
const MOUNTED = '/run/secrets/';

/** The folder of secrets that the commands of docs/deploy.md make. */
let place: string;
const secret = (name: string): string => readFileSync(join(place, 'secrets', name), 'utf8').trimEnd();

async function makeSecrets(apiKey: string): Promise<void> {
  const [make] = readBlocks(readProjectFile('docs/deploy.md')).filter(({ text }) =>
    text.startsWith('mkdir -m 700 secrets'),
  );
  rmSync(join(place, 'secrets'), { recursive: true, force: true });
  const env = { SERVICE_API_KEY: apiKey };
  const { code, stdout, stderr } = await spawnCommand('sh', ['-ec', String(make?.text)], { cwd: place, env })
    .ended;
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
}

/** The environment of a connector process, with this test's folder in place of the one in the container. */
function connectorEnv(
  name: string,
  variables: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const entries = Object.entries(environmentOf(readComposeService(name), variables));
  const here = (value: string): string => value.replace(MOUNTED, `${join(place, 'secrets')}/`);
  return Object.fromEntries(entries.map(([variable, value]) => [variable, here(value)]));
}

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'test-compose-'));
});
afterAll(() => rmSync(place, { recursive: true }));

describe('docker-compose.yml', () => {
  const { secrets, networks } = readComposeFile();

  it('publishes only the proxy, and only on this machine', () => {
    expect(Object.keys(readComposeFile().services)).toEqual(ALL);
    expect(readComposeService('proxy').ports).toEqual(['127.0.0.1:4020:4020']);
    for (const name of ALL.slice(1)) expect(readComposeService(name).ports).toBeUndefined();
  });

  it('lets only the connector reach Postgres and Redis, and lets neither of them reach anything', () => {
    expect(networks['stores']?.internal).toBe(true);
    const inside = ALL.filter((name) => readComposeService(name).networks.includes('stores'));
    expect(inside).toEqual(ALL.slice(1));
    for (const name of ['postgres', 'redis']) expect(readComposeService(name).networks).toEqual(['stores']);
    const named = new Set(ALL.flatMap((name) => readComposeService(name).networks));
    expect([...named].sort()).toEqual(Object.keys(networks).sort());
  });

  it.each(ALL)('runs %s read-only, without privileges and with limited resources', (name) => {
    const service = readComposeService(name);
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.any(String),
      pids_limit: expect.any(Number),
    });
    const folders = [...service.tmpfs, ...service.volumes.map((volume) => volume.split(':')[1])];
    const written = {
      proxy: [],
      postgres: ['/tmp', '/var/run/postgresql', '/var/lib/postgresql'],
      redis: ['/data'],
    };
    const [file] = name === 'proxy' ? ['/usr/local/etc/haproxy/haproxy.cfg'] : [];
    expect(folders.filter((folder) => folder !== file)).toEqual(
      written[name as keyof typeof written] ?? ['/tmp'],
    );
    // The images of the connector and of the proxy name a user of their own.
    if (name === 'postgres' || name === 'redis') expect(service.user).toBe(name);
  });

  it('keeps each secret in a file, and gives each process only those that it needs', () => {
    const ofAll = ['database_url', 'redis_url', 'sealing_keys', 'metrics_token', 'service_api_key'];
    const given = Object.fromEntries(ALL.map((name) => [name, readComposeService(name).secrets]));
    expect(given).toEqual({
      proxy: [],
      'web-1': [...ofAll, 'api_token'],
      'web-2': [...ofAll, 'api_token'],
      'worker-1': ofAll,
      'worker-2': ofAll,
      postgres: ['postgres_password'],
      redis: ['redis_auth'],
    });
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
    expect(Object.keys(secrets).sort()).toEqual([...new Set(Object.values(given).flat())].sort());
    expect(readProjectFile('.gitignore').split('\n')).toContain('secrets/');
  });

  it.each(CONNECTORS)('passes only settings that exist to %s, and secrets only as files', (name) => {
    const { environment, secrets: given } = readComposeService(name);
    const settings = allSettings({});
    expect(Object.keys(environment).filter((variable) => variable !== 'NODE_ENV')).toEqual(
      Object.keys(environment).filter((variable) => variablesOf(settings).includes(variable)),
    );
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
    expect(files.map(([, path]) => path).sort()).toEqual(given.map((each) => `${MOUNTED}${each}`).sort());
    for (const [setting, { secret: isSecret }] of Object.entries(settings)) {
      if (isSecret) expect(Object.keys(environment)).not.toContain(setting);
    }
  });

  it('lets webs trust the proxy only, at an address that no other container can be given', () => {
    const [{ ip_range: given = '', subnet = '', gateway = '' } = {}] = networks['edge']?.ipam?.config ?? [];
    const proxy = /ipv4_address: (\S+)/.exec(readProjectFile('docker-compose.yml'))?.[1];
    for (const web of CONNECTORS.slice(0, 2)) {
      expect(readComposeService(web).environment['CONNECTOR_TRUSTED_PROXIES']?.split(',')).toEqual([
        proxy,
        gateway,
      ]);
    }
    for (const address of [proxy, gateway]) {
      expect(findEntry([subnet], address)).not.toBeNull();
      expect(findEntry([given], address)).toBeNull();
    }
    for (const worker of CONNECTORS.slice(2))
      expect(readComposeService(worker).networks).not.toContain('edge');
  });

  it('documents commands that create all of its secrets, unreadable from outside their folder', async () => {
    await makeSecrets('key-of-the-service');
    expect(statSync(join(place, 'secrets')).mode & 0o777).toBe(0o700);
    // Bind mounts keep the mode of a file, and the users in the containers are not its owner.
    for (const name of Object.keys(secrets))
      expect(statSync(join(place, 'secrets', name)).mode & 0o777).toBe(0o444);
    const {
      POSTGRES_USER: user,
      POSTGRES_DB: database,
      POSTGRES_PASSWORD_FILE: file,
    } = environmentOf(readComposeService('postgres'));
    expect(file).toBe(`${MOUNTED}postgres_password`);
    const variables = { SERVICE_BASE_URL: 'https://service.example/api/v1' };
    const read = (name: string) => connectorOptions(connectorEnv(name, variables), () => undefined);
    const redisPassword = secret('redis_auth').replace('requirepass ', '');
    for (const name of CONNECTORS) {
      const { databaseUrl, redisUrl, service, apiTokens } = read(name);
      expect(databaseUrl?.reveal()).toBe(
        `postgres://${user}:${secret('postgres_password')}@postgres:5432/${database}?sslmode=disable`,
      );
      expect(redisUrl).toBe(`redis://:${redisPassword}@redis:6379`);
      expect(service).toEqual({ baseUrl: variables.SERVICE_BASE_URL, apiKey: 'key-of-the-service' });
      expect(apiTokens?.map(({ name: who, rights }) => [who, rights])).toEqual([['prometheus', ['metrics']]]);
    }
    expect(read('web-1').apiToken).toBe(secret('api_token'));
    expect(read('worker-1').apiToken).toBeUndefined();
  });

  it('configures the proxy with each web in each backend', () => {
    const [mounted = ''] = readComposeService('proxy').volumes;
    const [file = '', , mode] = mounted.split(':');
    expect(mode).toBe('ro');
    const servers = [...readProjectFile(file).matchAll(/^ {2}server (\S+) (\S+)$/gm)];
    const webs = CONNECTORS.filter((service) => service.startsWith('web'));
    expect(servers.map(([, name, address]) => [name, address])).toEqual(
      [...webs, ...webs].map((web) => [
        web,
        `${web}:${readComposeService(web).environment['CONNECTOR_PORT']}`,
      ]),
    );
  });

  it('documents how to replace the processes one after the other, with commands that name existing services', () => {
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
    let test: TestService;
    let database: TestDatabase;
    let redis: TestRedis;
    const started: SpawnedCommand[] = [];
    const ports: Record<string, number> = {};

    beforeAll(async () => {
      const [server, ...settings] = readComposeService('redis').command ?? [];
      expect(server).toBe('redis-server');
      [test, database] = await Promise.all([startTestService(), createTestDatabase({ connector: true })]);
      await makeSecrets(test.info.apiKey);
      const words = settings.map((word, index) => (settings[index - 1] === '--appendonly' ? 'no' : word));
      redis = await startTestRedis(words.map((word) => word.replace(MOUNTED, `${join(place, 'secrets')}/`)));
    }, SLOW_MS);

    afterAll(async () => {
      for (const command of started) await command.kill();
      await redis.stop();
      await test.close();
      await database.drop();
    });

    /** Starts exactly its command with its environment; only hosts and ports are those of this machine. */
    async function start(service: 'web-1' | 'worker-1'): Promise<SpawnedCommand> {
      const { command: [program, ...words] = [] } = readComposeService(service);
      const port = await findFreePort();
      ports[service] = port;
      if (service === 'web-1') test.service.attach(`http://127.0.0.1:${port}`);
      const {
        DATABASE_URL_FILE: _url,
        REDIS_URL_FILE: _redis,
        ...environment
      } = connectorEnv(service, {
        SERVICE_BASE_URL: test.info.baseUrl,
        WEBHOOK_PUBLIC_URL: test.service.webhookUrl,
      });
      const command = spawnCommand(program ?? '', words, {
        cwd: ROOT,
        env: {
          ...environment,
          DATABASE_URL: database.url,
          REDIS_URL: secret('redis_url').replace('redis:6379', `127.0.0.1:${redis.port}`),
          CONNECTOR_PORT: String(port),
        },
      });
      started.push(command);
      await command.said(/connector ready/);
      return command;
    }

    async function isHealthy(service: 'web-1' | 'worker-1'): Promise<number | NodeJS.Signals> {
      const [, program, ...words] = readComposeService(service).healthcheck?.test ?? [];
      const here = words.map((word) => word.replace('4020', String(ports[service])));
      return (await spawnCommand(String(program), here).ended).code;
    }

    it('Redis requires its password, keeps every job, and is monitored by the health check of the file', async () => {
      const cli = (env: Record<string, string>, ...words: string[]) =>
        spawnCommand('redis-cli', ['-p', String(redis.port), ...words], { env }).ended;
      expect((await cli({}, 'ping')).stdout).toContain('NOAUTH');
      const auth = { REDISCLI_AUTH: secret('redis_auth').replace('requirepass ', '') };
      for (const [name, value] of [
        ['maxmemory-policy', 'noeviction'],
        ['maxmemory', String(384 * 1024 * 1024)],
      ] as const) {
        expect((await cli(auth, 'config', 'get', name)).stdout).toBe(`${name}\n${value}\n`);
      }
      const [kind, check = ''] = readComposeService('redis').healthcheck?.test ?? [];
      expect(kind).toBe('CMD-SHELL');
      const here = check
        .replaceAll('$$', '$')
        .replace(MOUNTED, `${join(place, 'secrets')}/`)
        .replace('redis-cli', `redis-cli -p ${redis.port}`);
      expect((await spawnCommand('sh', ['-c', here]).ended).code).toBe(0);
      expect((await spawnCommand('sh', ['-c', here.replace('redis_auth', 'api_token')]).ended).code).toBe(1);
    });

    it(
      'web accepts a webhook, worker polls what webhooks missed, and both exit with 0 on SIGTERM',
      async () => {
        const web = await start('web-1');
        const client = createLoopClient({
          ...test.info,
          connectorUrl: `http://127.0.0.1:${ports['web-1']}`,
          connectorToken: secret('api_token'),
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
          callJson(`http://127.0.0.1:${ports['worker-1']}/v1/messages`, { token: secret('api_token') }),
        ).rejects.toThrow('answered 404');

        for (const command of [web, worker]) command.signal('SIGTERM');
        expect(await Promise.all([web.ended, worker.ended])).toMatchObject([{ code: 0 }, { code: 0 }]);
        expect(await isHealthy('web-1')).toBe(1);
      },
      SLOW_MS,
    );
  },
);
