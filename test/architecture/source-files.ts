import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { ROOT } from '../support/root.ts';
import { splitSource } from './source-parts.ts';

/** A file and its text. */
export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly source: string;
  readonly code: string;
  readonly texts: readonly { readonly text: string; readonly at: number }[];
}

/** The folders with code, of the project and of its packages, and those with tests. */
export const [SOURCES, TESTS] = ['src', 'test'].map((kind) => [
  kind,
  ...globSync(`packages/*/${kind}`, { cwd: ROOT }),
]) as [string[], string[]];

/** The files under a folder with these endings, from the root of the repository. */
export function listFiles(folder: string, endings: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.test(entry.name))
    .filter(({ parentPath }) => !parentPath.includes('node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** All TypeScript and JavaScript files under some folders. */
export function readSources(...folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) => listFiles(folder, /\.(?:tsx?|mjs)$/))
    .map((path) => {
      const source = readFileSync(join(ROOT, path), 'utf8');
      return { path, source, ...splitSource(source) };
    });
}

/** All SQL files under a folder, without their comments. */
export function readSql(folder: string): { readonly path: string; readonly sql: string }[] {
  return listFiles(folder, /\.sql$/).map((path) => {
    const blank = (comment: string): string => comment.replace(/[^\n]/g, ' ');
    const sql = readFileSync(join(ROOT, path), 'utf8').replace(/--.*$|\/\*[\s\S]*?\*\//gm, blank);
    return { path, sql };
  });
}
