import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The package or the checkout, from the sources as well as from what is compiled from them. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CONFIG = 'packages/console/vite.config.ts';
const SOURCES = ['packages/console/src', 'src/contract/console'].map((folder) => join(ROOT, folder));
const SETTINGS = ['package-lock.json', CONFIG].map((file) => join(ROOT, file));
const RUNS_SOURCES = import.meta.filename.endsWith('.ts');
const NO_VITE = 'The page is not built, and Vite, which builds it, is not installed. Run `npm ci`.';
const NOT_PACKED = 'This package was packed without its page. Install it again.';

/** Where the built page is: in the package, or in a checkout where its sources are built on demand. */
export const BUILT_PAGE = join(ROOT, RUNS_SOURCES ? 'node_modules/.cache/console' : 'dist/console');

/** The page cannot be served; `message` says why, and `details` is what the build printed. */
export class PageNotBuilt extends Error {
  override readonly name = 'PageNotBuilt';
  readonly details: string;

  constructor(message: string, details = '') {
    super(message);
    this.details = details;
  }
}

async function changedAt(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
}

/** When the newest source of the page was changed. */
async function sourcesChangedAt(): Promise<number> {
  const list = (folder: string) => readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const entries = (await Promise.all(SOURCES.map(list))).flat();
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Math.max(...(await Promise.all([...files, ...SETTINGS].map(changedAt))));
}

/** The program of Vite; null where only what runs in production is installed. */
function findVite(): string | null {
  try {
    return join(createRequire(import.meta.url).resolve('vite/package.json'), '../bin/vite.js');
  } catch {
    return null;
  }
}

/** Why the page cannot be served, if that is known before anyone opens it; otherwise null. */
export function foreseeProblem(vite = findVite(), folder = BUILT_PAGE): string | null {
  if (vite !== null || existsSync(join(folder, 'index.html'))) return null;
  return RUNS_SOURCES ? NO_VITE : NOT_PACKED;
}

/** Builds next to the old page and replaces it at the end, so readers always find a complete page. */
async function build(): Promise<void> {
  const vite = findVite();
  if (vite === null) {
    throw new PageNotBuilt(NO_VITE);
  }
  const fresh = `${BUILT_PAGE}.${process.pid}`;
  const old = `${fresh}.old`;
  const words = [vite, 'build', '--config', CONFIG, '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn'];
  try {
    await promisify(execFile)(process.execPath, words, { cwd: ROOT });
    // Another process has built the same page in the meantime. Its readers are not affected.
    if (await isFresh()) return;
    await rename(BUILT_PAGE, old).catch(() => undefined);
    // Another process may have written the same page in the meantime.
    await rename(fresh, BUILT_PAGE).catch(async (error: unknown) => {
      if (!(await isFresh())) throw error;
    });
  } catch (error) {
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
    throw new PageNotBuilt('The page could not be built.', `${stderr}${stdout}`.trim() || String(error));
  } finally {
    await Promise.all([fresh, old].map((path) => rm(path, { recursive: true, force: true })));
  }
}

/** Whether the built page is there and need not be built again. */
export async function isFresh(vite = findVite(), folder = BUILT_PAGE): Promise<boolean> {
  const builtAt = await changedAt(join(folder, 'index.html'));
  if (builtAt === 0) return false;
  // A page that cannot be built here again is good: the clock of whoever built it may have been behind.
  return !RUNS_SOURCES || vite === null || builtAt >= (await sourcesChangedAt());
}

let building: Promise<void> | undefined;

/**
 * Ensures that the built page is there and, in a checkout, as new as its sources. Building takes one or two seconds;
 * calls meanwhile wait for the same build.
 * @throws {PageNotBuilt}
 */
export async function ensurePage(): Promise<void> {
  if (await isFresh()) return;
  if (!RUNS_SOURCES) throw new PageNotBuilt(NOT_PACKED);
  building ??= build().finally(() => {
    building = undefined;
  });
  await building;
}
