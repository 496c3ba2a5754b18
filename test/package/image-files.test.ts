import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { platformSettings } from '../../src/commands/settings.ts';
import { readSettings } from '../../src/runtime/config/read-settings.ts';
import { findImports } from '../architecture/import-rules.ts';
import { splitSource } from '../architecture/source-parts.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';

// What is noticed without a container engine; package/containers.test.ts builds the images and runs them.
describe.each([
  ['Dockerfile', '.dockerignore', 'src/cli/*.ts', 'src/platform/platform.ts'],
  ['Dockerfile.platform', 'Dockerfile.platform.dockerignore', 'src/cli/*.ts', 'src/connector/connector.ts'],
  [
    'Dockerfile.tools',
    'Dockerfile.tools.dockerignore',
    'packages/*/src/cli.mjs',
    'src/connector/connector.ts',
  ],
])('an image of %s', (_, ignoreFile, programs, other) => {
  const rules = readProjectFile(ignoreFile).trim().split('\n');

  /** Whether a file is in the build context: the last pattern that matches it, or a folder above it, decides. */
  function isSeen(path: string): boolean {
    const ways = path.split('/').map((_name, index, names) => names.slice(0, index + 1).join('/'));
    const last = rules.findLast((rule) => ways.some((way) => posix.matchesGlob(way, rule.replace('!', ''))));
    return last?.startsWith('!') === true;
  }

  it('contains everything that its programs import, and neither tests nor secrets nor the other half', () => {
    const reached = new Set(globSync(programs, { cwd: ROOT }).filter(isSeen));
    expect(reached.size).toBeGreaterThan(1);
    for (const path of reached) {
      const source = readFileSync(join(ROOT, path), 'utf8');
      const imports = findImports({ path, source, ...splitSource(source) });
      for (const { target } of imports) if (target !== undefined) reached.add(target);
    }
    expect([...reached].filter((path) => !isSeen(path))).toEqual([]);
    for (const path of ['.env', 'secrets/api_token', 'test/requirements/requirement.ts', other]) {
      expect([path, isSeen(path)]).toEqual([path, false]);
    }
  });
});

describe('the Compose file and the workflow of docs/sandbox.md', () => {
  interface Service {
    readonly environment?: Record<string, string>;
    readonly env?: Record<string, string>;
    readonly ports: readonly string[];
  }
  type Services = { readonly services?: Readonly<Record<string, Service>> };
  const services = readBlocks(readProjectFile('docs/sandbox.md'))
    .filter(({ language }) => language === 'yaml')
    .map(({ text }) => parse(text) as Services & { readonly jobs?: Readonly<Record<string, Services>> })
    .flatMap(({ jobs = {}, ...own }) => [own, ...Object.values(jobs)])
    .flatMap(({ services: named }) => named?.['messaging-service'] ?? []);

  it('use only settings that the service reads, and the ports of its image', () => {
    expect(services).toHaveLength(2);
    for (const { environment = {}, env = environment, ports } of services) {
      const read = readSettings(platformSettings(), env);
      expect(Object.keys(env).filter((name) => !(name in read))).toEqual([]);
      expect(ports.map((port) => port.replace('127.0.0.1:', ''))).toEqual(['4000:4000', '4010:4010']);
    }
  });
});
