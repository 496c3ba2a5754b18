import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CONNECTOR_SHUTDOWN_MS } from '../../src/commands/connector-shutdown.ts';
import { allSettings } from '../../src/commands/settings.ts';
import { CONNECTOR_ENDPOINTS } from '../../src/contract/connector/endpoints.ts';
import { variablesOf } from '../../src/runtime/config/read-settings.ts';
import { hostsOf } from '../../src/runtime/database/database-url.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { HAPROXY_MISSING } from '../support/haproxy.ts';
import { makeFolder } from '../support/make-folder.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 180_000;
const PAGE = readProjectFile('docs/deploy.md');
// test/docs/rehearsal.test.ts runs the section left out.
const BLOCKS = readBlocks(PAGE.replace(/^## Rehearse it\n[\s\S]*?(?=^## )/m, ''));
const UNIT = readProjectFile('examples/systemd/messaging-connector.service');
const COMPOSE = readProjectFile('docker-compose.yml');
const RELEASE = '/opt/messaging-connector/current';

const textsOf = (language: string): string[] =>
  BLOCKS.filter((block) => block.language === language).map(({ text }) => text);

/** The value of a key of the unit, with this checkout as the release. */
function unitValue(key: string): string {
  const value = new RegExp(`^${key}=(.*)$`, 'm').exec(UNIT)?.[1];
  if (value === undefined) throw new Error(`the unit has no ${key}`);
  return value.replaceAll(RELEASE, ROOT);
}

describe('docs/deploy.md', () => {
  let database: TestDatabase;
  const place = makeFolder(afterAll);
  let command: SpawnedCommand | undefined;

  beforeAll(async () => {
    database = await createTestDatabase({ connector: true, platform: true });
  });

  afterAll(async () => {
    await command?.kill();
    await database.drop();
  });

  const env = (): Record<string, string> => ({
    DATABASE_URL: database.url,
    CONNECTOR_PORT: '0',
    CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
    CONNECTOR_SEALING_KEYS: generateSealingKey(),
  });

  it('contains only blocks that the tests know', () => {
    expect(textsOf('sh')).toEqual([
      'npm run connector -- --processes 2',
      'kill -HUP "$SUPERVISOR"',
      'haproxy -c -f examples/haproxy/haproxy.cfg',
      expect.stringMatching(/^mkdir -m 700 secrets\n/),
      expect.stringMatching(/^DATABASE_URL=/),
    ]);
    expect(new Set(BLOCKS.map(({ language }) => language))).toEqual(
      new Set(['sh', 'console', 'yaml', 'text']),
    );
  });

  it('names several hosts in a URL that the connector can read', () => {
    const url = textsOf('sh').at(-1)?.replace('DATABASE_URL=', '') ?? '';
    expect(hostsOf(url).map(({ name }) => name)).toEqual(['db1:5432', 'db2:5432']);
  });

  it(
    'starts two processes, and replaces them',
    async () => {
      const [start = '', replace = ''] = textsOf('sh');
      command = spawnCommand('sh', ['-c', start], { cwd: ROOT, env: env() });
      const line = await command.said(/all processes ready/);
      expect(PAGE).toContain('The line `all processes ready` has the process id of the supervisor');
      const { pid, count } = JSON.parse(line) as { pid: number; count: number };
      expect(count).toBe(2);
      await spawnCommand('sh', ['-c', replace], { env: { SUPERVISOR: String(pid) } }).ended;
      await command.said(/replacing processes one by one/);
      // To the whole group: the shell between npm and Node may pass nothing on.
      command.signal('SIGTERM');
      await command.ended;
    },
    SLOW_MS,
  );

  it.skipIf(HAPROXY_MISSING !== undefined)(
    `checks the proxy's configuration${HAPROXY_MISSING === undefined ? '' : ` (${HAPROXY_MISSING})`}`,
    async () => {
      const [, , check = ''] = textsOf('sh');
      expect(await spawnCommand('sh', ['-c', check], { cwd: ROOT }).ended).toMatchObject({
        code: 0,
        stderr: '',
      });
    },
  );

  it('gives the same container commands as the Compose files', () => {
    const [demo, ...documented] = textsOf('console').flatMap((text) =>
      [...text.matchAll(/^\$ (docker .*)$/gm)].map(([, line]) => line),
    );
    const inCompose = [...COMPOSE.matchAll(/^# {3}(docker .*)$/gm)];
    expect(documented).toEqual(inCompose.map(([, line]) => line));
    expect(documented).toHaveLength(6);
    expect(readProjectFile('docker-compose.demo.yml')).toContain(`\n#   ${demo}\n`);
  });

  it('adds a handler and the secrets of an OAuth app with names that exist', () => {
    const added = z.strictObject({
      environment: z.record(z.string(), z.string().nullable()),
      secrets: z.array(z.string()),
      volumes: z.tuple([z.literal('./crm:/crm:ro')]).optional(),
    });
    const override = z.strictObject({
      services: z.record(z.string(), added),
      secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
    });
    const { services, secrets } = override.parse(parse(textsOf('yaml')[0] ?? ''));
    const file = parse(COMPOSE, { merge: true });
    const settings = variablesOf(allSettings({}));
    for (const [name, { environment, secrets: given }] of Object.entries(services)) {
      expect(file.services[name]?.image).toBe('messaging-connector');
      expect(Object.keys(environment).filter((variable) => !settings.includes(variable))).toEqual(
        name.startsWith('worker') ? ['CRM_DATABASE_URL'] : [],
      );
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
      expect(files.map(([, path]) => path)).toEqual(given.map((each) => `/run/secrets/${each}`));
      for (const each of given) expect(secrets[each]?.file).toBe(`./secrets/${each}`);
    }
    // A name without a value would remove what a custom image sets.
    for (const service of Object.values(file.services) as { environment?: object }[]) {
      expect(Object.keys(service.environment ?? {})).not.toContain('CONNECTOR_HANDLERS');
    }
    expect(Object.keys(services)).toEqual(
      Object.keys(file.services).filter((name) => /^(?:web|worker)-/.test(name)),
    );
  });

  it('gives Kubernetes existing probes and a long enough grace period', () => {
    const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal(4_020) }) });
    const deployment = z.object({
      spec: z.object({
        template: z.object({
          spec: z.object({
            terminationGracePeriodSeconds: z.number(),
            containers: z.tuple([
              z.object({
                readinessProbe: probe,
                livenessProbe: probe,
                lifecycle: z.object({
                  preStop: z.object({
                    exec: z.object({ command: z.tuple([z.literal('sleep'), z.string()]) }),
                  }),
                }),
              }),
            ]),
          }),
        }),
      }),
    });
    const [, yaml = ''] = textsOf('yaml');
    const { terminationGracePeriodSeconds, containers } = deployment.parse(parse(yaml)).spec.template.spec;
    const [{ readinessProbe, livenessProbe, lifecycle }] = containers;
    expect(readinessProbe.httpGet.path).toBe(CONNECTOR_ENDPOINTS.readyz.path);
    expect(livenessProbe.httpGet.path).toBe(CONNECTOR_ENDPOINTS.healthz.path);
    const leftS = terminationGracePeriodSeconds - Number(lifecycle.preStop.exec.command[1]);
    expect(leftS).toBeGreaterThan(CONNECTOR_SHUTDOWN_MS / 1_000);
  });

  describe('with examples/systemd/messaging-connector.service', () => {
    it('is a unit that systemd accepts, if systemd is installed', async () => {
      const sections = [...UNIT.matchAll(/^\[(\w+)\]$/gm)].map(([, name]) => name);
      expect(sections).toEqual(['Unit', 'Service', 'Install']);
      for (const line of UNIT.split('\n')) expect(line).toMatch(/^(#.*|\[\w+\]|[A-Z]\w+=.+|)$/);
      expect(Number(unitValue('TimeoutStopSec'))).toBeGreaterThan(CONNECTOR_SHUTDOWN_MS / 1_000 + 10);
      if (spawnSync('systemd-analyze', ['--version']).status !== 0) return;
      const file = join(place, 'messaging-connector.service');
      await writeFile(file, UNIT.replaceAll(RELEASE, ROOT));
      const { code, stderr } = await spawnCommand('systemd-analyze', ['verify', '--man=no', file]).ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    });

    it(
      'starts, reloads and stops as the unit says',
      async () => {
        expect(unitValue('KillMode')).toBe('mixed');
        await writeFile(
          join(place, '.env'),
          Object.entries({
            ...env(),
            CONNECTOR_HANDLERS: join(ROOT, 'examples/crm-handler/handlers.ts'),
            CRM_DATABASE_URL: database.url,
          })
            .map(([name, value]) => `${name}=${value}`)
            .join('\n'),
        );
        const [program = '', ...words] = unitValue('ExecStart').split(' ');
        // One process proves as much as two.
        const here = words.map((word) =>
          word.replace(/^\/var\/lib\/.*/, join(place, 'data')).replace(/^2$/, '1'),
        );
        command = spawnCommand(program, here, { cwd: place });
        await command.said(/all processes ready/);
        const main = { MAINPID: String(command.pid) };
        await spawnCommand('sh', ['-c', unitValue('ExecReload')], { env: main }).ended;
        expect(await command.said(/all processes replaced|roll-out stopped/)).toContain(
          'all processes replaced',
        );
        await spawnCommand('sh', ['-c', 'kill $MAINPID'], { env: main }).ended;
        expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
        // The handler read its own variable from .env and created its tables.
        const sql = postgres(database.url, { max: 1 });
        const made = await sql`select to_regclass('crm.messages') is not null as made`;
        await sql.end();
        expect(made).toEqual([{ made: true }]);
      },
      SLOW_MS,
    );
  });
});
