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
/** The folder of this project's modules, and what Node calls the format of one. */
const OWN = new URL('../', import.meta.url).href;
const OWN_FORMAT = RUNS_SOURCES ? 'module-typescript' : 'module';

/**
 * Finds the files of drizzle without its package.json, which has 180 kB: Node parses it for each import of drizzle
 * and for each of its files, over two hundred times in a start, which is half of the time that a start takes. Finds the
 * modules of this project, over a thousand, without looking for a package.json in each folder above them.
 */
export function resolveQuickly(): void {
  const found = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL, conditions } = context;
      if (specifier.startsWith('.')) {
        const format = parentURL === undefined ? undefined : formatBeside(parentURL, specifier);
        if (format === undefined) return next(specifier, context);
        return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
      }
      if (!specifier.startsWith(DRIZZLE) || !conditions.includes('import')) return next(specifier, context);
      const url = found.get(specifier) ?? next(specifier, context).url;
      found.set(specifier, url);
      return { url, format: 'module', shortCircuit: true };
    },
  });
}

/** The format of a file that a module imports by its relative path; undefined if Node has to look. */
function formatBeside(parent: string, specifier: string): string | undefined {
  if (parent.includes(IN_DRIZZLE) && parent.endsWith('.js')) return 'module';
  return parent.startsWith(OWN) && /\.[jt]s$/.test(specifier) ? OWN_FORMAT : undefined;
}
