import { cpSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { findImports } from '../architecture/import-rules.ts';
import { splitSource } from '../architecture/source-parts.ts';
import { readProjectFile } from './markdown.ts';
import { ROOT } from './root.ts';
import { spawnCommand } from './spawn-command.ts';

/** A stage of a Dockerfile: an image, or a source for another stage. */
export interface DockerStage {
  /** The arguments of each instruction of this name, in order. */
  instructions(name: string): readonly string[];
  /** The files that it copies from the project, relative to it. */
  readonly files: readonly string[];
  /** Copies these files to a folder that represents its file system. */
  copyTo(folder: string): void;
}

/** A Dockerfile with the ignore file that applies to it. */
export interface Dockerfile {
  readonly stages: readonly DockerStage[];
  /** The last one, which a build without a target creates. */
  readonly image: DockerStage;
  /** Whether a file is in the build context. */
  isSeen(path: string): boolean;
}

/** Reads a Dockerfile as BuildKit does: with its own ignore file, if there is one. */
export function readDockerfile(name: string, ignoreFile: string): Dockerfile {
  const ignored = readProjectFile(ignoreFile).trim().split('\n');

  /** The last pattern that matches a file, or a folder above it, decides. */
  function isSeen(path: string): boolean {
    const ways = path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
    const last = ignored.findLast((line) =>
      ways.some((way) => posix.matchesGlob(way, line.replace(/^!/, ''))),
    );
    return last?.startsWith('!') === true;
  }

  function readStage(text: string): DockerStage {
    const instructions = (word: string): string[] =>
      [...text.matchAll(new RegExp(`^${word} (.+)$`, 'gm'))].map(([, words = '']) => words);
    const files = instructions('COPY')
      .filter((words) => !words.startsWith('--'))
      .flatMap((words) => words.split(' ').slice(0, -1))
      .flatMap((source) => [
        source,
        ...globSync(`${source}/**/*`, { cwd: ROOT, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
      ])
      .filter((path) => /\.\w+$/.test(path) && isSeen(path));
    return {
      instructions,
      files,
      copyTo(folder) {
        for (const file of files) cpSync(join(ROOT, file), join(folder, file));
      },
    };
  }

  const stages = readProjectFile(name)
    .split(/^(?=FROM )/m)
    .filter((text) => text.startsWith('FROM '))
    .map(readStage);
  const image = stages.at(-1);
  if (image === undefined) throw new Error(`${name} has no FROM`);
  return { stages, image, isSeen };
}

/** Runs the line of a `RUN` in a folder that represents that of its stage. */
export async function runLine(line: string, folder: string): Promise<void> {
  const { code, stderr } = await spawnCommand('sh', ['-c', line], { cwd: folder }).ended;
  if (code !== 0) throw new Error(stderr);
}

/** Installs the packages of an image in a folder with its files, as the first `RUN` does. */
export async function installPackages({ instructions }: DockerStage, folder: string): Promise<void> {
  // Without the part that cleans the cache of the build machine.
  const [install = ''] = instructions('RUN').map((line) => line.split(' && ')[0]);
  await runLine(`${install} --prefer-offline`, folder);
}

/** The files that the programs of an image import, including the programs. */
export function findReached({ files }: DockerStage): readonly string[] {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    const source = readFileSync(join(ROOT, path), 'utf8');
    for (const { target } of findImports({ path, source, ...splitSource(source) })) {
      if (target !== undefined) visit(target);
    }
  };
  for (const file of files.filter((each) => dirname(each) === 'src/cli' && each.endsWith('.ts'))) visit(file);
  return [...reached];
}

/** The folders of `src` and `drizzle` in an image. */
export function foldersOf({ files }: DockerStage): readonly string[] {
  return [...new Set(files.map((file) => /^(?:src|drizzle)\/[^/]+|.*/.exec(file)?.[0] ?? ''))].sort();
}
