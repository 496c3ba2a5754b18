import { cpSync, existsSync, globSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProjectFile } from '../markdown.ts';
import { NPM_ENV } from '../npm.ts';
import { ROOT } from '../root.ts';
import { spawnCommand } from '../spawn-command.ts';
import { type ContainerEngine, findEngine, OWN_ENGINE_FOLDER } from './engine.ts';

const PULL_MS = 120_000;
const DEBIAN = 'local/debian';

/** The images of others that our files name. */
function listBaseImages(): string[] {
  const files = globSync(['Dockerfile*', 'docker-compose*.yml'], { cwd: ROOT }).map(readProjectFile);
  const named = files.flatMap((text) => [...text.matchAll(/(?:^FROM|image:) ([\w-]+:[\w.-]+)/gm)]);
  return [...new Set(named.map(([, image = '']) => image))].sort();
}

/** A container engine that has the base images of our files. */
export interface Containers {
  readonly engine: ContainerEngine;
  readonly bases: 'pulled' | 'made here';
}

/** Finds or starts an engine, and gives it the base images; else says why containers cannot be run here. */
export async function provideContainers(): Promise<Containers | string> {
  const engine = await findEngine();
  if (typeof engine === 'string') return engine;
  const missing: string[] = [];
  for (const image of listBaseImages()) if (!(await hasImage(engine, image))) missing.push(image);
  try {
    for (const image of missing) await engine.docker(['pull', '--quiet', image], PULL_MS);
    return { engine, bases: (await hasImage(engine, DEBIAN)) ? 'made here' : 'pulled' };
  } catch (error) {
    const refused = engine.own ? await makeDebian(engine) : String(error);
    if (refused === undefined) {
      await makeBaseImages(engine, missing);
      return { engine, bases: 'made here' };
    }
    await engine.stop();
    return `there are no base images: ${refused.trim().split('\n').at(-1)}`;
  }
}

const hasImage = (engine: ContainerEngine, image: string): Promise<boolean> =>
  engine.docker(['image', 'inspect', image]).then(
    () => true,
    () => false,
  );

/** Makes images that stand for those that cannot be pulled. */
async function makeBaseImages(engine: ContainerEngine, images: readonly string[]): Promise<void> {
  const context = await makeContext();
  for (const image of images) {
    const target = image.replace(/:.*/, '');
    await engine.docker([
      'build',
      '--quiet',
      '--network',
      'host',
      '--target',
      target,
      '--tag',
      image,
      context,
    ]);
  }
  rmSync(context, { recursive: true });
}

/** Makes an image of a minimal Debian. Resolves with what prevents it. */
async function makeDebian(engine: ContainerEngine): Promise<string | undefined> {
  const archive = join(OWN_ENGINE_FOLDER, 'debian.tar');
  if (!existsSync(archive)) {
    const words = [
      '--format=tar',
      '--variant=minbase',
      '--include=ca-certificates',
      'bookworm',
      `${archive}.new`,
    ];
    const { code, stderr } = await spawnCommand('mmdebstrap', words).ended;
    if (code !== 0) return stderr;
    cpSync(`${archive}.new`, archive);
    rmSync(`${archive}.new`);
  }
  await engine.docker(['import', archive, DEBIAN]);
  return undefined;
}

/** The files that `Dockerfile` copies: the Node of the project, and this machine's npm with the address of its registry. */
async function makeContext(): Promise<string> {
  const context = mkdtempSync(join(tmpdir(), 'test-bases-'));
  const npm = async (...words: string[]): Promise<string> =>
    (await spawnCommand('npm', words, { env: NPM_ENV }).ended).stdout.trim();
  cpSync(join(ROOT, 'test/support/containers'), context, { recursive: true });
  cpSync(realpathSync(process.execPath), join(context, 'node'));
  const program = await spawnCommand('sh', ['-c', 'readlink -f "$(command -v npm)"']).ended;
  cpSync(join(program.stdout.trim(), '../..'), join(context, 'npm'), { recursive: true });
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  cpSync(certificates, join(context, 'ca-certificates.crt'));
  const registry = await npm('config', 'get', 'registry');
  writeFileSync(join(context, 'npmrc'), `registry=${registry}\ncafile=${certificates}\n`);
  return context;
}
