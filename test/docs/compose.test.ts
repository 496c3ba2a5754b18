import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { connectorOptions } from '../../src/commands/connector-options.ts';
import { allSettings, connectorSettings } from '../../src/commands/settings.ts';
import { variablesOf } from '../../src/runtime/config/read-settings.ts';
import { makeFolder } from '../support/make-folder.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { spawnCommand } from '../support/spawn-command.ts';

/** What a machine without a container engine can judge; `package/containers.test.ts` runs the containers. */
interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment?: Record<string, string | null>;
        readonly secrets?: string[];
        readonly volumes?: string[];
      }
    >
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}
const { services, secrets } = parse(readProjectFile('docker-compose.yml'), { merge: true }) as ComposeFile;
const CONNECTORS = ['web-1', 'web-2', 'worker-1', 'worker-2'];
const MOUNTED = '/run/secrets/';

describe('docker-compose.yml', () => {
  const place = makeFolder(afterAll);
  const secret = (name: string): string => readFileSync(join(place, 'secrets', name), 'utf8').trimEnd();

  it('keeps each secret in a file, and gives each process only those that it needs', () => {
    const ofAll = ['database_url', 'redis_url', 'sealing_keys', 'metrics_token', 'service_api_key'];
    const given = Object.entries(services).map(([name, service]) => [name, service.secrets ?? []]);
    expect(Object.fromEntries(given)).toEqual({
      proxy: [],
      'web-1': [...ofAll, 'api_token'],
      'web-2': [...ofAll, 'api_token'],
      'worker-1': ofAll,
      'worker-2': ofAll,
      postgres: ['postgres_password'],
      redis: ['redis_auth'],
    });
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
    expect(readProjectFile('.gitignore').split('\n')).toContain('/secrets/');
  });

  it.each(CONNECTORS)('passes only settings that exist to %s, and secrets only as files', (name) => {
    const { environment = {}, secrets: given = [] } = services[name] ?? {};
    const settings = allSettings({});
    const known = [...variablesOf(settings), 'NODE_ENV'];
    expect(Object.keys(environment).filter((variable) => !known.includes(variable))).toEqual([]);
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
    expect(files.map(([, path]) => path).sort()).toEqual(given.map((each) => `${MOUNTED}${each}`).sort());
    for (const [setting, { secret: isSecret }] of Object.entries(settings)) {
      if (isSecret) expect(Object.keys(environment)).not.toContain(setting);
    }
  });

  it('passes on every setting that needs no file or volume of its own', () => {
    const passed = CONNECTORS.flatMap((name) => Object.keys(services[name]?.environment ?? {}));
    const left = Object.entries(connectorSettings({})).filter(
      ([name, { secret }]) => !(secret || passed.includes(name)),
    );
    expect(left.map(([name]) => name)).toEqual(['CONNECTOR_HANDLERS']);
  });

  it('mounts one volume for kept files into all processes, at the documented folder, and passes the same settings on', () => {
    const folder = '/var/lib/messaging-connector/media';
    expect(readProjectFile('docs/appendix/files.md')).toContain(`MEDIA_FOLDER=${folder}\n`);
    const ofMedia = Object.entries(connectorSettings({})).filter(([name]) => name.startsWith('MEDIA_'));
    const passedOn = ofMedia.flatMap(([name, { secret }]) => (secret ? [] : [name])).sort();
    for (const name of CONNECTORS) {
      const { volumes = [], environment = {} } = services[name] ?? {};
      expect([name, volumes]).toEqual([name, [`media:${folder}`]]);
      const passed = Object.keys(environment).filter((variable) => variable.startsWith('MEDIA_'));
      expect([name, passed.sort()]).toEqual([name, passedOn]);
    }
    // Where an image has no such folder, a new volume belongs to root.
    expect(readProjectFile('Dockerfile')).toMatch(new RegExp(`^RUN install -d .*-o node .*${folder}$`, 'm'));
  });

  it('has documented commands that create its secrets, unreadable from outside their folder', async () => {
    const blocks = readBlocks(readProjectFile('docs/deploy.md'));
    const make = blocks.find(({ text }) => text.startsWith('mkdir -m 700 secrets'));
    const env = { SERVICE_API_KEY: 'key-of-the-service' };
    const made = await spawnCommand('sh', ['-ec', String(make?.text)], { cwd: place, env }).ended;
    expect(made).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(statSync(join(place, 'secrets')).mode & 0o777).toBe(0o700);
    // Bind mounts keep the mode of a file, and the users in the containers are not its owner.
    for (const name of Object.keys(secrets))
      expect(statSync(join(place, 'secrets', name)).mode & 0o777).toBe(0o444);
    const password = secret('redis_auth').replace('requirepass ', '');
    for (const name of CONNECTORS) {
      const variables = {
        ...services[name]?.environment,
        SERVICE_BASE_URL: 'https://service.example/api/v1',
      };
      const entries = Object.entries(variables).filter(
        (entry) => entry[1] !== null && !entry[1].includes('${'),
      );
      const here = entries.map(([variable, value]) => [
        variable,
        value?.replace(MOUNTED, `${join(place, 'secrets')}/`),
      ]);
      const options = connectorOptions(Object.fromEntries(here), () => undefined);
      expect(options.databaseUrl?.reveal()).toBe(
        `postgres://connector:${secret('postgres_password')}@postgres:5432/connector?sslmode=disable`,
      );
      expect(options).toMatchObject({
        redisUrl: `redis://:${password}@redis:6379`,
        service: { apiKey: 'key-of-the-service' },
        apiTokens: [{ name: 'prometheus', rights: ['metrics'] }],
      });
      expect(options.apiToken).toBe(name.startsWith('web') ? secret('api_token') : undefined);
    }
  });
});
