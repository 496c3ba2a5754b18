import { enableCompileCache, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { RUNS_SOURCES } from './invocation.ts';

/** Next to the packages, not in the system's temporary folder, where other users could plant code. */
const BESIDE_PACKAGES = RUNS_SOURCES
  ? '../../node_modules/.cache/compiled/'
  : '../../../.cache/messaging-connector/';
const FOLDER = fileURLToPath(new URL(BESIDE_PACKAGES, import.meta.url));

/**
 * Caches the compiled code of everything imported from now on, which saves the next start a third of its
 * work. Never throws: if nothing can be written, nothing is cached. `NODE_COMPILE_CACHE` sets another folder,
 * `NODE_DISABLE_COMPILE_CACHE=1` turns the cache off.
 */
export function cacheCompiledCode(folder: string = FOLDER): void {
  enableCompileCache(folder);
}

const DRIZZLE = 'drizzle-orm';
const IN_DRIZZLE = `/node_modules/${DRIZZLE}/`;

/**
 * Finds the files of drizzle without its package.json, which has 180 kB: Node parses it for each import of drizzle
 * and for each of its files, over two hundred times in a start, which is half of the time that a start takes.
 */
export function resolveDrizzleOnce(): void {
  const found = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL, conditions } = context;
      if (specifier.startsWith('.') && parentURL?.includes(IN_DRIZZLE) && parentURL.endsWith('.js'))
        return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
      if (!specifier.startsWith(DRIZZLE) || !conditions.includes('import')) return next(specifier, context);
      const url = found.get(specifier) ?? next(specifier, context).url;
      found.set(specifier, url);
      return { url, format: 'module', shortCircuit: true };
    },
  });
}
