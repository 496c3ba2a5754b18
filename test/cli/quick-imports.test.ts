import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { cacheCompiledCode } from '../../src/commands/quick-imports.ts';
import { ROOT } from '../support/root.ts';

describe('the cache of compiled code', () => {
  it('is skipped if its folder cannot be created', () => {
    const belowThisFile = `${fileURLToPath(import.meta.url)}/folder`;
    expect(() => cacheCompiledCode(belowThisFile)).not.toThrow();
  });
});

describe('resolving the files of drizzle', () => {
  it('finds the same files as Node, and asks Node once for each imported name', async () => {
    const [plain, quick] = await Promise.all([importDrizzle(''), importDrizzle('resolveDrizzleOnce();')]);
    expect(plain.loaded.length).toBeGreaterThan(50);
    expect(quick.loaded).toEqual(plain.loaded);
    expect(quick.asked.toSorted()).toEqual([
      'drizzle-orm',
      'drizzle-orm/errors',
      'drizzle-orm/migrator',
      'drizzle-orm/pg-core',
      'drizzle-orm/pg-proxy',
    ]);
  });
});

/** Imports the connector's schema and the files that open it, in a process of its own, after `first`. */
async function importDrizzle(first: string): Promise<{ loaded: string[]; asked: string[] }> {
  const script = `
    import { registerHooks } from 'node:module';
    import { resolveDrizzleOnce } from './src/commands/quick-imports.ts';
    const loaded = new Set();
    const asked = [];
    const concerns = (text) => text?.includes('drizzle-orm') === true;
    registerHooks({
      resolve(specifier, context, next) {
        const inside = specifier.startsWith('.') && concerns(context.parentURL);
        if (inside || concerns(specifier)) asked.push(specifier);
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
