import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { cacheCompiledCode } from '../../src/commands/quick-imports.ts';
import { ROOT } from '../support/root.ts';

const OWN = new URL('../../src/', import.meta.url).href;

describe('the cache of compiled code', () => {
  it('is skipped if its folder cannot be created', () => {
    const belowThisFile = `${fileURLToPath(import.meta.url)}/folder`;
    expect(() => cacheCompiledCode(belowThisFile)).not.toThrow();
  });
});

describe('resolving quickly', () => {
  it('finds the same files as Node, and asks Node once for each imported name of drizzle, and for no module of the project', async () => {
    const [plain, quick] = await Promise.all([importTables(''), importTables('resolveQuickly();')]);
    const those = (part: string) => quick.loaded.filter((url) => url.includes(part));
    expect(those('/node_modules/drizzle-orm/').length).toBeGreaterThan(50);
    expect(those(OWN).length).toBeGreaterThan(20);
    expect(quick.loaded).toEqual(plain.loaded);
    expect(quick.asked.filter((name) => name.includes('drizzle-orm')).toSorted()).toEqual([
      'drizzle-orm',
      'drizzle-orm/errors',
      'drizzle-orm/migrator',
      'drizzle-orm/pg-core',
      'drizzle-orm/pg-proxy',
    ]);
    const relative = (names: readonly string[]) => names.filter((name) => name.startsWith('.'));
    expect(relative(plain.asked).length).toBeGreaterThan(100);
    expect(relative(quick.asked)).toEqual([]);
  });
});

/** Imports the connector's schema and the files that open it, in a process of its own, after `first`. */
async function importTables(first: string): Promise<{ loaded: string[]; asked: string[] }> {
  const script = `
    import { registerHooks } from 'node:module';
    import { resolveQuickly } from './src/commands/quick-imports.ts';
    const loaded = new Set();
    const asked = [];
    const concerns = (url) => url.includes('drizzle-orm') || url.startsWith(${JSON.stringify(OWN)});
    registerHooks({
      resolve(specifier, context, next) {
        if (concerns(context.parentURL)) asked.push(specifier);
        return next(specifier, context);
      },
      load(url, context, next) {
        if (concerns(url)) loaded.add(url);
        return next(url, context);
      },
    });
    ${first}
    for (const file of ['connector/db/schema.ts', 'runtime/database/orm.ts', 'runtime/database/migrate.ts'])
      await import('./src/' + file);
    console.log(JSON.stringify({ loaded: [...loaded].sort(), asked }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return JSON.parse(stdout);
}
