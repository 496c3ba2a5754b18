import { matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECTS, projectsOf } from '../support/projects.ts';
import { findImports } from './import-rules.ts';
import { readSources, TESTS } from './source-files.ts';

const sources = readSources(...TESTS);
const imports = Map.groupBy(sources.flatMap(findImports), ({ from }) => from);
const files = sources.map(({ path }) => path).filter((path) => /\.test\.tsx?$/.test(path));

function filesOf(project: string): string[] {
  return files.filter((path) => projectsOf(path).includes(project));
}

/** Everything that a test file imports through files below `test`. */
function reachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (path: string): void => {
    for (const { specifier, target } of imports.get(path) ?? []) {
      const next = target ?? specifier;
      if (reached.has(next)) continue;
      reached.add(next);
      follow(next);
    }
  };
  follow(file);
  return reached;
}

const STARTS_PROCESSES = ['node:child_process'];
const OPENS_CONNECTIONS = [
  'node:http',
  'node:https',
  'node:net',
  'node:tls',
  'src/runtime/database/database.ts',
  'src/runtime/http-server/http-server.ts',
];

function importersOf(modules: readonly string[], among: readonly string[]): string[] {
  return among.filter((file) => {
    const reached = reachedFrom(file);
    return modules.some((module) => reached.has(module));
  });
}

describe('each test file', () => {
  it('belongs to exactly one project', () => {
    expect(files.filter((file) => projectsOf(file).length !== 1)).toEqual([]);
  });

  it('matches every glob of a project', () => {
    const globs = Object.values(PROJECTS).flat();
    expect(globs.filter((glob) => !files.some((file) => matchesGlob(file, glob)))).toEqual([]);
  });

  it('starts processes only in `process`, `docs`, `long` and `campaign`', () => {
    const allowed = new Set(['process', 'docs', 'long', 'campaign'].flatMap(filesOf));
    const others = files.filter((file) => !allowed.has(file));
    expect(importersOf(STARTS_PROCESSES, others), 'name it in test/support/projects.ts').toEqual([]);
    expect(importersOf(STARTS_PROCESSES, ['process', 'docs'].flatMap(filesOf)).length).toBeGreaterThan(40);
  });

  it('opens no connection in `unit`', () => {
    expect(importersOf(OPENS_CONNECTIONS, filesOf('unit'))).toEqual([]);
    expect(importersOf(OPENS_CONNECTIONS, files).length).toBeGreaterThan(100);
  });
});
